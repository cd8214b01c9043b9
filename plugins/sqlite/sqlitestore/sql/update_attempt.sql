-- What can change after a grant.
UPDATE anarchon_attempt
SET lease = ?4, lease_end = ?5, counted = ?6, unfinished = ?7, status = ?8,
    handed_over = ?9, ended_at = ?10, error = ?11
WHERE job = CAST(?1 AS INTEGER) AND slot = CAST(?2 AS INTEGER) AND attempt = CAST(?3 AS INTEGER)
