-- What tells this store from every other one, and the newest record from before every commit was sealed, until a seal
-- covers it.
ALTER TABLE meta ADD COLUMN store BLOB;
ALTER TABLE meta ADD COLUMN unsealed INTEGER;
UPDATE meta SET store = randomblob(16), unsealed = (SELECT max(seq) FROM ledger);

-- The newest record that no checkpoint covered when the next writer came; 0 if all were covered. It is part of what is
-- signed.
ALTER TABLE checkpoint ADD COLUMN unsealed INTEGER NOT NULL DEFAULT 0;
