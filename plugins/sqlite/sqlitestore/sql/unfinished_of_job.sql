-- The last attempts of a job's unfinished runs, by slot.
SELECT slot, attempt, token, claim, instance, reason, overlap, lease, lease_end,
       max_attempts, counted, unfinished, status, handed_over, started_at, ended_at, error
FROM anarchon_attempt
WHERE job = ?1 AND unfinished = 1
ORDER BY slot
