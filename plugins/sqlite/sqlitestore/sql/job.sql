-- The store's now, the job if it is known, and the other job of the namespace in
-- which an unfinished run holds a claim id. Always one row.
SELECT n.now, j.id, j.newest, j.last_token, j.history, j.ended, j.fingerprint, (
    SELECT o.name
    FROM anarchon_attempt AS a INDEXED BY anarchon_claim
    CROSS JOIN anarchon_job AS o
    WHERE a.claim = CAST(?3 AS BLOB) AND a.unfinished = 1 AND o.id = a.job
      AND o.namespace = CAST(?1 AS BLOB) AND o.name <> CAST(?2 AS BLOB)
    LIMIT 1)
FROM (SELECT $NOW AS now) AS n
LEFT JOIN anarchon_job AS j ON j.namespace = CAST(?1 AS BLOB) AND j.name = CAST(?2 AS BLOB)
