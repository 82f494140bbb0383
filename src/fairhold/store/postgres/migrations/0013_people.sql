-- All bookings of one person are found at once, in whatever pool: live ones by the indexes that keep them apart, which
-- begin with the party now, and those that are over by one of their own. The old ones go last, so that reads hardly
-- wait.
CREATE UNIQUE INDEX one_place_in_line_anew ON bookings (party_id, pool_id) WHERE state IN ('waiting', 'offered');
CREATE INDEX booking_holds_anew ON bookings (party_id, pool_id) WHERE state = 'held';
CREATE INDEX booking_past ON bookings (party_id, pool_id)
    WHERE state IN ('confirmed', 'declined', 'expired', 'cancelled', 'closed');
DROP INDEX one_place_in_line;
DROP INDEX booking_holds;
ALTER INDEX one_place_in_line_anew RENAME TO one_place_in_line;
ALTER INDEX booking_holds_anew RENAME TO booking_holds;
