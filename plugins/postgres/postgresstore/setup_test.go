package postgresstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/anarchon-go/anarchon/core/store"
)

// role is a role of the server without any rights, gone with the test.
func (a *admin) role() string {
	a.t.Helper()
	name := "r-" + strings.ToLower(store.NewClaimID().String()[:10])
	a.exec(fmt.Sprintf("CREATE ROLE %s LOGIN PASSWORD '%s'", quoteName(name), testPassword))
	cfg := a.pool.Config().ConnConfig
	a.t.Cleanup(func() {
		ctx := context.Background()
		conn, err := pgx.ConnectConfig(ctx, cfg)
		if err != nil {
			a.t.Error(err)
			return
		}
		defer conn.Close(ctx)
		if _, err := conn.Exec(ctx, fmt.Sprintf("DROP OWNED BY %[1]s CASCADE; DROP ROLE %[1]s", quoteName(name)), pgx.QueryExecModeSimpleProtocol); err != nil {
			a.t.Errorf("drop role: %v", err)
		}
	})
	return name
}

// as is the settings with another role's login.
func (s settings) as(t testing.TB, role string) settings {
	t.Helper()
	return s.withURL(t, func(u *url.URL) { u.User = url.UserPassword(role, testPassword) })
}

// TestConcurrentSetUp: ten plugins may start at once on an empty database, and
// each can work at once.
func TestConcurrentSetUp(t *testing.T) {
	for range 3 {
		set := testSettings(t)
		var wait sync.WaitGroup
		for i := range 10 {
			wait.Go(func() {
				b := open(t, set)
				mustClaim(t, b, claimOf(fmt.Sprint("j", i), time.Now().UnixMilli()), store.VerdictWon)
			})
		}
		wait.Wait()
		a := newAdmin(t, set)
		if got := get[string](a, "SELECT string_agg(key || ' ' || value, ', ' ORDER BY key) FROM meta"); got != "format 1, revision 1" {
			t.Errorf("meta holds %q", got)
		}
		if n := get[int](a, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"); n != 0 {
			t.Errorf("%d advisory locks are left", n)
		}
	}
}

// fingerprint is all that is in the schema, as far as a plugin could change it.
func (a *admin) fingerprint() string {
	a.t.Helper()
	return get[string](a, `
		SELECT concat(
			(SELECT string_agg(concat(c.relname, c.relkind, c.relfilenode, c.xmin, (SELECT string_agg(concat(t.attname, t.xmin), ',' ORDER BY attnum) FROM pg_attribute t WHERE t.attrelid = c.oid)), ';' ORDER BY c.relname)
			 FROM pg_class c WHERE c.relnamespace = n.oid),
			(SELECT string_agg(concat(p.proname, p.xmin), ';' ORDER BY p.proname, p.oid) FROM pg_proc p WHERE p.pronamespace = n.oid),
			(SELECT string_agg(concat(m.key, m.value, m.xmin), ';' ORDER BY key) FROM meta m))
		FROM pg_namespace n WHERE n.nspname = current_schema()`)
}

// TestNewerFormat: a newer format is refused by name, and nothing is touched,
// however little of it looks like ours.
func TestNewerFormat(t *testing.T) {
	refused := func(t *testing.T, set settings, a *admin) {
		t.Helper()
		before := a.fingerprint()
		err := tryOpen(t, set)
		if !errors.Is(err, store.ErrStoreFormat) || !strings.Contains(err.Error(), "format 2") || !strings.Contains(err.Error(), "1 to 1") {
			t.Errorf("got %v; want ErrStoreFormat that names formats 2 and 1", err)
		}
		if after := a.fingerprint(); after != before {
			t.Errorf("the schema was\n%s\nand is\n%s", before, after)
		}
	}
	t.Run("ours", func(t *testing.T) {
		set := testSettings(t)
		mustClaim(t, open(t, set), claimOf("j", time.Now().UnixMilli()), store.VerdictWon)
		a := newAdmin(t, set)
		a.exec("UPDATE meta SET value = '2' WHERE key = 'format'")
		refused(t, set, a)
	})
	t.Run("another layout", func(t *testing.T) {
		set := testSettings(t)
		a := newAdmin(t, set)
		a.exec("CREATE SCHEMA " + quoteName(set.schema))
		a.exec("CREATE TABLE meta (key text, value text, more text)")
		a.exec("INSERT INTO meta VALUES ('format', '2'), ('revision', '7')")
		refused(t, set, a)
	})
}

