-- The store's now, and a page of a job's attempts, newest first, after the
-- place (?3, ?4). One row without an attempt if there is none.
SELECT n.now, a.slot, a.attempt, a.token, a.instance, a.reason, a.status, a.handed_over, a.started_at, a.ended_at, a.error
FROM (SELECT $NOW AS now) AS n
LEFT JOIN (
    SELECT t.*
    FROM anarchon_attempt AS t
    WHERE t.job = (SELECT id FROM anarchon_job WHERE namespace = CAST(?1 AS BLOB) AND name = CAST(?2 AS BLOB))
      AND (t.slot, t.attempt) < (CAST(?3 AS INTEGER), CAST(?4 AS INTEGER))
    ORDER BY t.slot DESC, t.attempt DESC
    LIMIT CAST(?5 AS INTEGER)) AS a
