-- Named queries of who holds how much, on PostgreSQL. The same names stand in ../sqlite/hoarding.sql.

-- name: holds_of_sources
-- How many live holds there are from each source, and when the first of them ends.
SELECT x.source, count(*), min(found.expires_at) FROM unnest($1::text[], $2::bigint[]) AS x (source, at)
CROSS JOIN LATERAL (
    SELECT expires_at FROM fairhold_bookings
    WHERE fairhold_bookings.source = x.source AND source IS NOT NULL AND state = 'held' AND expires_at > x.at LIMIT 1000
) AS found GROUP BY x.source;

-- name: public_holds_of_parties
-- How many live holds of each party of an org public keys have made, and when the first of them ends.
SELECT x.org, x.party, count(*), min(found.expires_at)
FROM unnest($1::text[], $2::text[], $3::bigint[]) AS x (org, party, at)
CROSS JOIN LATERAL (
    SELECT expires_at FROM fairhold_bookings JOIN fairhold_pools ON fairhold_pools.id = fairhold_bookings.pool_id AND fairhold_pools.org = x.org
    WHERE party_id = x.party AND source IS NOT NULL AND state = 'held' AND expires_at > x.at LIMIT 1000
) AS found GROUP BY x.org, x.party;
