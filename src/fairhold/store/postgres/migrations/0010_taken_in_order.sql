-- Who came last of those that have seats, without a look at the whole pool.
CREATE INDEX booking_taken ON bookings (pool_id, quota, arrival, number)
    WHERE state IN ('offered', 'held', 'confirmed');