// TestDamagedSchema: what no version leaves is refused, with a remedy.
func TestDamagedSchema(t *testing.T) {
	for name, test := range map[string]struct{ sql, want string }{
		"no row":           {"DELETE FROM meta", `records format ""`},
		"no number":        {"UPDATE meta SET value = 'one' WHERE key = 'format'", `format "one"`},
		"zero":             {"UPDATE meta SET value = '0' WHERE key = 'revision'", `revision "0"`},
		"no meta table":    {"DROP TABLE meta", "in the way"},
		"another's meta":   {"DROP TABLE meta; CREATE TABLE meta (id int)", "another program's"},
		"no job table":     {"DROP TABLE job", "lacks job"},
		"no claim":         {"DO $$ BEGIN EXECUTE (SELECT 'DROP FUNCTION ' || oid::regprocedure FROM pg_proc WHERE proname = 'claim_v1' AND pronamespace = current_schema()::regnamespace); END $$", "lacks claim_v1"},
		"unlogged attempt": {"ALTER TABLE attempt SET UNLOGGED", "attempt SET LOGGED"},
	} {
		t.Run(name, func(t *testing.T) {
			set := testSettings(t)
			if err := tryOpen(t, set); err != nil {
				t.Fatal(err)
			}
			newAdmin(t, set).exec(test.sql)
			err := tryOpen(t, set)
			if err == nil || errors.Is(err, store.ErrStoreFormat) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v; want an error with %q", err, test.want)
			}
		})
	}
}

// TestDamagedRecords: the tables take nothing that no version writes, whoever writes it,
// so that no verb can take such a record for another.
func TestDamagedRecords(t *testing.T) {
	set := testSettings(t)
	b := open(t, set)
	now := time.Now().UnixMilli()
	for i, end := range []store.Outcome{0, store.OutcomeSuccess, store.OutcomeReleased} {
		job := fmt.Sprint("j", i)
		g := mustClaim(t, b, claimOf(job, now), store.VerdictWon)
		if end != 0 {
			mustFinish(t, b, store.FinishRequest{Job: job, Slot: now, Token: g.Token, Outcome: end}, true)
		}
	}
	a := newAdmin(t, set)
	all := func() []string { return get[[]string](a, "SELECT array_agg(t::text ORDER BY job) FROM attempt AS t") }
	before := all()
	for _, damage := range []string{
		"status = 'nonsense'", "overlap = ''", "claim = '\\x00'", "lease = 0", "attempt = -attempt", "max_attempts = 0", "counted = -1",
		"status = 'running', handed_over = true, unfinished = true", "status = 'running', unfinished = false",
		"status = 'failed', handed_over = false, unfinished = true",
		"status = NULL", "claim = NULL",
	} {
		for row := range before {
			_, err := a.pool.Exec(t.Context(), "UPDATE attempt SET "+damage+" WHERE job = (SELECT job FROM attempt ORDER BY job LIMIT 1 OFFSET $1)", row)
			if state := sqlState(err); state != "23514" && state != "23502" { // check, not null
				t.Errorf("%s in row %d: %v; want it refused", damage, row, err)
			}
		}
	}
	if after := all(); !reflect.DeepEqual(after, before) {
		t.Errorf("the records are %q; they were %q", after, before)
	}
}

// TestTablesInTheWay: in a schema with a table of the same name, nothing is
// made.
func TestTablesInTheWay(t *testing.T) {
	set := testSettings(t)
	a := newAdmin(t, set)
	a.exec("CREATE SCHEMA " + quoteName(set.schema))
	a.exec("CREATE TABLE attempt (id int)")
	if err := tryOpen(t, set); !errors.Is(err, store.ErrNotApplied) || !strings.Contains(err.Error(), "name another schema") {
		t.Errorf("got %v; want it refused, with a remedy", err)
	}
	if n := get[int](a, "SELECT count(*) FROM pg_class WHERE relnamespace = current_schema()::regnamespace"); n != 1 {
		t.Errorf("%d tables and indexes are there; want the one that was", n)
	}
}

