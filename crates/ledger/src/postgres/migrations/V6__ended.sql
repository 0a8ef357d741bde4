-- The tasks that have ended, by the state they ended in, and how many there are. Tables of their own, for the reason that `offered` is
-- one, and written by triggers of the view only, so they follow it in the same transaction.
CREATE TABLE ended_task (
    state text COLLATE "C" NOT NULL,
    id    uuid NOT NULL,
    PRIMARY KEY (state, id)
);

CREATE TABLE ended_count (
    state text COLLATE "C" PRIMARY KEY,
    count bigint NOT NULL
) WITH (fillfactor = 10);

CREATE FUNCTION task_ended() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' AND OLD.ended_at IS NOT NULL THEN
        DELETE FROM ended_task WHERE state = OLD.state AND id = OLD.id;
        UPDATE ended_count SET count = count - 1 WHERE state = OLD.state;
    END IF;
    IF TG_OP <> 'DELETE' AND NEW.ended_at IS NOT NULL THEN
        INSERT INTO ended_task VALUES (NEW.state, NEW.id);
        INSERT INTO ended_count AS c VALUES (NEW.state, 1) ON CONFLICT (state) DO UPDATE SET count = c.count + 1;
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER ended_task_came AFTER INSERT ON entity
FOR EACH ROW WHEN (NEW.kind = 'task' AND NEW.ended_at IS NOT NULL) EXECUTE FUNCTION task_ended();
CREATE TRIGGER task_ended AFTER UPDATE ON entity
FOR EACH ROW WHEN (NEW.kind = 'task' AND (NEW.ended_at IS NOT NULL OR OLD.ended_at IS NOT NULL)
    AND (NEW.state <> OLD.state OR (NEW.ended_at IS NULL) <> (OLD.ended_at IS NULL))) EXECUTE FUNCTION task_ended();
CREATE TRIGGER ended_task_went AFTER DELETE ON entity
FOR EACH ROW WHEN (OLD.kind = 'task' AND OLD.ended_at IS NOT NULL) EXECUTE FUNCTION task_ended();

INSERT INTO ended_task SELECT state, id FROM entity WHERE kind = 'task' AND ended_at IS NOT NULL;
INSERT INTO ended_count SELECT state, count(*) FROM ended_task GROUP BY state;

UPDATE meta SET format = 6;
