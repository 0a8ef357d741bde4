-- The format of the store, in one row. A migration raises it in the transaction that does the rest of its work.
CREATE TABLE meta (
    format bigint  NOT NULL,
    one    boolean NOT NULL DEFAULT true PRIMARY KEY CHECK (one)
);
INSERT INTO meta (format) VALUES (1);

-- The log. Nothing in it is ever changed; the triggers hold for every client, a shell included.
CREATE TABLE legal (
    kind       text COLLATE "C" NOT NULL,
    from_state text COLLATE "C" NOT NULL,
    via        text COLLATE "C" NOT NULL,
    to_state   text COLLATE "C" NOT NULL,
    PRIMARY KEY (kind, from_state, via, to_state)
);

-- The writer sends whole rows of this type, so the order of the columns is part of the format.
CREATE TABLE ledger (
    seq        bigint PRIMARY KEY,
    entity     uuid   NOT NULL,
    version    bigint NOT NULL,
    at         bigint NOT NULL,
    kind       text COLLATE "C" NOT NULL,
    type       text COLLATE "C" NOT NULL,
    channel    text COLLATE "C" NOT NULL,
    from_state text COLLATE "C" NOT NULL,
    via        text COLLATE "C" NOT NULL,
    to_state   text COLLATE "C" NOT NULL,
    actor_type text COLLATE "C" NOT NULL,
    actor_id   text COLLATE "C" NOT NULL,
    key        text COLLATE "C",
    body       text COLLATE "C" NOT NULL,
    hash       bytea  NOT NULL,
    FOREIGN KEY (kind, from_state, via, to_state) REFERENCES legal (kind, from_state, via, to_state)
);

CREATE UNIQUE INDEX ledger_entity ON ledger (entity, version);
CREATE UNIQUE INDEX ledger_key ON ledger (entity, key) WHERE key IS NOT NULL;

-- Whoever writes holds this lock until the end of the transaction, so sequence numbers follow commit order and a
-- reader that goes on from the last one it saw never skips one that commits late.
CREATE FUNCTION ledger_in_turn() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(7161124095259533682);
    RETURN NULL;
END $$;

CREATE TRIGGER ledger_in_turn BEFORE INSERT ON ledger
FOR EACH STATEMENT EXECUTE FUNCTION ledger_in_turn();

-- One look at all rows of a statement: they must continue the log, and each must continue its entity. What a
-- constraint would check here is checked in the same look, because the server parses a constraint anew for each
-- statement.
CREATE FUNCTION ledger_continues() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    low     bigint;
    high    bigint;
    many    bigint;
    problem text;
BEGIN
    SELECT min(f.seq), max(f.seq), count(*), max(CASE
        WHEN f.channel NOT IN ('replay', 'audit') THEN 'the record has a channel that is not kept'
        WHEN octet_length(f.hash) <> 32 THEN 'the record has no hash of 32 bytes'
        WHEN f.version = 1 AND f.from_state = '' THEN NULL
        WHEN b.seq < f.seq AND b.to_state = f.from_state AND b.kind = f.kind THEN NULL
        ELSE 'the record does not continue its entity' END)
    INTO low, high, many, problem
    FROM fresh f LEFT JOIN ledger b ON b.entity = f.entity AND b.version = f.version - 1;
    IF many = 0 THEN
        RETURN NULL;
    END IF;
    IF low < 1 OR high - low + 1 <> many
        OR (low > 1 AND NOT EXISTS (SELECT FROM ledger WHERE seq = low - 1)) THEN
        problem := 'the record does not continue the log';
    END IF;
    IF problem IS NOT NULL THEN
        RAISE EXCEPTION 'callboard: %', problem USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    -- Only a wake-up: whoever hears it reads the log.
    PERFORM pg_notify('callboard', high::text);
    RETURN NULL;
END $$;

CREATE TRIGGER ledger_continues AFTER INSERT ON ledger REFERENCING NEW TABLE AS fresh
FOR EACH STATEMENT EXECUTE FUNCTION ledger_continues();

CREATE FUNCTION is_for_ever() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'callboard: %', TG_ARGV[0] USING ERRCODE = 'integrity_constraint_violation';
END $$;

CREATE TRIGGER ledger_is_not_changed BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger
FOR EACH STATEMENT EXECUTE FUNCTION is_for_ever('the ledger is append-only');

CREATE TRIGGER legal_is_not_changed BEFORE UPDATE OR DELETE OR TRUNCATE ON legal
FOR EACH STATEMENT EXECUTE FUNCTION is_for_ever('legal edges are reserved for ever');

-- Signed summaries of the log so far, so that a cut tail is found too.
CREATE TABLE checkpoint (
    seq        bigint PRIMARY KEY,
    at         bigint NOT NULL,
    root       bytea  NOT NULL CHECK (octet_length(root) = 32),
    public_key bytea  NOT NULL CHECK (octet_length(public_key) = 32),
    signature  bytea  NOT NULL CHECK (octet_length(signature) = 64)
);

-- Rows from before there were states, as they came. The same row twice in one file is two rows; the same file twice
-- is one import.
CREATE TABLE legacy (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    digest bytea  NOT NULL CHECK (octet_length(digest) = 32),
    nth    bigint NOT NULL,
    kind   text   NOT NULL,
    title  text,
    data   text   NOT NULL
);

CREATE UNIQUE INDEX legacy_once ON legacy (digest, nth);

-- The view: what folding the log gives. It can be dropped and rebuilt. A row that needs nobody has no urgency, so
-- most changes touch no index and stay on their page; the free space is for them.
CREATE TABLE entity (
    id               uuid   PRIMARY KEY,
    kind             text COLLATE "C" NOT NULL,
    state            text COLLATE "C" NOT NULL,
    version          bigint NOT NULL,
    created_at       bigint NOT NULL,
    started_at       bigint,
    entered_at       bigint NOT NULL,
    ended_at         bigint,
    last_activity_at bigint NOT NULL,
    state_seq        bigint NOT NULL,
    last_seq         bigint NOT NULL,
    urgency          bigint,
    parent           text COLLATE "C",
    facts            text COLLATE "C" NOT NULL,
    head             bytea  NOT NULL
) WITH (fillfactor = 70);

CREATE INDEX entity_live ON entity (kind, id) WHERE ended_at IS NULL;
CREATE INDEX entity_attention ON entity (urgency, id) WHERE urgency IS NOT NULL;
CREATE INDEX entity_parent ON entity (parent) WHERE parent IS NOT NULL;

-- A change of an entity must find its row; a missing one means that the view was tampered with.
CREATE FUNCTION view_followed(moved bigint, wanted bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF moved <> wanted THEN
        RAISE EXCEPTION 'callboard: the view is not what the log says; rebuild it'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
END $$;
