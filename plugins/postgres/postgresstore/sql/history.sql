-- The store's now, and a page of a job's attempts, newest first, after the place
-- ($3, $4). One row without an attempt if there is none.
SELECT n.now_ms, a.slot, a.attempt, a.token, a.instance, a.reason, a.status, a.handed_over, a.started_at, a.ended_at, a.error
FROM (SELECT $NOW AS now_ms) AS n
LEFT JOIN LATERAL (
    SELECT t.*
    FROM $SCHEMA.attempt AS t
    WHERE t.job = (SELECT j.id FROM $SCHEMA.job AS j WHERE j.namespace = $1 AND j.name = $2)
      AND (t.slot, t.attempt) < ($3, $4)
    ORDER BY t.slot DESC, t.attempt DESC
    LIMIT $5) AS a ON true
ORDER BY a.slot DESC, a.attempt DESC
