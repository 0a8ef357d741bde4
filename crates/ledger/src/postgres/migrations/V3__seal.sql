-- What tells this store from every other one, and the newest record from before every commit was sealed, until a seal
-- covers it.
ALTER TABLE meta ADD COLUMN store bytea;
ALTER TABLE meta ADD COLUMN unsealed bigint;

-- The newest record that no checkpoint covered when the next writer came; 0 if all were covered. It is part of what is
-- signed.
ALTER TABLE checkpoint ADD COLUMN unsealed bigint NOT NULL DEFAULT 0;

-- A trigger that was added can turn an insert into nothing, which the server calls a success.
CREATE FUNCTION all_written(written bigint, wanted bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF written <> wanted THEN
        RAISE EXCEPTION 'callboard: the database did not write what it was told to'
            USING ERRCODE = 'triggered_action_exception';
    END IF;
END $$;

UPDATE meta SET store = uuid_send(gen_random_uuid()), unsealed = (SELECT max(seq) FROM ledger), format = 3;
