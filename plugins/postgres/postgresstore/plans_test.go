package postgresstore

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// TestPlansOfAnIdleMoment: a claim looks up the unfinished runs that concern it, and
// does not walk all of them, also if the server planned when autovacuum had just seen
// that there are none. Counted by the server: entries read from the two indexes of
// unfinished runs.
func TestPlansOfAnIdleMoment(t *testing.T) {
	const jobs, size = 600, 100
	set := testSettings(t)
	a := newAdmin(t, set)
	slot := time.Now().UnixMilli()
	connected(t, set, a, func(b *Backend) {
		for from := 0; from < jobs; from += size {
			runOfAll(t, b, size, slot+int64(from), 10, func(do func()) { do() })
		}
	})
	a.exec("VACUUM ANALYZE job, attempt")
	read := func() int {
		return get[int](a, `SELECT sum(idx_tup_read)::int FROM pg_stat_user_indexes
			WHERE schemaname = $1 AND indexrelname IN ('attempt_unfinished', 'attempt_claim')`, set.schema)
	}
	before := read()

	connected(t, set, a, func(b *Backend) {
		for _, want := range []store.Verdict{store.VerdictWon, store.VerdictRunning} {
			for from := 0; from < jobs; from += size {
				qs := claims(size, slot+jobs)
				for i := range qs {
					qs[i].Job, qs[i].MaxEarly = fmt.Sprintf("plans/%d", from+i), store.MaxBound
				}
				for _, r := range b.ClaimBatch(t.Context(), qs) {
					if r.Err != nil || r.Answer.Verdict != want {
						t.Fatalf("%+v, %v; want %v", r.Answer, r.Err, want)
					}
				}
			}
		}
	})
	// Walking them would read 180 000 entries for the first claims alone.
	if n := read() - before; n > 10*jobs {
		t.Errorf("%d claims read %d entries of the indexes of unfinished runs; want at most %d", 2*jobs, n, 10*jobs)
	} else {
		t.Logf("%d entries", n)
	}
}

// connected lends a backend, and waits until its connections have ended: then the
// server knows all that they counted.
func connected(t *testing.T, set settings, a *admin, use func(*Backend)) {
	t.Helper()
	b := newBackend(testEnv(t))
	if err := b.open(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	use(b)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := b.Close(ctx); err != nil {
		t.Fatal(err)
	}
	await(t, "the end of the connections", func() bool {
		return get[int](a, `SELECT count(*)::int FROM pg_stat_activity
			WHERE application_name <> 'admin' AND query LIKE '%' || current_schema() || '%'`) == 0
	})
}
