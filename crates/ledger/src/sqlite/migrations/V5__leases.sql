-- Leases: who may do something that only one may do, until when by the clock of the store. An epoch is never given twice; a
-- lease that nobody holds has an empty holder and keeps its epoch.
CREATE TABLE lease (
    name   TEXT    NOT NULL PRIMARY KEY,
    holder TEXT    NOT NULL,
    epoch  INTEGER NOT NULL CHECK (epoch > 0),
    until  INTEGER NOT NULL,
    length INTEGER NOT NULL CHECK (length > 0)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER lease_goes_on BEFORE UPDATE ON lease
WHEN NEW.name <> OLD.name OR NEW.epoch < OLD.epoch
    OR (NEW.epoch = OLD.epoch AND NEW.holder NOT IN (OLD.holder, ''))
BEGIN SELECT RAISE(ABORT, 'callboard: an epoch is given once'); END;

CREATE TRIGGER lease_is_not_deleted BEFORE DELETE ON lease
BEGIN SELECT RAISE(ABORT, 'callboard: an epoch is given once'); END;

-- How far each service has come in the log, and how its last step went.
CREATE TABLE service_step (
    service  TEXT    NOT NULL PRIMARY KEY,
    position INTEGER NOT NULL,
    at       INTEGER NOT NULL,
    error    TEXT,
    epoch    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
