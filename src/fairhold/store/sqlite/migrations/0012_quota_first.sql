-- The quota first, as on PostgreSQL, which else looks through all who have seats for one party's hold.
DROP INDEX booking_taken;
CREATE INDEX booking_taken ON bookings (quota, pool_id, arrival, number)
    WHERE state IN ('offered', 'held', 'confirmed');
