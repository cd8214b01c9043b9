-- Drops the attempts of the oldest ended runs of a job, as many runs as asked.
DELETE FROM anarchon_attempt
WHERE job = CAST(?1 AS INTEGER) AND slot IN (
    SELECT DISTINCT e.slot
    FROM anarchon_attempt AS e
    WHERE e.job = CAST(?1 AS INTEGER) AND NOT EXISTS (
        SELECT 1 FROM anarchon_attempt AS u
        WHERE u.job = CAST(?1 AS INTEGER) AND u.slot = e.slot AND u.unfinished = 1)
    ORDER BY e.slot
    LIMIT CAST(?2 AS INTEGER))
