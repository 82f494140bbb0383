-- All bookings of one person are found at once, in whatever pool: live ones by the indexes that keep them apart, which
-- begin with the party now, and those that are over by one of their own.
DROP INDEX one_place_in_line;
CREATE UNIQUE INDEX one_place_in_line ON bookings (party_id, pool_id) WHERE state IN ('waiting', 'offered');
DROP INDEX booking_holds;
CREATE INDEX booking_holds ON bookings (party_id, pool_id) WHERE state = 'held';
CREATE INDEX booking_past ON bookings (party_id, pool_id)
    WHERE state IN ('confirmed', 'declined', 'expired', 'cancelled', 'closed');
