-- Judges claims in their order by the rules of docs/protocol.md, whose numbers
-- the comments have. One row per claim.
--
-- o_misuse says that the claim id is remembered with another job, slot or
-- instance; o_holder has that job or instance, o_slot that slot. Such a claim is
-- invalid, and nothing of it was written.
CREATE FUNCTION $SCHEMA.claim_v1(
    p_namespace    bytea,
    p_job          bytea[],
    p_slot         bigint[],
    p_id           bytea[],
    p_after        integer[],
    p_instance     bytea[],
    p_reason       text[],
    p_lease        bigint[],
    p_max_early    bigint[],
    p_max_late     bigint[],
    p_overlap      text[],
    p_max_attempts integer[],
    p_history      integer[],
    p_fingerprint  bytea[]
) RETURNS TABLE (
    o_verdict text, o_attempt integer, o_token bigint, o_left bigint, o_holder bytea, o_slot bigint,
    o_status text, o_by bigint, o_fingerprint bytea, o_now bigint, o_misuse text
) LANGUAGE plpgsql AS $anarchon$
DECLARE
    late_tolerance CONSTANT bigint := 10000;

    ids      bigint[] := $SCHEMA.begin_v1(p_namespace, p_job, true);
    promised boolean := false; -- an answer rests on what this call wrote, or must be as safe
    now_ms   bigint;
    was      record;           -- the job before
    is_new   boolean;          -- something is to be granted
    r        record;

    -- The job after.
    v_newest bigint; v_token bigint; v_ended integer; v_oldest bigint; v_from bigint;

    -- The last attempt of this run, if it is unfinished; 0 if there is none.
    my_slot bigint; my_attempt integer; my_open boolean; my_live boolean; my_token bigint; my_claim bytea;
    my_instance bytea; my_end bigint; my_max integer; my_counted integer;
    closing boolean;

    -- The other unfinished runs: in the way, to be kept, older without a lease.
    way_slot bigint; way_instance bytea; way_end bigint;
    kept bigint[]; dead bigint[];
