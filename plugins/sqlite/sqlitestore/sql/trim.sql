-- Drops the attempts of the oldest ended runs of a job, as many runs as asked.
DELETE FROM anarchon_attempt
WHERE job = ?1 AND slot IN (
    SELECT DISTINCT e.slot
    FROM anarchon_attempt AS e
    WHERE e.job = ?1 AND NOT EXISTS (
        SELECT 1 FROM anarchon_attempt AS u
        WHERE u.job = ?1 AND u.slot = e.slot AND u.unfinished = 1)
    ORDER BY e.slot
    LIMIT ?2)
