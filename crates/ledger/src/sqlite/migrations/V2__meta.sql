-- What the store knows of itself, in one row: the digest of the legal edges that were added last, so that a program
-- sees at a glance whether its own are among them.
CREATE TABLE meta (
    one   INTEGER PRIMARY KEY CHECK (one = 1),
    edges BLOB
) STRICT;

INSERT INTO meta (one) VALUES (1);

-- The keys that sign checkpoints of this store, the first one since it was made.
CREATE TABLE signer (
    number     INTEGER PRIMARY KEY,
    public_key BLOB NOT NULL UNIQUE CHECK (length(public_key) = 32)
) STRICT;

CREATE TRIGGER signer_is_not_updated BEFORE UPDATE ON signer
BEGIN SELECT RAISE(ABORT, 'callboard: the keys of a store are kept for ever'); END;

CREATE TRIGGER signer_is_not_deleted BEFORE DELETE ON signer
BEGIN SELECT RAISE(ABORT, 'callboard: the keys of a store are kept for ever'); END;

-- Whoever signed before there was this list.
INSERT INTO signer (public_key) SELECT public_key FROM checkpoint GROUP BY public_key ORDER BY min(seq);
