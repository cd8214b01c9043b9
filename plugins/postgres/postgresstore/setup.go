package postgresstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/storekit"
)

// revisions are the steps that made the schema what it is, by file. A later
// version appends one; it never changes or removes what an earlier version uses,
// or it raises the format.
var revisions = [][]string{
	{"1/tables", "1/begin", "1/trim", "1/claim", "1/heartbeat", "1/finish", "1/unfinished"},
}

// functionNames are the functions that this version calls.
var functionNames = []string{"begin_v1", "trim_v1", "claim_v1", "heartbeat_v1", "finish_v1", "unfinished_v1"}

const (
	// setUpLock is the advisory lock under which a database is set up: "anarchon"
	// in ASCII.
	setUpLock = 0x616e617263686f6e
	// setUpTimeout bounds a set-up, the wait for others who do it included.
	setUpTimeout = 20 * time.Second
)

// beginSetUp begins the transaction of a set-up, whatever the defaults are: it
// waits for others who set up, and its commit outlasts a crash.
var beginSetUp = fmt.Sprintf(`BEGIN ISOLATION LEVEL READ COMMITTED;
SET LOCAL idle_in_transaction_session_timeout = 0;
SET LOCAL statement_timeout = 0;
SET LOCAL lock_timeout = 0;
SET LOCAL synchronous_commit = on;
SELECT pg_advisory_xact_lock(%d);
`, int64(setUpLock))

// recorded is what the schema says about itself; the zero value is a schema
// without our tables.
type recorded struct{ format, revision int }

// setUpIfNeeded reads the format, and makes what is missing of it.
func setUpIfNeeded(ctx context.Context, conn *pgx.Conn, text texts, f *facts) error {
	if slices.Contains(f.tables, "meta") {
		if err := checkRights(ctx, conn, text, f); err != nil {
			return err
		}
		have, err := readRecorded(ctx, conn, text)
		if err != nil {
			return err
		}
		if have.revision >= len(revisions) {
			return checkWhole(ctx, conn, text, f)
		}
	}
	if err := setUp(ctx, conn, text, f); err != nil {
		return err
	}
	made, err := readFacts(ctx, conn, text)
	if err != nil {
		return err
	}
	*f = made
	return checkRights(ctx, conn, text, f) // another plugin's role may have made it
}

// setUp makes the schema, or brings it to the newest revision, in one
// transaction. Of those who come at once one does it, the others wait.
func setUp(ctx context.Context, conn *pgx.Conn, text texts, f *facts) error {
	ctx, cancel := context.WithTimeout(ctx, setUpTimeout)
	defer cancel()
	err := pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{BeginQuery: beginSetUp}, func(pgx.Tx) error {
		now, err := readFacts(ctx, conn, text)
		if err != nil {
			return err
		}
		var have recorded
		if slices.Contains(now.tables, "meta") {
			if have, err = readRecorded(ctx, conn, text); err != nil {
				return err
			}
		}
		if have.revision >= len(revisions) {
			return nil
		}
		script := text.setUp(have.revision)
		if !now.hasSchema {
			script = text.makeSchema() + script
		}
		_, err = conn.PgConn().Exec(ctx, script).ReadAll()
		return err
	})
	switch sqlState(err) {
	case "42501":
		return fmt.Errorf("%w: set-up: %w; %s", store.ErrNotApplied, err, f.needsToSetUp(text.schema))
	case "42P07", "42723", "42710":
		return fmt.Errorf("%w: set-up: schema %q records no format, but %w: tables or functions of another program, or the remains of a damaged set-up, are in the way; name another schema, or restore it from a backup", store.ErrNotApplied, text.schema, err)
	}
	return err
}

// needsToSetUp says which right a role lacks that can't make the schema.
func (f *facts) needsToSetUp(schema string) string {
	remedy := fmt.Sprintf("GRANT CREATE ON DATABASE %s TO %s", quoteName(f.database), quoteName(f.role))
	if f.hasSchema {
		remedy = fmt.Sprintf("GRANT CREATE, USAGE ON SCHEMA %s TO %s", quoteName(schema), quoteName(f.role))
	}
	return fmt.Sprintf("role %q may not set schema %q up: have it set up by its owner (anarchon store setup postgres), or %s", f.role, schema, remedy)
}

