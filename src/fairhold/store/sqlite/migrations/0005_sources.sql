-- Where a booking that a public key made came from: a keyed hash of its address, while the booking is to be
-- decided. So holds can be counted by address and by party, whichever node they were made on.
ALTER TABLE bookings ADD COLUMN source TEXT;

CREATE INDEX booking_sources ON bookings (source) WHERE source IS NOT NULL AND state = 'held';
CREATE INDEX booking_public_holds ON bookings (party_id) WHERE source IS NOT NULL AND state = 'held';
