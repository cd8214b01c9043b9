INSERT INTO anarchon_attempt (
    job, slot, attempt, token, claim, instance, reason, overlap, lease, lease_end,
    max_attempts, counted, unfinished, status, handed_over, started_at, ended_at, error)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)
