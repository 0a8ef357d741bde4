-- The log. Nothing in it is ever changed; the triggers hold for every client, a shell included.
CREATE TABLE legal (
    kind       TEXT NOT NULL,
    from_state TEXT NOT NULL,
    via        TEXT NOT NULL,
    to_state   TEXT NOT NULL,
    PRIMARY KEY (kind, from_state, via, to_state)
) STRICT, WITHOUT ROWID;

CREATE TABLE ledger (
    seq        INTEGER PRIMARY KEY,
    entity     BLOB    NOT NULL CHECK (length(entity) = 16),
    version    INTEGER NOT NULL,
    at         INTEGER NOT NULL,
    kind       TEXT    NOT NULL,
    type       TEXT    NOT NULL,
    channel    TEXT    NOT NULL CHECK (channel IN ('replay', 'audit')),
    from_state TEXT    NOT NULL,
    via        TEXT    NOT NULL,
    to_state   TEXT    NOT NULL,
    actor_type TEXT    NOT NULL,
    actor_id   TEXT    NOT NULL,
    key        TEXT,
    body       TEXT    NOT NULL,
    hash       BLOB    NOT NULL CHECK (length(hash) = 32),
    FOREIGN KEY (kind, from_state, via, to_state) REFERENCES legal (kind, from_state, via, to_state)
) STRICT;

CREATE UNIQUE INDEX ledger_entity ON ledger (entity, version);
CREATE UNIQUE INDEX ledger_key ON ledger (entity, key) WHERE key IS NOT NULL;

-- A shell does not check foreign keys unless it is asked to; a trigger is always on. FAIL, because nothing was changed
-- yet when it refuses, and ABORT would make SQLite keep a journal for every insert.
CREATE TRIGGER ledger_continues BEFORE INSERT ON ledger
BEGIN
    SELECT CASE
        WHEN NOT EXISTS (
            SELECT 1 FROM legal
            WHERE kind = NEW.kind AND from_state = NEW.from_state AND via = NEW.via AND to_state = NEW.to_state
        ) THEN RAISE(FAIL, 'callboard: this transition is not in the table of legal edges')
        WHEN NEW.seq <> (SELECT coalesce(max(seq), 0) + 1 FROM ledger)
        THEN RAISE(FAIL, 'callboard: the record does not continue the log')
        WHEN CASE NEW.version
            WHEN 1 THEN NEW.from_state <> ''
            ELSE NOT EXISTS (
                SELECT 1 FROM ledger
                WHERE entity = NEW.entity AND version = NEW.version - 1 AND to_state = NEW.from_state
                  AND kind = NEW.kind
            ) END
        THEN RAISE(FAIL, 'callboard: the record does not continue its entity')
    END;
END;

CREATE TRIGGER ledger_is_not_updated BEFORE UPDATE ON ledger
BEGIN SELECT RAISE(ABORT, 'callboard: the ledger is append-only'); END;

CREATE TRIGGER ledger_is_not_deleted BEFORE DELETE ON ledger
BEGIN SELECT RAISE(ABORT, 'callboard: the ledger is append-only'); END;

CREATE TRIGGER legal_is_not_updated BEFORE UPDATE ON legal
BEGIN SELECT RAISE(ABORT, 'callboard: legal edges are reserved for ever'); END;

CREATE TRIGGER legal_is_not_deleted BEFORE DELETE ON legal
BEGIN SELECT RAISE(ABORT, 'callboard: legal edges are reserved for ever'); END;

-- Signed summaries of the log so far, so that a cut tail is found too.
CREATE TABLE checkpoint (
    seq        INTEGER PRIMARY KEY,
    at         INTEGER NOT NULL,
    root       BLOB    NOT NULL CHECK (length(root) = 32),
    public_key BLOB    NOT NULL CHECK (length(public_key) = 32),
    signature  BLOB    NOT NULL CHECK (length(signature) = 64)
) STRICT;

-- Rows from before there were states, as they came. The same row twice in one file is two rows; the same file twice
-- is one import.
CREATE TABLE legacy (
    number INTEGER PRIMARY KEY,
    digest BLOB    NOT NULL CHECK (length(digest) = 32),
    nth    INTEGER NOT NULL,
    kind   TEXT    NOT NULL,
    title  TEXT,
    data   TEXT    NOT NULL
) STRICT;

CREATE UNIQUE INDEX legacy_once ON legacy (digest, nth);

-- The view: what folding the log gives. It can be dropped and rebuilt.
CREATE TABLE entity (
    id               BLOB    NOT NULL PRIMARY KEY,
    kind             TEXT    NOT NULL,
    state            TEXT    NOT NULL,
    version          INTEGER NOT NULL,
    created_at       INTEGER NOT NULL,
    started_at       INTEGER,
    entered_at       INTEGER NOT NULL,
    ended_at         INTEGER,
    last_activity_at INTEGER NOT NULL,
    state_seq        INTEGER NOT NULL,
    last_seq         INTEGER NOT NULL,
    rank             INTEGER NOT NULL,
    parent           TEXT,
    facts            TEXT    NOT NULL,
    head             BLOB    NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX entity_live ON entity (kind, id) WHERE ended_at IS NULL;
CREATE INDEX entity_attention ON entity (rank, entered_at) WHERE rank < 2;
CREATE INDEX entity_parent ON entity (parent) WHERE parent IS NOT NULL;
