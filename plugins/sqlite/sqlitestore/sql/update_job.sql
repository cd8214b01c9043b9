-- Names its columns: what a later version added stays.
UPDATE anarchon_job
SET newest = ?2, last_token = ?3, history = ?4, ended = ?5, fingerprint = ?6
WHERE id = CAST(?1 AS INTEGER)
