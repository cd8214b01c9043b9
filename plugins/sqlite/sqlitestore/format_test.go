//go:build cgo

package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// tryOpen opens and, if that works, closes.
func tryOpen(t testing.TB, set settings, change ...func(*Backend)) error {
	t.Helper()
	b := newBackend(testEnv(t))
	for _, f := range change {
		f(b)
	}
	err := b.open(t.Context(), set)
	if err == nil {
		err = b.Close(context.Background())
	}
	return err
}

// contents are the files of a directory. Of -shm only that it is there: it is
// the memory that the processes share, and every reader signs in.
func contents(t testing.TB, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(e.Name(), "-shm") {
			b = nil
		}
		files[e.Name()] = string(b)
	}
	return files
}

// TestNewerFormat: a newer format is refused by name, and not a byte changes,
// whether the file is at rest or in use.
func TestNewerFormat(t *testing.T) {
	set := testSettings(t)
	if err := tryOpen(t, set); err != nil {
		t.Fatal(err)
	}
	db := raw(t, set.path)
	mustExec(t, db, "UPDATE anarchon_meta SET value = '2'")
	refused := func(t *testing.T) {
		before := contents(t, filepath.Dir(set.path))
		err := tryOpen(t, set)
		if !errors.Is(err, store.ErrStoreFormat) || !strings.Contains(err.Error(), "format 2") || !strings.Contains(err.Error(), "1 to 1") {
			t.Errorf("got %v; want ErrStoreFormat that names formats 2 and 1", err)
		}
		if after := contents(t, filepath.Dir(set.path)); !reflect.DeepEqual(before, after) {
			t.Errorf("files changed: %v, now %v", sizes(before), sizes(after))
		}
	}
	t.Run("in use", refused)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	t.Run("at rest", refused)

	// A file of the service that was never ours, in the old journal mode, with
	// only the table that says so.
	set = testSettings(t)
	db = raw(t, set.path)
	mustExec(t, db, "CREATE TABLE anarchon_meta (key TEXT, value TEXT)")
	mustExec(t, db, "INSERT INTO anarchon_meta VALUES ('format', '2')")
	t.Run("not in write-ahead mode", refused)
}

func sizes(files map[string]string) map[string]int {
	n := map[string]int{}
	for name, content := range files {
		n[name] = len(content)
	}
	return n
}

// TestDamagedFormat: what no version writes is refused, with a remedy.
func TestDamagedFormat(t *testing.T) {
	tests := map[string]struct{ sql, want string }{
		"no row":        {"DELETE FROM anarchon_meta", "records no format"},
		"no number":     {"UPDATE anarchon_meta SET value = 'one'", `format "one"`},
		"zero":          {"UPDATE anarchon_meta SET value = '0'", `format "0"`},
		"no meta table": {"DROP TABLE anarchon_meta", "in the way"},
		"no job table":  {"DROP TABLE anarchon_job", "not those of format 1"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			set := testSettings(t)
			if err := tryOpen(t, set); err != nil {
				t.Fatal(err)
			}
			db := raw(t, set.path)
			mustExec(t, db, test.sql)
			err := tryOpen(t, set)
			if !errors.Is(err, store.ErrNotApplied) || errors.Is(err, store.ErrStoreFormat) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v; want an error with %q", err, test.want)
			}
		})
	}
}

// TestServicesOwnFile: the tables lie beside those of the service, and nothing
// of the service's is touched but the journal mode.
func TestServicesOwnFile(t *testing.T) {
	for _, encoding := range []string{"UTF-8", "UTF-16"} {
		t.Run(encoding, func(t *testing.T) {
			set := testSettings(t)
			db := raw(t, set.path)
			mustExec(t, db, fmt.Sprintf("PRAGMA encoding = '%s'", encoding))
			mustExec(t, db, "PRAGMA user_version = 42; PRAGMA application_id = 7")
			mustExec(t, db, "CREATE TABLE orders (id INTEGER PRIMARY KEY, note TEXT)")
			mustExec(t, db, "INSERT INTO orders (note) VALUES ('keep')")
			b := open(t, set)
			name := "\ufeffjob\x00😀"
			q := claimOf(name, time.Now().UnixMilli())
			mustClaim(t, b, q, store.VerdictWon)
			u, err := b.Unfinished(t.Context(), store.UnfinishedRequest{Jobs: []string{name}})
			if err != nil || len(u.Runs) != 1 || u.Runs[0].Job != name {
				t.Errorf("unfinished: %+v, %v", u, err)
			}
			if v := query[int](t, db, "PRAGMA user_version"); v != 42 {
				t.Errorf("user_version is %d", v)
			}
			if v := query[int](t, db, "PRAGMA application_id"); v != 7 {
				t.Errorf("application_id is %d", v)
			}
			if v := query[string](t, db, "SELECT note FROM orders"); v != "keep" {
				t.Errorf("orders hold %q", v)
			}
		})
	}
}

