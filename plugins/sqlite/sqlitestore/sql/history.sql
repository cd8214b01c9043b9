-- The store's now, and a page of a job's attempts, newest first, after the
-- place (?3, ?4). One row without an attempt if there is none.
SELECT n.now, a.slot, a.attempt, a.token, a.instance, a.reason, a.status, a.handed_over, a.started_at, a.ended_at, a.error
FROM (SELECT $NOW AS now) AS n
LEFT JOIN (
    SELECT t.*
    FROM anarchon_attempt AS t
    WHERE t.job = (SELECT id FROM anarchon_job WHERE namespace = ?1 AND name = ?2)
      AND (t.slot, t.attempt) < (?3, ?4)
    ORDER BY t.slot DESC, t.attempt DESC
    LIMIT ?5) AS a
