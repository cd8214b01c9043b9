-- Ends attempts, or hands them over, in their order. p_status is what the record
-- shall read. One row per finish.
CREATE FUNCTION $SCHEMA.finish_v1(
    p_namespace bytea, p_job bytea[], p_slot bigint[], p_token bigint[], p_status text[], p_released boolean[], p_error bytea[]
) RETURNS TABLE (o_recorded boolean, o_now bigint)
LANGUAGE plpgsql AS $anarchon$
DECLARE
    ids      bigint[] := $SCHEMA.begin_v1(p_namespace, p_job, false);
    promised boolean := false;
    now_ms   bigint;
    r        record;
    v_ended  integer; v_oldest bigint; v_history integer;
    others   bigint[]; -- slots of the other unfinished runs
BEGIN
    FOR i IN 1 .. cardinality(p_job) LOOP
        now_ms := $NOW;
        o_recorded := false; o_now := now_ms;
        others := '{}';
        FOR r IN
            SELECT a.slot, a.attempt, a.lease, a.lease_end, a.status
            FROM $SCHEMA.attempt AS a
            WHERE a.job = ids[i] AND a.unfinished AND a.job > 0
              AND a.slot >= (SELECT j.unfinished_from FROM $SCHEMA.job AS j WHERE j.id = ids[i])
            ORDER BY a.slot
        LOOP
            -- A lease with more left than its length is cut: the clock went back.
            IF r.status = 'running' AND r.lease_end > now_ms + r.lease THEN
                UPDATE $SCHEMA.attempt AS a SET lease_end = now_ms + a.lease
                WHERE a.job = ids[i] AND a.slot = r.slot AND a.attempt = r.attempt;
                promised := true;
            END IF;
            IF r.slot <> p_slot[i] THEN
                others := others || r.slot;
            END IF;
        END LOOP;

        -- The record of the attempt alone judges, whatever came after.
        SELECT a.attempt, a.status, a.handed_over INTO r
        FROM $SCHEMA.attempt AS a
        WHERE a.job = ids[i] AND a.slot = p_slot[i] AND a.token = p_token[i];
        IF NOT FOUND THEN
            NULL;
        ELSIF r.status <> 'running' THEN
            -- A repeat, its first answer lost, if the record reads the same.
            o_recorded := r.status = p_status[i] AND r.handed_over = p_released[i];
        ELSE
            o_recorded := true;
            UPDATE $SCHEMA.attempt AS a
            SET status = p_status[i], ended_at = now_ms, error = p_error[i], handed_over = p_released[i],
                unfinished = p_released[i], counted = a.counted - CASE WHEN p_released[i] THEN 1 ELSE 0 END
            WHERE a.job = ids[i] AND a.slot = p_slot[i] AND a.attempt = r.attempt;
            IF NOT p_released[i] THEN
                SELECT j.ended + 1, least(j.oldest, p_slot[i]), j.history INTO v_ended, v_oldest, v_history
                FROM $SCHEMA.job AS j
                WHERE j.id = ids[i];
                IF v_ended > v_history THEN
                    SELECT t.p_ended, t.p_oldest INTO v_ended, v_oldest
                    FROM $SCHEMA.trim_v1(ids[i], v_history, others, v_ended, v_oldest) AS t;
                END IF;
                UPDATE $SCHEMA.job AS j
                SET ended = v_ended, oldest = v_oldest, unfinished_from = others[1]
                WHERE j.id = ids[i];
            END IF;
        END IF;
        promised := promised OR o_recorded;
        RETURN NEXT;
    END LOOP;

    IF NOT promised THEN -- see claim_v1
        PERFORM set_config('synchronous_commit', 'off', true);
    END IF;
END
$anarchon$;
