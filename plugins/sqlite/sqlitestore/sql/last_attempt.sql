-- The last attempt of a run.
SELECT slot, attempt, token, claim, instance, reason, overlap, lease, lease_end,
       max_attempts, counted, unfinished, status, handed_over, started_at, ended_at, error
FROM anarchon_attempt
WHERE job = ?1 AND slot = ?2
ORDER BY attempt DESC
LIMIT 1