// TestUnknownFieldsAreKept: a later version may add columns, tables, functions
// and rows of meta; every verb of this one leaves them as they are.
func TestUnknownFieldsAreKept(t *testing.T) {
	set := testSettings(t)
	b := open(t, set)
	a := newAdmin(t, set)
	now := time.Now().UnixMilli()
	first := mustClaim(t, b, claimOf("j", now), store.VerdictWon)
	for _, sql := range []string{
		"ALTER TABLE job ADD COLUMN later text NOT NULL DEFAULT 'd'",
		"ALTER TABLE attempt ADD COLUMN later text",
		"UPDATE job SET later = 'job'",
		"UPDATE attempt SET later = 'attempt'",
		"INSERT INTO meta VALUES ('later', 'row')",
		"UPDATE meta SET value = '9' WHERE key = 'revision'",
		"CREATE TABLE later (x) AS SELECT 'table'::text",
		"CREATE FUNCTION claim_v2() RETURNS int LANGUAGE sql AS 'SELECT 1'",
	} {
		a.exec(sql)
	}
	check := func(after string) {
		t.Helper()
		got := get[[]string](a, `SELECT ARRAY[(SELECT later FROM job), (SELECT later FROM attempt WHERE attempt = 1),
			(SELECT value FROM meta WHERE key = 'later'), (SELECT value FROM meta WHERE key = 'revision'), (SELECT x FROM later)]`)
		if want := []string{"job", "attempt", "row", "9", "table"}; !reflect.DeepEqual(got, want) {
			t.Errorf("after %s: %q; want %q", after, got, want)
		}
	}
	verbs := func(b *Backend, token store.Token, number int) {
		t.Helper()
		mustRenew(t, b, store.HeartbeatRequest{Job: "j", Slot: now, Token: token, Lease: time.Minute})
		check("heartbeat")
		mustFinish(t, b, store.FinishRequest{Job: "j", Slot: now, Token: token, Outcome: store.OutcomeReleased}, true)
		check("release")
		q := claimOf("j", now)
		q.After = number
		won := mustClaim(t, b, q, store.VerdictWon)
		check("takeover")
		if u, err := b.Unfinished(t.Context(), store.UnfinishedRequest{}); err != nil || len(u.Runs) != 1 {
			t.Fatal(u, err)
		}
		if n := len(history(t, b, "j")); n != number+1 {
			t.Fatalf("%d attempts", n)
		}
		mustFinish(t, b, store.FinishRequest{Job: "j", Slot: now, Token: won.Token, Outcome: store.OutcomeReleased}, true)
		check("recalls")
	}
	// The version that was running may meet one statement that was prepared for
	// the tables as they were: surely not applied.
	if _, err := b.Heartbeat(t.Context(), store.HeartbeatRequest{Job: "j", Slot: now, Token: first.Token, Lease: time.Minute}); err != nil && !errors.Is(err, store.ErrNotApplied) {
		t.Fatal(err)
	}
	verbs(b, first.Token, 1)
	second := open(t, set) // one that starts with them
	q := claimOf("j", now)
	q.After = 2
	won := mustClaim(t, second, q, store.VerdictWon)
	verbs(second, won.Token, 3)
	q.After = 4
	won = mustClaim(t, b, q, store.VerdictWon)
	mustFinish(t, b, store.FinishRequest{Job: "j", Slot: now, Token: won.Token, Outcome: store.OutcomeSuccess}, true)
	check("finish")
}

// overlay is one file system over another.
type overlay struct{ below, above fs.FS }

func (o overlay) Open(name string) (fs.File, error) {
	if f, err := o.above.Open(name); err == nil {
		return f, nil
	}
	return o.below.Open(name)
}

// TestNextRevision: a plugin of a later revision adds what it needs to a schema
// of this one, if its role may; this one goes on working with it, and one whose
// role may not says so.
func TestNextRevision(t *testing.T) {
	set := testSettings(t)
	a := newAdmin(t, set)
	role := a.role()
	if err := Setup(t.Context(), config(t, map[string]any{"url": set.url, "schema": set.schema}), role); err != nil {
		t.Fatal(err)
	}
	b := open(t, set)
	now := time.Now().UnixMilli()
	won := mustClaim(t, b, claimOf("j", now), store.VerdictWon)

	ours, files := revisions, sqlFiles
	defer func() { revisions, sqlFiles = ours, files }()
	revisions = append(revisions[:1:1], []string{"2/more"})
	sqlFiles = overlay{files, fstest.MapFS{"sql/2/more.sql": {Data: []byte(`
		ALTER TABLE $SCHEMA.attempt ADD COLUMN more text NOT NULL DEFAULT 'd';
		CREATE FUNCTION $SCHEMA.claim_v2() RETURNS int LANGUAGE sql AS 'SELECT 1';`)}}}
	if err := tryOpen(t, set.as(t, role)); !errors.Is(err, store.ErrNotApplied) || !strings.Contains(err.Error(), "GRANT CREATE") {
		t.Errorf("by a role that may not: %v", err)
	}
	if err := tryOpen(t, set); err != nil {
		t.Fatal(err)
	}
	revisions, sqlFiles = ours, files
	if got := get[string](a, "SELECT string_agg(key || ' ' || value, ', ' ORDER BY key) FROM meta"); got != "format 1, revision 2" {
		t.Errorf("meta holds %q", got)
	}
	mustFinish(t, b, store.FinishRequest{Job: "j", Slot: now, Token: won.Token, Outcome: store.OutcomeSuccess}, true)
	daily(t, open(t, set.as(t, role)), b)
}

