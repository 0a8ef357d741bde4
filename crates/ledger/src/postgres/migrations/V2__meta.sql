-- The digest of the legal edges that were added last, so that a program sees at a glance whether its own are among
-- them.
ALTER TABLE meta ADD COLUMN edges bytea;

-- The keys that sign checkpoints of this store, the first one since it was made.
CREATE TABLE signer (
    number     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    public_key bytea NOT NULL UNIQUE CHECK (octet_length(public_key) = 32)
);

CREATE TRIGGER signer_is_not_changed BEFORE UPDATE OR DELETE OR TRUNCATE ON signer
FOR EACH STATEMENT EXECUTE FUNCTION is_for_ever('the keys of a store are kept for ever');

-- Whoever signed before there was this list.
INSERT INTO signer (public_key) SELECT public_key FROM checkpoint GROUP BY public_key ORDER BY min(seq);

-- What an operator or the system notes about an entity is no sign of its life; the views of older programs counted it.
UPDATE entity SET last_activity_at = (
    SELECT max(at) FROM ledger
    WHERE ledger.entity = entity.id
      AND NOT (type = 'observed' AND actor_type IN ('operator', 'system', 'approval_desk'))
);

UPDATE meta SET format = 2;
