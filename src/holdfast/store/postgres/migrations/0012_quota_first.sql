-- The quota first: while PostgreSQL believes a table to be small, an index that begins with the pool tempts it to
-- look through all who have seats for one party's hold.
DROP INDEX booking_taken;
CREATE INDEX booking_taken ON bookings (quota, pool_id, arrival, number)
    WHERE state IN ('offered', 'held', 'confirmed');
