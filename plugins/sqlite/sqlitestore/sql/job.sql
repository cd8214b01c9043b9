-- The store's now, and the job if it is known. Always one row.
SELECT n.now, j.id, j.newest, j.last_token, j.history, j.ended, j.fingerprint
FROM (SELECT $NOW AS now) AS n
LEFT JOIN anarchon_job AS j ON j.namespace = CAST(?1 AS BLOB) AND j.name = CAST(?2 AS BLOB)
