-- What was sent to a webhook, the latest last.
CREATE INDEX delivery_of_webhook ON deliveries (target, at, pool_id, seq, part) WHERE target LIKE 'webhook:%';
