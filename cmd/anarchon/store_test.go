package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/anarchon-go/anarchon/conformance/containers"
	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/plugins/postgres/postgresstore"
	"github.com/anarchon-go/anarchon/storekit"
)

const testSecret = "s3cret/?"

// setup runs "anarchon store setup" and returns what it prints.
func setup(t *testing.T, args ...string) (string, error) {
	t.Helper()
	cmd := storeCommand()
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetArgs(longFlags(append([]string{"setup"}, args...)))
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func TestStoreSetupPrints(t *testing.T) {
	out, err := setup(t, "postgres", "-config", "schema=jobs", "-role", "billing")
	if err != nil {
		t.Fatal(err)
	}
	want, err := postgresstore.SetupSQL("jobs", "billing")
	if err != nil || out != want {
		t.Errorf("it prints\n%s\nwant\n%s%v", out, want, err)
	}
	out, err = setup(t, "postgres", "-print")
	if err != nil || !strings.Contains(out, `CREATE SCHEMA IF NOT EXISTS "anarchon"`) || !strings.Contains(out, "-- GRANT SELECT ON") {
		t.Errorf("without options: %v\n%s", err, out)
	}
}

func TestStoreSetupBadInput(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no plugin":      {nil, "name one plugin"},
		"another plugin": {[]string{"redis"}, "redis has nothing to set up"},
		"no such plugin": {[]string{"postgress"}, `knows no plugin "postgress"`},
		"both":           {[]string{"postgres", "-run", "-print"}, "exclude each other"},
		"no pair":        {[]string{"postgres", "-config", "schema"}, "not key=value"},
		"no such option": {[]string{"postgres", "-config", "shema=x"}, `did you mean "schema"`},
		"no such file":   {[]string{"postgres", "-config", "url=@/no/such/file"}, "/no/such/file"},
		"bad schema":     {[]string{"postgres", "-config", "schema=a b"}, "schema"},
		"bad role":       {[]string{"postgres", "-role", strings.Repeat("r", 64)}, "role"},
		"bad role, run":  {[]string{"postgres", "-run", "-role", strings.Repeat("r", 64)}, "1 to 63 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := setup(t, c.args...)
			if err == nil || !strings.Contains(err.Error(), c.want) || out != "" {
				t.Errorf("got %v and %q; want an error with %q", err, out, c.want)
			}
		})
	}
}

// database is a PostgreSQL server with a role that owns schemas, and one that has
// no right at all.
type database struct {
	t    *testing.T
	c    *containers.Container
	root string
}