// checkWhole names the tables and functions that are missing although the
// schema says that they were made.
func checkWhole(ctx context.Context, conn *pgx.Conn, text texts, f *facts) error {
	missing := slices.DeleteFunc(slices.Clone(tableNames), func(name string) bool { return slices.Contains(f.tables, name) })
	rows, err := conn.Query(ctx, text.file("missing_functions"), text.schema, functionNames)
	if err != nil {
		return err
	}
	functions, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	if missing = append(missing, functions...); len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("schema %q lacks %s: someone removed them, or a backup was restored half; restore the schema from a backup", text.schema, strings.Join(missing, ", "))
}

// readRecorded returns what the meta table says. A newer format than this
// version's, and what is none, are errors.
func readRecorded(ctx context.Context, conn *pgx.Conn, text texts) (recorded, error) {
	values := map[string]string{}
	var key, value string
	rows, _ := conn.Query(ctx, "SELECT key, value FROM "+quoteName(text.schema)+".meta WHERE key IN ('format', 'revision')")
	_, err := pgx.ForEachRow(rows, []any{&key, &value}, func() error { values[key] = value; return nil })
	if sqlState(err) == "42703" {
		err = fmt.Errorf("table %s.meta is another program's: %w; name another schema", quoteName(text.schema), err)
	}
	if err != nil {
		return recorded{}, err
	}
	var r recorded
	for _, field := range []struct {
		key  string
		into *int
	}{{"format", &r.format}, {"revision", &r.revision}} { // in this order: of two faults always the same is named
		n, err := strconv.Atoi(values[field.key])
		if err != nil || n < 1 {
			return recorded{}, fmt.Errorf("table %s.meta records %s %.40q; it must be a number from 1: restore the schema from a backup", quoteName(text.schema), field.key, values[field.key])
		}
		*field.into = n
	}
	if r.format > Format {
		return r, fmt.Errorf("%w: schema %q has format %d, plugin postgres %s knows 1 to %d; upgrade this instance", store.ErrStoreFormat, text.schema, r.format, Version, Format)
	}
	return r, nil
}

func (t texts) makeSchema() string { return "CREATE SCHEMA " + quoteName(t.schema) + ";\n" }

// setUp is the SQL that brings a schema from a revision to the newest.
func (t texts) setUp(from int) string {
	var b strings.Builder
	for _, files := range revisions[from:] {
		for _, name := range files {
			b.WriteString(t.file(name) + "\n")
		}
	}
	fmt.Fprintf(&b, "INSERT INTO %s.meta (key, value) VALUES ('format', '%d'), ('revision', '%d')\nON CONFLICT (key) DO UPDATE SET value = excluded.value;\n",
		quoteName(t.schema), Format, len(revisions))
	return b.String()
}

// SetupSQL returns a script for psql that makes a schema from nothing, in one
// transaction, and, if role is not empty, lets that role use it; else the grants
// are a comment. Who runs it owns the schema. An error is a [store.InvalidError].
func SetupSQL(schema, role string) (string, error) {
	grants, err := GrantsSQL(schema, cmp.Or(role, "NAME"))
	if err != nil {
		return "", err
	}
	t := texts{schema, storeNow}
	script := fmt.Sprintf("-- Schema %s of anarchon's plugin postgres %s, format %d.\n\n", quoteName(schema), Version, Format) + beginSetUp +
		"CREATE SCHEMA IF NOT EXISTS " + quoteName(schema) + ";\n\n" + t.setUp(0)
	if role == "" {
		grants = "-- What a role that does not own the schema needs:\n-- " +
			strings.ReplaceAll(strings.TrimSpace(grants), "\n", "\n-- ") + "\n"
	}
	return script + "\n" + grants + "\nCOMMIT;\n", nil
}

// Setup connects as the options say and makes the schema, or brings it to this
// version's revision; if role is not empty, it lets that role use it. What is
// there already is kept; a newer format is [store.ErrStoreFormat].
func Setup(ctx context.Context, cfg storekit.Config, role string) error {
	set, err := readSettings(cfg)
	if err == nil && role != "" {
		err = checkRole(role)
	}
	if err != nil {
		return err
	}
	base, err := set.parse()
	if err != nil {
		return err
	}
	pool, err := newPool(base, set, 1, 0)
	if err != nil {
		return notApplied("start", err)
	}
	defer pool.Close()
	conn, err := connect(ctx, pool, set)
	if err != nil {
		return err
	}
	defer conn.Release()
	text := texts{set.schema, storeNow}
	if _, err = prepare(ctx, conn.Conn(), text); err == nil && role != "" {
		_, err = conn.Conn().PgConn().Exec(ctx, text.grants(role)).ReadAll()
	}
	if err != nil {
		return notApplied("set-up", err)
	}
	return nil
}
