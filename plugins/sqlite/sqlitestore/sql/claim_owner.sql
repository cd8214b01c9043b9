-- The other job of the namespace in which an unfinished run holds a claim id.
SELECT j.name
FROM anarchon_attempt AS a
JOIN anarchon_job AS j ON j.id = a.job
WHERE a.claim = CAST(?1 AS BLOB) AND a.unfinished = 1 AND j.namespace = CAST(?2 AS BLOB) AND j.name <> CAST(?3 AS BLOB)
LIMIT 1
