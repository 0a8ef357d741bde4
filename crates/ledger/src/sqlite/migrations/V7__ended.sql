-- How many tasks have ended in each state. Only triggers of the view write it, so it follows the view in the same transaction.
CREATE TABLE ended_count (
    state TEXT    NOT NULL PRIMARY KEY,
    count INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The tasks that have ended, by the state they ended in.
CREATE INDEX entity_ended_task ON entity (state, id) WHERE kind = 'task' AND ended_at IS NOT NULL;

INSERT INTO ended_count
SELECT state, count(*) FROM entity WHERE kind = 'task' AND ended_at IS NOT NULL GROUP BY state;

CREATE TRIGGER ended_task_came AFTER INSERT ON entity WHEN NEW.kind = 'task' AND NEW.ended_at IS NOT NULL
BEGIN
    INSERT INTO ended_count VALUES (NEW.state, 1) ON CONFLICT (state) DO UPDATE SET count = count + 1;
END;

CREATE TRIGGER task_ended AFTER UPDATE ON entity
WHEN NEW.kind = 'task' AND NEW.ended_at IS NOT NULL AND (OLD.ended_at IS NULL OR OLD.state <> NEW.state)
BEGIN
    INSERT INTO ended_count VALUES (NEW.state, 1) ON CONFLICT (state) DO UPDATE SET count = count + 1;
END;

CREATE TRIGGER ended_task_goes_on AFTER UPDATE ON entity
WHEN OLD.kind = 'task' AND OLD.ended_at IS NOT NULL AND (NEW.ended_at IS NULL OR OLD.state <> NEW.state)
BEGIN
    UPDATE ended_count SET count = count - 1 WHERE state = OLD.state;
END;

CREATE TRIGGER ended_task_went AFTER DELETE ON entity WHEN OLD.kind = 'task' AND OLD.ended_at IS NOT NULL
BEGIN
    UPDATE ended_count SET count = count - 1 WHERE state = OLD.state;
END;
