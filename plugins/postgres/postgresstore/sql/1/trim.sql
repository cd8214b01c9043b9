-- Drops the oldest ended runs of a job that is locked until p_history of them
-- are left, at most 1000 at once: what a smaller history leaves is dropped by
-- the calls that follow. p_unfinished are the slots of its unfinished runs,
-- which are never dropped.
CREATE FUNCTION $SCHEMA.trim_v1(
    p_job bigint, p_history integer, p_unfinished bigint[], INOUT p_ended integer, INOUT p_oldest bigint)
LANGUAGE plpgsql AS $anarchon$
DECLARE
    victim bigint;
BEGIN
    FOR n IN 1 .. least(p_ended - p_history, 1000) LOOP
        -- From p_oldest on: before it lie the remains of what was dropped, which
        -- a long transaction elsewhere keeps from being cleaned away.
        SELECT a.slot INTO victim
        FROM $SCHEMA.attempt AS a
        WHERE a.job = p_job AND a.slot >= p_oldest AND a.slot <> ALL (p_unfinished)
        ORDER BY a.slot
        LIMIT 1;
        IF NOT FOUND THEN -- rows were deleted by hand
            p_ended := p_history;
            EXIT;
        END IF;
        DELETE FROM $SCHEMA.attempt AS a WHERE a.job = p_job AND a.slot = victim;
        p_oldest := victim + 1;
        p_ended := p_ended - 1;
    END LOOP;
END
$anarchon$;