BEGIN
    FOR i IN 1 .. cardinality(p_job) LOOP
        SELECT j.newest, j.last_token, j.history, j.ended, j.oldest, j.unfinished_from, j.fingerprint INTO STRICT was
        FROM $SCHEMA.job AS j
        WHERE j.id = ids[i];
        now_ms := $NOW; -- after the wait for the lock, and each claim its own
        o_verdict := ''; o_attempt := 0; o_token := 0; o_left := 0; o_holder := ''; o_slot := 0;
        o_status := ''; o_by := 0; o_fingerprint := was.fingerprint; o_now := now_ms; o_misuse := '';

        -- The id is remembered for another wish? The subquery keeps the planner from
        -- beginning with the jobs of the namespace.
        SELECT a.job, a.slot, a.instance INTO r
        FROM $SCHEMA.attempt AS a
        WHERE a.claim = p_id[i] AND a.unfinished AND octet_length(a.claim) > 0
          AND (SELECT j.namespace FROM $SCHEMA.job AS j WHERE j.id = a.job) = p_namespace
        LIMIT 1;
        IF FOUND THEN
            IF r.job <> ids[i] THEN
                o_misuse := 'job';
                SELECT j.name INTO o_holder FROM $SCHEMA.job AS j WHERE j.id = r.job;
            ELSIF r.slot <> p_slot[i] THEN
                o_misuse := 'slot'; o_slot := r.slot;
            ELSIF r.instance <> p_instance[i] THEN
                o_misuse := 'instance'; o_holder := r.instance;
            END IF;
            IF o_misuse <> '' THEN
                RETURN NEXT;
                CONTINUE;
            END IF;
        END IF;

        -- The unfinished runs. A lease with more left than its length is cut: the
        -- clock went back, and a dead runner must not stay protected until it
        -- caught up.
        my_attempt := 0; my_live := false; closing := false; way_slot := NULL; kept := '{}'; dead := '{}';
        IF was.unfinished_from IS NOT NULL THEN
            FOR r IN
                SELECT a.slot, a.attempt, a.token, a.claim, a.instance, a.overlap, a.lease, a.lease_end,
                       a.max_attempts, a.counted, a.status = 'running' AS open
                FROM $SCHEMA.attempt AS a
                WHERE a.job = ids[i] AND a.unfinished AND a.job > 0 AND a.slot >= was.unfinished_from
                ORDER BY a.slot
            LOOP
                IF r.open AND r.lease_end > now_ms + r.lease THEN
                    r.lease_end := now_ms + r.lease;
                    UPDATE $SCHEMA.attempt AS a SET lease_end = r.lease_end
                    WHERE a.job = ids[i] AND a.slot = r.slot AND a.attempt = r.attempt;
                    promised := true;
                END IF;
                IF r.slot = p_slot[i] THEN
                    my_attempt := r.attempt; my_open := r.open; my_live := r.open AND now_ms < r.lease_end;
                    my_token := r.token; my_claim := r.claim; my_instance := r.instance; my_end := r.lease_end;
                    my_max := r.max_attempts; my_counted := r.counted;
                ELSIF r.open AND now_ms < r.lease_end THEN
                    kept := kept || r.slot;
                    IF way_slot IS NULL AND (p_overlap[i] = 'skip' OR r.overlap = 'skip') THEN
                        way_slot := r.slot; way_instance := r.instance; way_end := r.lease_end;
                    END IF;
                ELSIF r.slot > p_slot[i] THEN
                    kept := kept || r.slot;
                ELSE
                    dead := dead || r.slot;
                END IF;
            END LOOP;
        END IF;

        -- 1. The answer was lost. The lease is told as it is, maybe 0: a full one
        -- would promise protection that the store does not give.
        IF my_attempt > 0 AND my_open AND my_claim = p_id[i] THEN
            o_verdict := 'won'; o_attempt := my_attempt; o_token := my_token; o_left := greatest(0, my_end - now_ms);
            promised := true;
            RETURN NEXT;
            CONTINUE;
        END IF;

        v_newest := was.newest; v_token := was.last_token; v_ended := was.ended; v_oldest := was.oldest;
        is_new := false;

        -- 2. It ended. The newest granted slot is known for ever, so if no
        -- unfinished run of it is held, it ended and its record is gone.
        IF my_attempt = 0 AND p_slot[i] <= was.newest THEN
            SELECT a.status INTO o_status
            FROM $SCHEMA.attempt AS a
            WHERE a.job = ids[i] AND a.slot = p_slot[i]
            ORDER BY a.attempt DESC
            LIMIT 1;
            IF FOUND OR p_slot[i] = was.newest THEN
                o_verdict := 'finished';
            END IF;
            o_status := coalesce(o_status, '');
        END IF;

        IF o_verdict <> '' THEN
            NULL;

        -- 3. It is held. A newer slot does not stop a live runner.
        ELSIF my_live THEN
            o_verdict := 'running'; o_attempt := my_attempt; o_holder := my_instance; o_left := my_end - now_ms;

        -- 4. A newer slot was granted.
        ELSIF p_slot[i] < was.newest THEN
            o_verdict := 'superseded'; o_slot := was.newest;
            closing := my_attempt > 0;

        -- 5. Lateness, of a first attempt only.
        ELSIF my_attempt = 0 AND now_ms - p_slot[i] > p_max_late[i] + late_tolerance THEN
            o_verdict := 'late'; o_by := now_ms - p_slot[i];
        ELSIF my_attempt = 0 AND p_slot[i] - now_ms > p_max_early[i] THEN
            o_verdict := 'early'; o_by := p_slot[i] - now_ms;

        -- 6. Another run of the job is held, of any slot, and one of the two
        -- bears no company.
        ELSIF way_slot IS NOT NULL THEN
            o_verdict := 'overlap'; o_slot := way_slot; o_holder := way_instance; o_left := way_end - now_ms;

        -- 7. A claim is for the attempt after the one that it names, so a late
        -- copy is not granted again; and a run has so many attempts.
        ELSIF p_after[i] <> my_attempt THEN
            o_verdict := 'running'; o_attempt := my_attempt;
            IF my_attempt > 0 THEN
                o_holder := my_instance;
            END IF;
        ELSIF my_attempt > 0 AND my_counted >= my_max THEN
            o_verdict := 'exhausted'; o_attempt := my_counted;
            closing := true;

        -- 8. Granted.
        ELSE
            is_new := true;
        END IF;

        IF closing OR is_new AND my_attempt > 0 THEN
            UPDATE $SCHEMA.attempt AS a
            SET unfinished = false, status = 'interrupted',
                ended_at = CASE a.status WHEN 'running' THEN now_ms ELSE a.ended_at END
            WHERE a.job = ids[i] AND a.slot = p_slot[i] AND a.attempt = my_attempt;
        END IF;
        IF closing THEN
            v_ended := v_ended + 1;
            v_oldest := least(v_oldest, p_slot[i]);
        END IF;

        IF is_new THEN
            IF dead <> '{}' THEN -- rule 4 bars them for ever
                UPDATE $SCHEMA.attempt AS a
                SET unfinished = false, status = 'interrupted',
                    ended_at = CASE a.status WHEN 'running' THEN now_ms ELSE a.ended_at END
                WHERE a.job = ids[i] AND a.slot = ANY (dead) AND a.unfinished AND a.job > 0;
                v_ended := v_ended + cardinality(dead);
                v_oldest := least(v_oldest, dead[1]);
                dead := '{}';
            END IF;
            v_token := greatest(v_token + 1, now_ms);
            v_newest := greatest(v_newest, p_slot[i]);
            INSERT INTO $SCHEMA.attempt (
                job, slot, token, lease, lease_end, started_at, ended_at, attempt, max_attempts, counted,
                unfinished, handed_over, reason, overlap, status, claim, instance, error)
            VALUES (
                ids[i], p_slot[i], v_token, p_lease[i], now_ms + p_lease[i], now_ms, 0, my_attempt + 1,
                CASE my_attempt WHEN 0 THEN p_max_attempts[i] ELSE my_max END,
                CASE my_attempt WHEN 0 THEN 1 ELSE my_counted + 1 END,
                true, false, p_reason[i], p_overlap[i], 'running', p_id[i], p_instance[i], '');
            o_verdict := 'won'; o_attempt := my_attempt + 1; o_token := v_token; o_left := p_lease[i];
        END IF;

        IF v_newest IS NOT NULL THEN
            my_slot := CASE WHEN is_new OR my_attempt > 0 AND NOT closing THEN p_slot[i] END;
            v_from := least(kept[1], dead[1], my_slot);
            IF v_ended > p_history[i] THEN
                SELECT t.p_ended, t.p_oldest INTO v_ended, v_oldest
                FROM $SCHEMA.trim_v1(ids[i], p_history[i], kept || dead || array_remove(ARRAY[my_slot], NULL), v_ended, v_oldest) AS t;
            END IF;
            IF is_new OR closing OR v_ended <> was.ended OR p_history[i] <> was.history
                OR p_fingerprint[i] <> was.fingerprint OR v_from IS DISTINCT FROM was.unfinished_from
            THEN
                UPDATE $SCHEMA.job AS j
                SET newest = v_newest, last_token = v_token, history = p_history[i], ended = v_ended,
                    oldest = v_oldest, unfinished_from = v_from, fingerprint = p_fingerprint[i]
                WHERE j.id = ids[i];
                promised := true;
            END IF;
        END IF;
        RETURN NEXT;
    END LOOP;

    -- Refusals promise nothing: no need to keep the jobs locked until the disk
    -- has the end of a transaction that changed nothing.
    IF NOT promised THEN
        PERFORM set_config('synchronous_commit', 'off', true);
    END IF;
END
$anarchon$;
