-- Format 1. Names, instances and texts are bytea: every UTF-8 text, NUL
-- included, compared byte by byte, whatever the database's encoding and
-- collation. Times are Unix milliseconds of the store's clock, lengths
-- milliseconds. Later versions may add columns, tables and functions; a version
-- keeps what it does not know.

CREATE TABLE $SCHEMA.meta (
    key   text PRIMARY KEY,
    value text NOT NULL
);

-- One row per job that was ever asked for, kept for ever: newest is the whole
-- claim memory, and the row's lock makes a step atomic. No column that changes
-- is indexed, so that updates stay in their page.
CREATE TABLE $SCHEMA.job (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    namespace       bytea   NOT NULL,
    name            bytea   NOT NULL,
    newest          bigint,                      -- the highest slot ever granted; null: none
    last_token      bigint  NOT NULL DEFAULT 0,  -- the last fencing token handed out
    history         integer NOT NULL DEFAULT 1,  -- runs to keep, as the last claim asked
    ended           integer NOT NULL DEFAULT 0,  -- ended runs that are kept
    oldest          bigint,                      -- no ended run that is kept has an older slot
    unfinished_from bigint,                      -- no unfinished run has an older slot; null: there is none
    fingerprint     bytea   NOT NULL DEFAULT '', -- of the schedule, as the last claim said
    UNIQUE (namespace, name)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500);

-- One row per granted attempt. A run is its last attempt's row: unfinished there
-- means that the run goes on, open (status running) or handed over. A heartbeat
-- changes lease and lease_end only, which no index knows.
CREATE TABLE $SCHEMA.attempt (
    job          bigint  NOT NULL,  -- no foreign key: its check would cost as much as the insert
    slot         bigint  NOT NULL,
    token        bigint  NOT NULL,
    lease        bigint  NOT NULL,  -- length, as the holder asked
    lease_end    bigint  NOT NULL,
    started_at   bigint  NOT NULL,
    ended_at     bigint  NOT NULL,  -- 0 while running
    attempt      integer NOT NULL,
    max_attempts integer NOT NULL,  -- as the run's first claim asked
    counted      integer NOT NULL,  -- attempts of the run that count, with this one
    unfinished   boolean NOT NULL,
    handed_over  boolean NOT NULL,
    reason       text    NOT NULL,
    overlap      text    NOT NULL,
    status       text    NOT NULL,
    claim        bytea   NOT NULL,  -- the claim id, 16 bytes
    instance     bytea   NOT NULL,
    error        bytea   NOT NULL,
    PRIMARY KEY (job, slot, attempt),
    -- What no version writes, the functions need not judge.
    CONSTRAINT attempt_whole CHECK (
        attempt > 0 AND max_attempts > 0 AND counted >= 0 AND lease > 0
        AND status IN ('running', 'success', 'failed', 'interrupted')
        AND overlap IN ('skip', 'allow')
        AND octet_length(claim) = 16
        AND CASE WHEN status = 'running' THEN unfinished AND NOT handed_over ELSE handed_over OR NOT unfinished END
    )
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500);

-- Each of the two partial indexes has a condition of its own, always true, which only
-- its queries repeat. Without it the planner may take either for any unfinished run.
-- When autovacuum has looked at a moment without unfinished runs both seem empty and
-- equally cheap, the wrong one is walked from end to end, and a claim costs the more
-- the more runs are unfinished.
CREATE INDEX attempt_unfinished ON $SCHEMA.attempt (job, slot) WHERE unfinished AND job > 0;

-- A claim id is remembered with the last attempt of an unfinished run.
CREATE INDEX attempt_claim ON $SCHEMA.attempt (claim) WHERE unfinished AND octet_length(claim) > 0;
