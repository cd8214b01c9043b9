INSERT INTO anarchon_job (namespace, name, newest, last_token, history, ended, fingerprint)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
