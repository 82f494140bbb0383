-- Who booked stands in the booking alone, no longer in the answers that are kept under idempotency keys.
UPDATE requests
SET answer = 'held ' || json_set(substr(answer, 6), '$[3]', json('{"id":""}'), '$[9]', json('{}'))
WHERE answer LIKE 'held %';
UPDATE requests
SET answer = 'booking ' || json_set(substr(answer, 9), '$[4]', json('{"id":""}'), '$[19]', json('{}'))
WHERE answer LIKE 'booking %';
