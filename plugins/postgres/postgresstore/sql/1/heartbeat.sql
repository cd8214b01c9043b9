-- Renews leases in their order. One row per heartbeat.
CREATE FUNCTION $SCHEMA.heartbeat_v1(
    p_namespace bytea, p_job bytea[], p_slot bigint[], p_token bigint[], p_lease bigint[]
) RETURNS TABLE (o_renewed boolean, o_now bigint)
LANGUAGE plpgsql AS $anarchon$
DECLARE
    ids      bigint[] := $SCHEMA.begin_v1(p_namespace, p_job, false);
    promised boolean := false;
    now_ms   bigint;
    r        record;
    v_lease  bigint;
    v_end    bigint;
BEGIN
    FOR i IN 1 .. cardinality(p_job) LOOP
        now_ms := $NOW;
        o_renewed := false; o_now := now_ms;
        FOR r IN
            SELECT a.slot, a.attempt, a.token, a.lease, a.lease_end
            FROM $SCHEMA.attempt AS a
            WHERE a.job = ids[i] AND a.unfinished AND a.job > 0 AND a.status = 'running'
              AND a.slot >= (SELECT j.unfinished_from FROM $SCHEMA.job AS j WHERE j.id = ids[i])
        LOOP
            -- A lease with more left than its length is cut: the clock went back.
            v_lease := r.lease;
            v_end := least(r.lease_end, now_ms + r.lease);
            IF r.slot = p_slot[i] AND r.token = p_token[i] THEN
                -- Also after it ran out: nobody took the run over. What is left of a
                -- longer lease counts as asked for, or the next call would cut it: a
                -- heartbeat never shortens.
                o_renewed := true;
                promised := true;
                v_end := greatest(v_end, now_ms + p_lease[i]);
                v_lease := greatest(p_lease[i], v_end - now_ms);
            END IF;
            IF v_end <> r.lease_end OR v_lease <> r.lease THEN
                UPDATE $SCHEMA.attempt AS a SET lease = v_lease, lease_end = v_end
                WHERE a.job = ids[i] AND a.slot = r.slot AND a.attempt = r.attempt;
                promised := true;
            END IF;
        END LOOP;
        RETURN NEXT;
    END LOOP;

    IF NOT promised THEN -- see claim_v1
        PERFORM set_config('synchronous_commit', 'off', true);
    END IF;
END
$anarchon$;