func newDatabase(t *testing.T) *database {
	t.Helper()
	c, err := containers.Start(t.Context(), containers.Spec{
		Image: "postgres-18", Env: map[string]string{"POSTGRES_PASSWORD": testSecret}, Port: 5432,
		Command: []string{"postgres"}, Ready: "database system is ready to accept",
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Remove(); err != nil {
			t.Error(err)
		}
	})
	d := &database{t: t, c: c}
	d.root = d.url("postgres")
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) { // the port is open before
		conn, err := pgx.Connect(t.Context(), d.root)
		if err == nil {
			_ = conn.Close(t.Context())
			break
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
	d.exec("CREATE ROLE owner LOGIN PASSWORD '" + testSecret + "'; GRANT CREATE ON DATABASE postgres TO owner")
	d.exec("CREATE ROLE app LOGIN PASSWORD '" + testSecret + "'")
	// As careful administrators do: nothing is everybody's.
	d.exec("ALTER DEFAULT PRIVILEGES FOR ROLE owner REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC")
	return d
}

func (d *database) url(role string) string {
	u := url.URL{Scheme: "postgres", User: url.UserPassword(role, testSecret), Host: d.c.Addr(), Path: "/postgres"}
	return u.String()
}

func (d *database) exec(sql string) {
	d.t.Helper()
	conn, err := pgx.Connect(d.t.Context(), d.root)
	if err != nil {
		d.t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.PgConn().Exec(d.t.Context(), sql).ReadAll(); err != nil {
		d.t.Fatalf("%s: %v", sql, err)
	}
}

// use starts the plugin by the role, and runs a job's day.
func (d *database) use(role, schema string) error {
	d.t.Helper()
	cfg, err := storekit.ReadConfig(postgresstore.Info().Options, map[string]any{"url": d.url(role), "schema": schema})
	if err != nil {
		d.t.Fatal(err)
	}
	b := postgresstore.New(storekit.Env{Logger: slog.New(slog.DiscardHandler)})
	if err := b.Configure(d.t.Context(), cfg); err != nil {
		return err
	}
	defer b.Close(context.Background())
	now := time.Now().UnixMilli()
	won, err := b.Claim(d.t.Context(), store.ClaimRequest{
		Job: "j", Slot: now, ID: store.NewClaimID(), Instance: "a", Reason: store.ReasonScheduled, Lease: time.Minute,
		MaxEarly: time.Minute, MaxLate: time.Minute, Overlap: store.OverlapSkip, MaxAttempts: 3, HistorySize: 1,
	})
	if err != nil || won.Verdict != store.VerdictWon {
		return fmt.Errorf("claim: %+v, %w", won, err)
	}
	beat, err1 := b.Heartbeat(d.t.Context(), store.HeartbeatRequest{Job: "j", Slot: now, Token: won.Token, Lease: time.Minute})
	end, err2 := b.Finish(d.t.Context(), store.FinishRequest{Job: "j", Slot: now, Token: won.Token, Outcome: store.OutcomeSuccess})
	if err := errors.Join(err1, err2); err != nil || !beat.Renewed || !end.Recorded {
		return fmt.Errorf("renewed %v, recorded %v: %w", beat.Renewed, end.Recorded, err)
	}
	return nil
}

// mustNotOwn checks that the role can change nothing but rows.
func (d *database) mustNotOwn(role, schema string) {
	d.t.Helper()
	conn, err := pgx.Connect(d.t.Context(), d.url(role))
	if err != nil {
		d.t.Fatal(err)
	}
	defer conn.Close(context.Background())
	for _, sql := range []string{
		"CREATE TABLE " + schema + ".mine (id int)", "DROP TABLE " + schema + ".attempt", "TRUNCATE " + schema + ".attempt",
		"DELETE FROM " + schema + ".job", "UPDATE " + schema + ".meta SET value = '9'", "CREATE SCHEMA mine",
	} {
		if _, err := conn.Exec(d.t.Context(), sql); err == nil || !strings.Contains(err.Error(), "42501") {
			d.t.Errorf("role %s may %s: %v", role, sql, err)
		}
	}
}

// TestStoreSetup: an owner sets a schema up by the script or by -run; after that
// a role without any right to make it can work, and was told what to do before.
func TestStoreSetup(t *testing.T) {
	d := newDatabase(t)
	password := filepath.Join(t.TempDir(), "url")
	if err := os.WriteFile(password, []byte(d.url("owner")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ways := map[string]func(schema string) (string, error){
		"printed": func(schema string) (string, error) {
			script, err := setup(t, "postgres", "-config", "schema="+schema, "-role", "app")
			if err != nil {
				return "", err
			}
			return d.c.Exec(t.Context(), "sh", "-c",
				fmt.Sprintf("PGPASSWORD='%s' psql -v ON_ERROR_STOP=1 -h 127.0.0.1 -U owner postgres <<'EOF'\n%s\nEOF", testSecret, script))
		},
		"run": func(schema string) (string, error) {
			return setup(t, "postgres", "-run", "-config", "url=@"+password, "-config", "schema="+schema, "-role", "app")
		},
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			d := &database{t, d.c, d.root}
			schema := "by_" + name
			if err := d.use("app", schema); err == nil || !strings.Contains(err.Error(), "anarchon store setup postgres") || !strings.Contains(err.Error(), "GRANT CREATE ON DATABASE") {
				t.Errorf("before: %v; want the command and the right named", err)
			}
			out, err := way(schema)
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if err := d.use("app", schema); err != nil {
				t.Error(err)
			}
			d.mustNotOwn("app", schema)
		})
	}
	t.Run("again", func(t *testing.T) {
		out, err := setup(t, "postgres", "-run", "-config", "url=@"+password, "-config", "schema=by_run")
		if err != nil || !strings.Contains(out, `"by_run" is set up`) || !strings.Contains(out, `GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA "by_run" TO "NAME"`) {
			t.Errorf("%v\n%s", err, out)
		}
	})
	t.Run("refused", func(t *testing.T) {
		// A schema each: the owner's is made before its role is found to be unknown.
		for name, c := range map[string]struct{ url, schema, role, want string }{
			"no right":     {d.url("app"), "new_a", "app", "GRANT CREATE ON DATABASE"},
			"no such role": {d.url("owner"), "new_b", "nobody", "create it first"},
			"no password":  {strings.Replace(d.url("owner"), url.QueryEscape(testSecret), "s3cret-wrong", 1), "new_c", "app", "check user and password"},
		} {
			begin := time.Now()
			_, err := setup(t, "postgres", "-run", "-config", "url="+c.url, "-config", "schema="+c.schema, "-role", c.role)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("%s: %v; want an error with %q and no secret", name, err, c.want)
			}
			if took := time.Since(begin); took > 5*time.Second {
				t.Errorf("%s: took %v", name, took)
			}
		}
	})
}
