-- The unfinished runs of the jobs, or of all of a namespace if p_job is null, in
-- no order, and at the end a row without a job that has the store's now.
--
-- The unfinished runs of all namespaces are few, so their index is walked, and
-- each one's job looked up; OFFSET 0 keeps the planner from turning that round.
CREATE FUNCTION $SCHEMA.unfinished_v1(p_namespace bytea, p_job bytea[])
RETURNS TABLE (
    o_job bytea, o_slot bigint, o_attempt integer, o_open boolean, o_holder bytea, o_token bigint,
    o_left bigint, o_counted integer, o_newest bigint, o_now bigint
) LANGUAGE plpgsql AS $anarchon$
DECLARE
    now_ms   bigint;
    r        record;
    too_long bytea[] := '{}'; -- jobs with a lease that has more left than its length
    ids      bigint[];
BEGIN
    FOR r IN
        SELECT j.name, j.newest, a.slot, a.attempt, a.status, a.instance, a.token, a.lease, a.lease_end, a.counted
        FROM $SCHEMA.attempt AS a
        CROSS JOIN LATERAL (SELECT * FROM $SCHEMA.job WHERE id = a.job OFFSET 0) AS j
        WHERE a.unfinished AND a.job > 0 AND j.namespace = p_namespace AND (p_job IS NULL OR j.name = ANY (p_job))
    LOOP
        -- Not before the rows were read: a lease that was granted since would seem
        -- too long.
        now_ms := coalesce(now_ms, $NOW);
        o_job := r.name; o_slot := r.slot; o_attempt := r.attempt; o_open := r.status = 'running';
        o_holder := r.instance; o_token := r.token; o_counted := r.counted; o_newest := r.newest; o_now := now_ms;
        o_left := CASE WHEN o_open THEN greatest(0, least(r.lease_end - now_ms, r.lease)) ELSE 0 END;
        IF o_open AND r.lease_end - now_ms > r.lease THEN
            too_long := too_long || r.name;
        END IF;
        RETURN NEXT;
    END LOOP;
    now_ms := coalesce(now_ms, $NOW);

    IF too_long <> '{}' THEN -- the clock went back: like every call, this one cuts the leases
        ids := $SCHEMA.begin_v1(p_namespace, too_long, false);
        now_ms := $NOW;
        UPDATE $SCHEMA.attempt AS a SET lease_end = now_ms + a.lease
        WHERE a.job = ANY (ids) AND a.unfinished AND a.job > 0 AND a.status = 'running' AND a.lease_end > now_ms + a.lease;
    END IF;

    o_job := NULL; o_slot := 0; o_attempt := 0; o_open := false; o_holder := ''; o_token := 0;
    o_left := 0; o_counted := 0; o_newest := 0; o_now := now_ms;
    RETURN NEXT;
END
$anarchon$;
