-- Of the functions $2, those that schema $1 does not have.
SELECT n.name
FROM unnest($2::text[]) AS n (name)
WHERE NOT EXISTS (
    SELECT FROM pg_proc AS p JOIN pg_namespace AS s ON s.oid = p.pronamespace
    WHERE s.nspname = $1 AND p.proname = n.name)
