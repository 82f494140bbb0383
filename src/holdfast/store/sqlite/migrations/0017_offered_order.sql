-- Who has an offer keeps its place in line, and nobody else gets it.
CREATE UNIQUE INDEX offered_order ON bookings (pool_id, place) WHERE state = 'offered';
