-- What the start looks at. Always one row. It reads the catalog itself: the
-- functions that look a name up fail for a role that may not use the schema.
SELECT current_setting('server_version_num')::integer,
       current_setting('server_version'),
       pg_is_in_recovery(),
       current_setting('transaction_read_only'),
       current_setting('default_transaction_isolation'),
       current_setting('synchronous_commit'),
       current_setting('synchronous_standby_names'),
       (SELECT count(*) FROM pg_stat_replication)::integer,
       current_setting('fsync'),
       current_setting('full_page_writes'),
       current_setting('statement_timeout'),
       current_setting('lock_timeout'),
       pg_backend_pid(),
       current_user::text,
       current_database()::text,
       has_database_privilege(current_database(), 'CREATE'),
       coalesce((SELECT has_schema_privilege(s.oid, 'CREATE') FROM pg_namespace AS s WHERE s.nspname = $1), false),
       EXISTS (SELECT FROM pg_namespace AS s WHERE s.nspname = $1),
       (SELECT coalesce(array_agg(c.relname::text ORDER BY c.relname), '{}')
        FROM pg_class AS c JOIN pg_namespace AS s ON s.oid = c.relnamespace
        WHERE s.nspname = $1 AND c.relname = ANY ($2)),
       (SELECT coalesce(array_agg(c.relname::text ORDER BY c.relname), '{}')
        FROM pg_class AS c JOIN pg_namespace AS s ON s.oid = c.relnamespace
        WHERE s.nspname = $1 AND c.relname = ANY ($2) AND c.relpersistence <> 'p')
