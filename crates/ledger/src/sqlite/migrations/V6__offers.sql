-- The tasks that workers can claim, in the order in which they are claimed: by priority, then by age. Only those are in the indexes,
-- however many tasks have ended.
CREATE INDEX entity_offered ON entity (coalesce(nullif(facts, '') ->> '$.priority', 2), id)
    WHERE kind = 'task' AND state = 'open' AND coalesce(json_array_length(nullif(facts, ''), '$.unmet'), 0) = 0;
CREATE INDEX entity_offered_role ON entity (nullif(facts, '') ->> '$.role', coalesce(nullif(facts, '') ->> '$.priority', 2), id)
    WHERE kind = 'task' AND state = 'open' AND coalesce(json_array_length(nullif(facts, ''), '$.unmet'), 0) = 0;

-- The tasks under way that hold files.
CREATE INDEX entity_files ON entity (id)
    WHERE kind = 'task' AND state IN ('claimed', 'in_progress', 'done', 'orphaned', 'pending_approval')
        AND nullif(facts, '') ->> '$.files' IS NOT NULL;

-- The leases that somebody holds; those of ended tasks stay in the table with their epochs.
CREATE INDEX lease_held ON lease (name) WHERE holder <> '';
