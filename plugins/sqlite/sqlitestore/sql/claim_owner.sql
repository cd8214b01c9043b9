-- The other job of the namespace in which an unfinished run holds a claim id.
SELECT j.name
FROM anarchon_attempt AS a
JOIN anarchon_job AS j ON j.id = a.job
WHERE a.claim = ?1 AND a.unfinished = 1 AND j.namespace = ?2 AND j.name <> ?3
LIMIT 1
