-- The attempt of a run that a token was granted to.
SELECT slot, attempt, token, claim, instance, reason, overlap, lease, lease_end,
       max_attempts, counted, unfinished, status, handed_over, started_at, ended_at, error
FROM anarchon_attempt
WHERE job = CAST(?1 AS INTEGER) AND slot = CAST(?2 AS INTEGER) AND token = CAST(?3 AS INTEGER)
