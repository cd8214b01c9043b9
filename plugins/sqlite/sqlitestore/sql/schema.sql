-- Format 1. Names are blobs: every UTF-8 name, compared byte by byte, whatever
-- the file's encoding. Times are Unix milliseconds of the store's clock,
-- lengths milliseconds. Later versions may add columns and tables; a version
-- keeps what it does not know.

CREATE TABLE anarchon_meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- One row per job that something was granted of, kept for ever: newest is the
-- whole claim memory.
CREATE TABLE anarchon_job (
    id          INTEGER PRIMARY KEY,
    namespace   BLOB    NOT NULL,
    name        BLOB    NOT NULL,
    newest      INTEGER NOT NULL,  -- the highest slot ever granted
    last_token  INTEGER NOT NULL,  -- the last fencing token handed out
    history     INTEGER NOT NULL,  -- runs to keep, as the last claim asked
    ended       INTEGER NOT NULL,  -- ended runs that are kept
    fingerprint BLOB    NOT NULL,  -- of the schedule, as the last claim said
    UNIQUE (namespace, name)
) STRICT;

-- One row per granted attempt. A run is its last attempt's row: unfinished = 1
-- there means that the run goes on, open (status running) or handed over.
CREATE TABLE anarchon_attempt (
    job          INTEGER NOT NULL REFERENCES anarchon_job (id),
    slot         INTEGER NOT NULL,
    attempt      INTEGER NOT NULL,
    token        INTEGER NOT NULL,
    claim        BLOB    NOT NULL,  -- the claim id, 16 bytes
    instance     BLOB    NOT NULL,
    reason       TEXT    NOT NULL,
    overlap      TEXT    NOT NULL,
    lease        INTEGER NOT NULL,  -- length, as the holder asked
    lease_end    INTEGER NOT NULL,
    max_attempts INTEGER NOT NULL,  -- as the run's first claim asked
    counted      INTEGER NOT NULL,  -- attempts of the run that count, with this one
    unfinished   INTEGER NOT NULL,  -- 0 or 1
    status       TEXT    NOT NULL,
    handed_over  INTEGER NOT NULL,  -- 0 or 1
    started_at   INTEGER NOT NULL,
    ended_at     INTEGER NOT NULL,  -- 0 while running
    error        TEXT    NOT NULL,
    PRIMARY KEY (job, slot, attempt)
) STRICT, WITHOUT ROWID;

CREATE INDEX anarchon_unfinished ON anarchon_attempt (job, slot) WHERE unfinished = 1;

-- A claim id is remembered with the last attempt of an unfinished run.
CREATE INDEX anarchon_claim ON anarchon_attempt (claim) WHERE unfinished = 1;

INSERT INTO anarchon_meta (key, value) VALUES ('format', '1');
