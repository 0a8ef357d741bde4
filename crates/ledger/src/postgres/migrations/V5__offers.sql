-- The tasks that workers can claim, and the files that tasks under way hold. They are tables of their own, written by a trigger of the
-- view: an index on the view itself would keep every change of a state or of facts from staying on its page.
CREATE TABLE offered (
    id         uuid   PRIMARY KEY,
    role       text COLLATE "C",
    priority   bigint NOT NULL,
    not_before text COLLATE "C"
);
CREATE INDEX offered_next ON offered (priority, id);
CREATE INDEX offered_role ON offered (role, priority, id);

CREATE TABLE held_file (
    task uuid NOT NULL,
    path text COLLATE "C" NOT NULL,
    PRIMARY KEY (task, path)
);

-- The facts as JSON that can be read here: the server knows no NUL, and a role or a path with one is nobody's.
CREATE FUNCTION readable(facts text) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN facts = '' THEN '{}'::jsonb
        WHEN position('\u0000' IN facts) = 0 THEN facts::jsonb
        ELSE regexp_replace(facts, '(^|[^\\])((\\\\)*)\\u0000', '\1\2', 'g')::jsonb END
$$;

CREATE FUNCTION task_moved() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    said jsonb;
BEGIN
    IF TG_OP <> 'INSERT' THEN
        DELETE FROM offered WHERE id = OLD.id;
        DELETE FROM held_file WHERE task = OLD.id;
    END IF;
    IF TG_OP = 'DELETE' THEN
        RETURN NULL;
    END IF;
    IF NEW.state = 'open' THEN
        said := readable(NEW.facts);
        IF coalesce(jsonb_array_length(nullif(said -> 'unmet', 'null')), 0) = 0 THEN
            INSERT INTO offered VALUES
                (NEW.id, said ->> 'role', coalesce((said ->> 'priority')::bigint, 2), said ->> 'not_before');
        END IF;
    ELSIF NEW.state IN ('claimed', 'in_progress', 'done', 'orphaned', 'pending_approval') THEN
        said := readable(NEW.facts);
        IF jsonb_typeof(said -> 'files') = 'array' THEN
            INSERT INTO held_file SELECT DISTINCT NEW.id, f FROM jsonb_array_elements_text(said -> 'files') f;
        END IF;
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER task_came AFTER INSERT ON entity
FOR EACH ROW WHEN (NEW.kind = 'task') EXECUTE FUNCTION task_moved();
CREATE TRIGGER task_moved AFTER UPDATE ON entity
FOR EACH ROW WHEN (NEW.kind = 'task' AND (NEW.state <> OLD.state OR NEW.facts <> OLD.facts)) EXECUTE FUNCTION task_moved();
CREATE TRIGGER task_went AFTER DELETE ON entity
FOR EACH ROW WHEN (OLD.kind = 'task') EXECUTE FUNCTION task_moved();

INSERT INTO offered
SELECT id, readable(facts) ->> 'role', coalesce((readable(facts) ->> 'priority')::bigint, 2), readable(facts) ->> 'not_before'
FROM entity
WHERE kind = 'task' AND state = 'open'
  AND coalesce(jsonb_array_length(nullif(readable(facts) -> 'unmet', 'null')), 0) = 0;

-- The leases that somebody holds; those of ended tasks stay in the table with their epochs.
CREATE INDEX lease_held ON lease (name) WHERE holder <> '';

UPDATE meta SET format = 5;
