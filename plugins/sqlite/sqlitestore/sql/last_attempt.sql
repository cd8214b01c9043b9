-- The last attempt of a run.
SELECT slot, attempt, token, claim, instance, reason, overlap, lease, lease_end,
       max_attempts, counted, unfinished, status, handed_over, started_at, ended_at, error
FROM anarchon_attempt
WHERE job = CAST(?1 AS INTEGER) AND slot = CAST(?2 AS INTEGER)
ORDER BY attempt DESC
LIMIT 1
