-- Drops the attempts of the oldest ended run of a job. Every run has an attempt
-- 1; one at a time needs no list in a temporary table.
DELETE FROM anarchon_attempt
WHERE job = CAST(?1 AS INTEGER) AND slot = (
    SELECT e.slot
    FROM anarchon_attempt AS e
    WHERE e.job = CAST(?1 AS INTEGER) AND e.attempt = 1 AND NOT EXISTS (
        SELECT 1 FROM anarchon_attempt AS u INDEXED BY anarchon_unfinished
        WHERE u.job = CAST(?1 AS INTEGER) AND u.slot = e.slot AND u.unfinished = 1)
    ORDER BY e.slot
    LIMIT 1)