// TestSetupScript: the printed script makes, in one go, a schema that a role
// without any other right can use; running it again changes nothing.
func TestSetupScript(t *testing.T) {
	set := testSettings(t)
	a := newAdmin(t, set)
	role := a.role()
	if err := tryOpen(t, set.as(t, role)); !errors.Is(err, store.ErrNotApplied) || !strings.Contains(err.Error(), "GRANT CREATE ON DATABASE") || !strings.Contains(err.Error(), "anarchon store setup") {
		t.Errorf("before the set-up, without rights: %v; want the right and the remedy named", err)
	}
	script, err := SetupSQL(set.schema, role)
	if err != nil {
		t.Fatal(err)
	}
	run := func() error {
		conn, err := a.pool.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Release()
		_, err = conn.Conn().PgConn().Exec(t.Context(), script).ReadAll()
		return err
	}
	if err := run(); err != nil {
		t.Fatal(err)
	}
	daily(t, open(t, set.as(t, role)), open(t, set))
	before := a.fingerprint()
	if err := run(); err == nil {
		t.Error("the script ran twice; want it to say that the tables are there")
	}
	if after := a.fingerprint(); after != before {
		t.Error("the second run changed something")
	}
	for _, bad := range []struct{ schema, role string }{
		{`"; DROP`, role}, {set.schema, strings.Repeat("r", 64)}, {set.schema, "a\nb"},
	} {
		if _, err := SetupSQL(bad.schema, bad.role); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%.20q: %v; want it invalid", bad, err)
		}
	}
	if silent, err := SetupSQL(set.schema, ""); err != nil || !strings.Contains(silent, "\n-- GRANT USAGE") || strings.Contains(silent, "\nGRANT") {
		t.Errorf("without a role the grants must be a comment: %v\n%s", err, silent)
	}
}

// TestSetup: the same through the function, any number of times.
func TestSetup(t *testing.T) {
	set := testSettings(t)
	a := newAdmin(t, set)
	role := a.role()
	cfg := config(t, map[string]any{"url": set.url, "schema": set.schema})
	for range 2 {
		if err := Setup(t.Context(), cfg, role); err != nil {
			t.Fatal(err)
		}
	}
	daily(t, open(t, set.as(t, role)), open(t, set))
	a.exec("UPDATE meta SET value = '2' WHERE key = 'format'")
	if err := Setup(t.Context(), cfg, role); !errors.Is(err, store.ErrStoreFormat) {
		t.Errorf("got %v; want ErrStoreFormat", err)
	}
}

// TestMissingRights: each right that a role needs is named if it lacks it.
func TestMissingRights(t *testing.T) {
	set := testSettings(t)
	a := newAdmin(t, set)
	role := a.role()
	if err := Setup(t.Context(), config(t, map[string]any{"url": set.url, "schema": set.schema}), role); err != nil {
		t.Fatal(err)
	}
	mine := set.as(t, role)
	if err := tryOpen(t, mine); err != nil {
		t.Fatal(err)
	}
	s, r := quoteName(set.schema), quoteName(role)
	for _, right := range []string{
		"USAGE ON SCHEMA " + s,
		"SELECT ON " + s + ".meta", "SELECT ON " + s + ".job", "INSERT ON " + s + ".job", "UPDATE ON " + s + ".job",
		"SELECT ON " + s + ".attempt", "INSERT ON " + s + ".attempt", "UPDATE ON " + s + ".attempt", "DELETE ON " + s + ".attempt",
	} {
		a.exec("REVOKE " + right + " FROM " + r)
		want := "GRANT " + right
		if err := tryOpen(t, mine); !errors.Is(err, store.ErrInvalid) || !strings.Contains(strings.ReplaceAll(err.Error(), `"`, ""), strings.ReplaceAll(want, `"`, "")) {
			t.Errorf("without %s: %v", right, err)
		}
		a.exec("GRANT " + right + " TO " + r)
	}
	// Where functions are not everybody's, the role has a grant of its own.
	a.exec("REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA " + s + " FROM public")
	daily(t, open(t, mine), open(t, set))
	a.exec("REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA " + s + " FROM " + r)
	if err := tryOpen(t, mine); !errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), "GRANT EXECUTE ON FUNCTION") || !strings.Contains(err.Error(), "claim_v1") {
		t.Errorf("without EXECUTE: %v", err)
	}
}
