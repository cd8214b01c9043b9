-- Begins a step on the jobs of a batch: locks their rows, all in the same order
-- in every batch of every verb, so that batches can't block each other in a
-- circle, and returns their ids in the order of the names. With p_make a job
-- that is not known is made; without it, its id is null.
--
-- Rows are made before any is locked: who waits for another's new row holds no
-- lock yet.
--
-- Here and in the other functions subqueries stand where joins would do: without
-- statistics, on new tables or just when they grow, the planner joins in an order
-- that walks all jobs or all of a job's attempts.
CREATE FUNCTION $SCHEMA.begin_v1(p_namespace bytea, p_names bytea[], p_make boolean) RETURNS bigint[]
LANGUAGE plpgsql AS $anarchon$
DECLARE
    ids bigint[];
BEGIN
    -- After the wait for a lock each statement must see what was committed
    -- meanwhile. Under any other isolation it would see the past, or fail.
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'anarchon: the transaction is %; it must be read committed', current_setting('transaction_isolation')
            USING ERRCODE = 'ZA001';
    END IF;
    -- What is answered must outlast a crash of the server.
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;

    ids := (SELECT array_agg((SELECT j.id FROM $SCHEMA.job AS j WHERE j.namespace = p_namespace AND j.name = q.name) ORDER BY q.n)
            FROM unnest(p_names) WITH ORDINALITY AS q (name, n));
    IF p_make AND array_position(ids, NULL) IS NOT NULL THEN
        INSERT INTO $SCHEMA.job (namespace, name)
        SELECT DISTINCT p_namespace, q.name
        FROM unnest(p_names) WITH ORDINALITY AS q (name, n)
        WHERE ids[q.n] IS NULL
        ORDER BY q.name
        ON CONFLICT DO NOTHING;

        ids := (SELECT array_agg((SELECT j.id FROM $SCHEMA.job AS j WHERE j.namespace = p_namespace AND j.name = q.name) ORDER BY q.n)
                FROM unnest(p_names) WITH ORDINALITY AS q (name, n));
    END IF;

    PERFORM FROM $SCHEMA.job AS j WHERE j.id = ANY (ids) ORDER BY j.id FOR UPDATE;
    RETURN ids;
END
$anarchon$;
