package postgresstore

import (
	"fmt"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/conformance/containers"
	"github.com/anarchon-go/anarchon/core/store"
)

// TestPgBouncer goes through PgBouncer, which gives each transaction another
// server connection.
func TestPgBouncer(t *testing.T) {
	c := privateServer(t, "postgres-18")
	ip, err := c.IP(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	pooler, err := containers.Start(t.Context(), containers.Spec{
		Image: "pgbouncer", Port: 6432, Env: map[string]string{"SERVER_HOST": ip, "POSTGRES_PASSWORD": testPassword},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pooler.Remove(); err != nil {
			t.Error(err)
		}
	})
	if err := awaitServer(t.Context(), serverURL(pooler)); err != nil {
		t.Fatal(err)
	}
	through := func(t *testing.T, database, query string) (direct, pooled settings) {
		direct = settingsOn(t, serverURL(c)).withURL(t, func(u *url.URL) { u.Path = database })
		return direct, direct.withURL(t, func(u *url.URL) { u.Host, u.RawQuery = pooler.Addr(), query })
	}
	admin := newAdmin(t, settings{url: serverURL(c), schema: "public"})
	admin.exec("CREATE DATABASE strict")
	admin.exec("ALTER DATABASE strict SET default_transaction_isolation = 'serializable'")

	for name, where := range map[string]struct{ database, query string }{
		"prepared statements":    {"/postgres", ""},
		"no prepared statements": {"/postgres", "default_query_exec_mode=exec"},
		"serializable":           {"/strict", ""},
		"serializable, exec":     {"/strict", "default_query_exec_mode=exec"},
	} {
		t.Run(name, func(t *testing.T) {
			direct, pooled := through(t, where.database, where.query)
			b := open(t, pooled)
			if got := setting(b.about, "connection"); got != "through a pooler, no TLS" {
				t.Errorf("connection: %q", got)
			}
			daily(t, b, open(t, direct))
			checkTables(newAdmin(t, direct))
			oneWinner(t, newAdmin(t, direct), func() *Backend { return open(t, pooled) }, 20)
		})
	}
	t.Run("model", func(t *testing.T) {
		direct, pooled := through(t, "/postgres", "")
		pooled.schema = direct.schema
		if err := compare(t, pooled, 4711, 200, 0, map[string]int{}); err != nil {
			t.Error(err)
		}
	})
	t.Run("set-up at once", func(t *testing.T) {
		_, pooled := through(t, "/postgres", "")
		var wait sync.WaitGroup
		for i := range 10 {
			wait.Go(func() {
				mustClaim(t, open(t, pooled), claimOf(fmt.Sprint("j", i), time.Now().UnixMilli()), store.VerdictWon)
			})
		}
		wait.Wait()
	})
}

// TestServersClock: where the server's clock and this machine's differ, the
// server's decides.
func TestServersClock(t *testing.T) {
	b := open(t, settingsOn(t, serverURL(privateServer(t, "postgres-18-skewed"))))
	host := time.Now().UnixMilli()
	ahead := time.Hour
	late := mustClaim(t, b, claimOf("j", host), store.VerdictLate)
	const margin = time.Minute
	if off := late.By - ahead; off.Abs() > margin {
		t.Errorf("late by %v; want about %v", late.By, ahead)
	}
	q := claimOf("j", host+ms(ahead))
	q.MaxEarly, q.MaxLate = margin, margin
	won := mustClaim(t, b, q, store.VerdictWon)
	if d := time.Duration(won.Now-host)*time.Millisecond - ahead; d.Abs() > margin || int64(won.Token) < won.Now {
		t.Errorf("won at %d with token %d; the server's clock shows about %d", won.Now, won.Token, q.Slot)
	}
	q.Slot, q.ID, q.MaxEarly = q.Slot+ms(10*time.Minute), store.NewClaimID(), 10*time.Second
	mustClaim(t, b, q, store.VerdictEarly)
	u, err := b.Unfinished(t.Context(), store.UnfinishedRequest{})
	if err != nil || len(u.Runs) != 1 || u.Runs[0].Left <= 0 || u.Now < won.Now {
		t.Errorf("unfinished: %+v, %v", u, err)
	}
}
