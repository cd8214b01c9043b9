-- The rights on the schema's objects that the role lacks, as it would be granted
-- them. None if it has all.
SELECT format('GRANT USAGE ON SCHEMA %I', s.nspname)
FROM pg_namespace AS s
WHERE s.nspname = $1 AND NOT has_schema_privilege(s.oid, 'USAGE')
UNION ALL
SELECT format('GRANT %s ON %I.%I', n.verb, s.nspname, c.relname)
FROM (VALUES ('meta', 'SELECT'),
             ('job', 'SELECT'), ('job', 'INSERT'), ('job', 'UPDATE'),
             ('attempt', 'SELECT'), ('attempt', 'INSERT'), ('attempt', 'UPDATE'), ('attempt', 'DELETE')) AS n (name, verb)
JOIN pg_namespace AS s ON s.nspname = $1
JOIN pg_class AS c ON c.relnamespace = s.oid AND c.relname = n.name
WHERE NOT has_table_privilege(c.oid, n.verb)
UNION ALL
SELECT format('GRANT EXECUTE ON FUNCTION %I.%I', s.nspname, p.proname)
FROM pg_namespace AS s
JOIN pg_proc AS p ON p.pronamespace = s.oid AND p.proname = ANY ($2)
WHERE s.nspname = $1 AND NOT has_function_privilege(p.oid, 'EXECUTE')
