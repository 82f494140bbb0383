-- Who booked stands in the booking alone, no longer in the answers that are kept under idempotency keys.
UPDATE requests
SET answer = 'held ' || jsonb_set(jsonb_set(substr(answer, 6)::jsonb, '{3}', '{"id": ""}'), '{9}', '{}')::text
WHERE answer LIKE 'held %';
UPDATE requests
SET answer = 'booking ' || jsonb_set(jsonb_set(substr(answer, 9)::jsonb, '{4}', '{"id": ""}'), '{19}', '{}')::text
WHERE answer LIKE 'booking %';