// TestUnknownFieldsAreKept: a later version may add columns, tables and rows of
// meta; every verb of this one leaves them as they are.
func TestUnknownFieldsAreKept(t *testing.T) {
	set := testSettings(t)
	c := newClock(t, set.path, noon)
	b := open(t, set, c.use)
	db := c.db
	first := mustClaim(t, b, claimOf("j", noon), store.VerdictWon)

	mustExec(t, db, "ALTER TABLE anarchon_job ADD COLUMN later TEXT NOT NULL DEFAULT 'd'")
	mustExec(t, db, "ALTER TABLE anarchon_attempt ADD COLUMN later TEXT")
	mustExec(t, db, "UPDATE anarchon_job SET later = 'job'")
	mustExec(t, db, "UPDATE anarchon_attempt SET later = 'attempt ' || attempt")
	mustExec(t, db, "INSERT INTO anarchon_meta VALUES ('later', 'row')")
	mustExec(t, db, "CREATE TABLE anarchon_later (x)")
	mustExec(t, db, "INSERT INTO anarchon_later VALUES ('table')")

	check := func(b *Backend, after string) {
		t.Helper()
		got := []string{
			query[string](t, db, "SELECT later FROM anarchon_job"),
			query[string](t, db, "SELECT later FROM anarchon_attempt WHERE attempt = 1"),
			query[string](t, db, "SELECT value FROM anarchon_meta WHERE key = 'later'"),
			query[string](t, db, "SELECT x FROM anarchon_later"),
		}
		if want := []string{"job", "attempt 1", "row", "table"}; !reflect.DeepEqual(got, want) {
			t.Errorf("after %s: %q; want %q", after, got, want)
		}
	}
	verbs := func(b *Backend, token store.Token, number int) {
		t.Helper()
		ctx := t.Context()
		if a, err := b.Heartbeat(ctx, store.HeartbeatRequest{Job: "j", Slot: noon, Token: token, Lease: time.Minute}); err != nil || !a.Renewed {
			t.Fatal(a, err)
		}
		check(b, "heartbeat")
		mustFinish(t, b, store.FinishRequest{Job: "j", Slot: noon, Token: token, Outcome: store.OutcomeReleased}, true)
		check(b, "release")
		q := claimOf("j", noon)
		q.After = number
		a := mustClaim(t, b, q, store.VerdictWon)
		check(b, "takeover")
		if _, err := b.Unfinished(ctx, store.UnfinishedRequest{}); err != nil {
			t.Fatal(err)
		}
		if n := len(history(t, b, "j")); n != number+1 {
			t.Fatalf("%d attempts", n)
		}
		mustFinish(t, b, store.FinishRequest{Job: "j", Slot: noon, Token: a.Token, Outcome: store.OutcomeReleased}, true)
		check(b, "recalls")
	}
	verbs(b, first.Token, 1) // a version that was running when the fields came
	second := open(t, set, c.use)
	q := claimOf("j", noon)
	q.After = 2
	a := mustClaim(t, second, q, store.VerdictWon)
	verbs(second, a.Token, 3) // and one that starts with them
	q.After = 4
	a = mustClaim(t, b, q, store.VerdictWon)
	mustFinish(t, b, store.FinishRequest{Job: "j", Slot: noon, Token: a.Token, Outcome: store.OutcomeSuccess}, true)
	check(b, "finish")
}
