-- Who has an offer keeps its place in line: whoever is moved behind another looks here whether somebody stands there.
CREATE INDEX offered_order ON bookings (pool_id, place) WHERE state = 'offered';
