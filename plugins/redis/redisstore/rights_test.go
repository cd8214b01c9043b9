package redisstore

import (
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// rightsNeeded are the names of the commands that a user of the strategy must be
// allowed, besides INFO.
func rightsNeeded(strategy string) []string {
	names := map[string]bool{}
	for _, line := range slices.Concat(rightsOfAll, rightsOf[strategy]) {
		name, _, _ := strings.Cut(line, " ")
		names[name] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// The rights that are looked for are those of the commands that the scripts run:
// none is missing, none is too much.
func TestRightsAreThoseOfTheScripts(t *testing.T) {
	command := regexp.MustCompile(`redis\.p?call\('([A-Z]+)'`)
	for _, name := range strategies {
		b := &Backend{clock: luaPart("clock")}
		b.settings.strategy, b.keys = name, newKeyspace("n")
		b.makeScripts()
		s := b.strategy
		runs := map[string]bool{"eval": true, "evalsha": true}
		for _, script := range []*script{b.scripts.setup, b.scripts.rights, b.scripts.open, s.claim, s.heartbeat, s.finish, s.history, s.unfinished} {
			if script == nil || script == b.scripts.open && s.kind != store.KindLease {
				continue
			}
			for _, m := range command.FindAllStringSubmatch(script.text, -1) {
				runs[strings.ToLower(m[1])] = true
			}
		}
		if got, want := rightsNeeded(name), slices.Sorted(maps.Keys(runs)); !slices.Equal(got, want) {
			t.Errorf("strategy %s asks for the rights\n%v, and its scripts run\n%v", name, got, want)
		}
	}
}

// A right that is missing is named, whichever it is.
func TestMissingRights(t *testing.T) {
	p := startServer(t)
	c := driver(t, p.url())
	ctx := t.Context()
	for _, strategy := range strategies {
		needed := append(rightsNeeded(strategy), "info")
		o := options{"addrs": p.addr(), "username": "app", "password": testSecret, "strategy": strategy, "namespace": strategy}
		acl := func(without string) {
			t.Helper()
			rules := []string{"reset", "on", ">" + testSecret, "~" + string(newKeyspace(strategy)) + "*"}
			for _, name := range needed {
				if name != without {
					rules = append(rules, "+"+name)
				}
			}
			if err := c.ACLSetUser(ctx, "app", rules...).Err(); err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range needed {
			acl(name)
			_, _, err := configure(t, o)
			if !errors.Is(err, store.ErrNotApplied) || !strings.Contains(strings.ToLower(err.Error()), name) {
				t.Errorf("%s without the right to %s: %v; want an error that names it", strategy, name, err)
			}
		}
		// No more than these is needed, for any verb.
		acl("")
		b := open(t, o)
		q := claimNow("j")
		a := mustClaim(t, b, q, store.VerdictWon)
		if strategy == strategyLease {
			if h, err := b.Heartbeat(ctx, store.HeartbeatRequest{Job: "j", Slot: q.Slot, Token: a.Token, Lease: time.Second}); err != nil || !h.Renewed {
				t.Errorf("heartbeat: %+v, %v", h, err)
			}
			if u, err := b.Unfinished(ctx, store.UnfinishedRequest{}); err != nil || len(u.Runs) != 1 {
				t.Errorf("unfinished: %+v, %v", u, err)
			}
		}
		mustFinish(t, b, finishOf(q, a, store.OutcomeSuccess), true)
		q.ID, q.HistorySize = store.NewClaimID(), 1
		mustClaim(t, b, q, store.VerdictFinished)
		for range 3 { // the history is trimmed
			q.Slot, q.ID = q.Slot+1, store.NewClaimID()
			mustFinish(t, b, finishOf(q, mustClaim(t, b, q, store.VerdictWon), store.OutcomeSuccess), true)
		}
		if h := history(t, b, "j"); len(h) != 1 {
			t.Errorf("%s: the history has %d runs; want 1", strategy, len(h))
		}
		// Keys of another namespace.
		mustRefuse(t, o.with(options{"namespace": "elsewhere"}), store.ErrNotApplied, "app")
	}
}
