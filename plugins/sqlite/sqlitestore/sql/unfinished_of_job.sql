-- The last attempts of a job's unfinished runs, by slot. The planner would walk
-- the job's whole history.
SELECT slot, attempt, token, claim, instance, reason, overlap, lease, lease_end,
       max_attempts, counted, unfinished, status, handed_over, started_at, ended_at, error
FROM anarchon_attempt INDEXED BY anarchon_unfinished
WHERE job = CAST(?1 AS INTEGER) AND unfinished = 1
ORDER BY slot
