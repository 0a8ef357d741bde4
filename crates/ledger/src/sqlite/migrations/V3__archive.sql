-- Parts of the log that were written to files and taken out of the table. They follow each other from the first record
-- on, and each ends at a signed checkpoint. Where a file lies may change; what it holds may not.
CREATE TABLE segment (
    until  INTEGER PRIMARY KEY,
    after  INTEGER NOT NULL,
    at     INTEGER NOT NULL,
    digest BLOB    NOT NULL CHECK (length(digest) = 32),
    path   TEXT    NOT NULL
) STRICT;

CREATE TRIGGER segment_continues BEFORE INSERT ON segment
BEGIN
    SELECT CASE
        WHEN NEW.after <> (SELECT coalesce(max(until), 0) FROM segment) OR NEW.until <= NEW.after
        THEN RAISE(ABORT, 'callboard: the segment does not continue the archive')
        WHEN NOT EXISTS (SELECT 1 FROM checkpoint WHERE seq = NEW.until)
        THEN RAISE(ABORT, 'callboard: the segment does not end at a checkpoint')
    END;
END;

CREATE TRIGGER segment_is_not_updated BEFORE UPDATE OF until, after, at, digest ON segment
BEGIN SELECT RAISE(ABORT, 'callboard: segments are kept for ever'); END;

CREATE TRIGGER segment_is_not_deleted BEFORE DELETE ON segment
BEGIN SELECT RAISE(ABORT, 'callboard: segments are kept for ever'); END;

-- The idempotency keys of records that were taken out, so that a repeated command still finds its record.
CREATE TABLE archived_key (
    entity BLOB    NOT NULL,
    key    TEXT    NOT NULL,
    seq    INTEGER NOT NULL,
    PRIMARY KEY (entity, key)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER archived_key_is_not_updated BEFORE UPDATE ON archived_key
BEGIN SELECT RAISE(ABORT, 'callboard: keys are kept for ever'); END;

CREATE TRIGGER archived_key_is_not_deleted BEFORE DELETE ON archived_key
BEGIN SELECT RAISE(ABORT, 'callboard: keys are kept for ever'); END;

-- A record may go when a segment holds it, its key is kept, and nothing in the table leans on it: the newest archived
-- record of an entity carries on its chain, and the one that put it into its state carries its reasons.
DROP TRIGGER ledger_is_not_deleted;
CREATE TRIGGER ledger_is_not_deleted BEFORE DELETE ON ledger
WHEN NOT EXISTS (
        SELECT 1 FROM ledger l
        WHERE l.entity = OLD.entity AND l.version > OLD.version AND l.seq <= (SELECT max(until) FROM segment)
    )
    OR EXISTS (SELECT 1 FROM entity WHERE id = OLD.entity AND state_seq = OLD.seq)
    OR (OLD.key IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM archived_key WHERE entity = OLD.entity AND key = OLD.key))
BEGIN SELECT RAISE(ABORT, 'callboard: the ledger is append-only'); END;

-- What an operator or the system notes about an entity is no sign of its life; the views of older programs counted it.
UPDATE entity SET last_activity_at = (
    SELECT max(at) FROM ledger
    WHERE ledger.entity = entity.id
      AND NOT (type = 'observed' AND actor_type IN ('operator', 'system', 'approval_desk'))
);
