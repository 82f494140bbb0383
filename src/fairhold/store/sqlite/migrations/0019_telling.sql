-- The live offers of which staff tell the party are found without looking at all others.

CREATE INDEX offers_to_tell ON offers (pool_id, expires_at, booking) WHERE outcome IS NULL AND told = 'staff';
