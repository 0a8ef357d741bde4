-- Leases: who may do something that only one may do, until when by the clock of the database. An epoch is never given twice; a
-- lease that nobody holds has an empty holder and keeps its epoch.
CREATE TABLE lease (
    name   text COLLATE "C" PRIMARY KEY,
    holder text COLLATE "C" NOT NULL,
    epoch  bigint NOT NULL CHECK (epoch > 0),
    until  bigint NOT NULL,
    length bigint NOT NULL CHECK (length > 0)
);

CREATE FUNCTION lease_goes_on() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'UPDATE' OR NEW.name <> OLD.name OR NEW.epoch < OLD.epoch
        OR (NEW.epoch = OLD.epoch AND NEW.holder NOT IN (OLD.holder, '')) THEN
        RAISE EXCEPTION 'callboard: an epoch is given once' USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER lease_goes_on BEFORE UPDATE OR DELETE ON lease FOR EACH ROW EXECUTE FUNCTION lease_goes_on();
CREATE TRIGGER lease_is_not_truncated BEFORE TRUNCATE ON lease FOR EACH STATEMENT EXECUTE FUNCTION lease_goes_on();

-- How far each service has come in the log, and how its last step went.
CREATE TABLE service_step (
    service  text COLLATE "C" PRIMARY KEY,
    position bigint NOT NULL,
    at       bigint NOT NULL,
    error    text COLLATE "C",
    epoch    bigint NOT NULL
);

UPDATE meta SET format = 4;
