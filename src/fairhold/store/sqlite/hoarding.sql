-- Named queries of who holds how much, on SQLite. The same names stand in ../postgres/hoarding.sql.

-- name: holds_of_sources
-- How many live holds there are from each source, and when the first of them ends.
SELECT source, count(*), min(expires_at) FROM fairhold_bookings
WHERE source = ?1 AND source IS NOT NULL AND state = 'held' AND expires_at > ?2 GROUP BY source;

-- name: public_holds_of_parties
-- How many live holds of each party of an org public keys have made, and when the first of them ends.
SELECT org, party_id, count(*), min(expires_at) FROM fairhold_bookings JOIN fairhold_pools ON fairhold_pools.id = pool_id AND org = ?1
WHERE party_id = ?2 AND source IS NOT NULL AND fairhold_bookings.state = 'held' AND expires_at > ?3 GROUP BY org, party_id;
