-- The store's now, and the unfinished runs of all jobs of a namespace. One row
-- without a run if there is none. The unfinished runs of all namespaces are few,
-- so they are walked, and the job is looked up.
SELECT n.now, r.name, r.slot, r.attempt, r.status, r.instance, r.token, r.lease, r.lease_end, r.counted, r.newest
FROM (SELECT $NOW AS now) AS n
LEFT JOIN (
    SELECT j.name, j.newest, a.slot, a.attempt, a.status, a.instance, a.token, a.lease, a.lease_end, a.counted
    FROM anarchon_attempt AS a INDEXED BY anarchon_unfinished
    CROSS JOIN anarchon_job AS j
    WHERE a.unfinished = 1 AND j.id = a.job AND j.namespace = CAST(?1 AS BLOB)) AS r
