package redisstore

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/anarchon-go/anarchon/core/store"
)

// A backend that was closed, or never came up, leaves no goroutine and no
// connection behind.
func TestNothingIsLeft(t *testing.T) {
	o := fresh(t)
	c := driver(t, o["url"].(string))
	use := func() {
		b, _, err := configure(t, o)
		if err != nil {
			t.Fatal(err)
		}
		mustClaim(t, b, claimNow("j"+store.NewClaimID().String()), store.VerdictWon)
		if err := b.Close(bg); err != nil {
			t.Fatal(err)
		}
		if _, _, err := configure(t, o.with(options{"strategy": "script"})); err == nil {
			t.Fatal("another strategy starts")
		}
	}
	connections := func() int {
		t.Helper()
		text, err := c.Info(t.Context(), "clients").Result()
		if err != nil {
			t.Fatal(err)
		}
		d := decoder{words: []string{parseInfo(text)["connected_clients"]}}
		return d.count()
	}
	use() // what the driver starts once stays
	before := connections()
	ignore := goleak.IgnoreCurrent()
	for range 5 {
		use()
	}
	goleak.VerifyNone(t, ignore)
	await(t, "the connections are closed", func() bool { return connections() <= before })
}
