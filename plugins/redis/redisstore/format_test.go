package redisstore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/anarchon-go/anarchon/core/store"
)

// dump is everything that a namespace holds, key by key.
func dump(t testing.TB, c *redis.Client, keys keyspace) map[string]string {
	t.Helper()
	ctx := context.Background()
	all := map[string]string{}
	names := c.Scan(ctx, 0, string(keys)+"*", 1000).Iterator()
	for names.Next(ctx) {
		content, err := c.Dump(ctx, names.Val()).Result()
		if err != nil {
			t.Fatal(err)
		}
		all[names.Val()] = content
	}
	if err := names.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// A newer format is refused, both numbers are named, and nothing is touched.
func TestNewerFormat(t *testing.T) {
	o := fresh(t)
	c := driver(t, o["url"].(string))
	b := open(t, o)
	mustClaim(t, b, claimNow("j"), store.VerdictWon)
	if err := c.HSet(t.Context(), b.keys.meta(), "format", "2", "strategy", "other", "more", "x").Err(); err != nil {
		t.Fatal(err)
	}
	before := dump(t, c, b.keys)
	mustRefuse(t, o, store.ErrStoreFormat, "format 2", "knows 1 to 1", "upgrade")
	if after := dump(t, c, b.keys); !maps.Equal(before, after) {
		t.Errorf("the store was touched: keys %q, then %q", slices.Sorted(maps.Keys(before)), slices.Sorted(maps.Keys(after)))
	}
	// Also through the wire, so that the host can tell.
	if _, err := startPlugin(t.Context(), o); err == nil || !strings.Contains(err.Error(), "format 2") {
		t.Errorf("the plugin starts on a newer format: %v", err)
	}
}

// A namespace whose key holds something else is not overwritten.
func TestForeignKeys(t *testing.T) {
	o := fresh(t)
	c := driver(t, o["url"].(string))
	meta := newKeyspace(o["namespace"].(string)).meta()
	if err := c.Set(t.Context(), meta, "mine", 0).Err(); err != nil {
		t.Fatal(err)
	}
	mustRefuse(t, o, store.ErrNotApplied, "WRONGTYPE", "another namespace")
	if v := c.Get(t.Context(), meta).Val(); v != "mine" {
		t.Errorf("the key now holds %q", v)
	}
}

// A verb that meets a key of something else changes nothing: its error says that it was
// not applied.
func TestForeignKeyChangesNothing(t *testing.T) {
	for _, strategy := range []string{strategyLease, strategyStreamID, strategyScript} {
		for i := range 3 {
			t.Run(fmt.Sprintf("%s/key %d", strategy, i+1), func(t *testing.T) {
				o := fresh(t).with(options{"strategy": strategy})
				c := driver(t, o["url"].(string))
				b := open(t, o)
				ctx := t.Context()
				q := claimNow("j")
				a := mustClaim(t, b, q, store.VerdictWon)
				next := q
				next.Slot, next.ID = q.Slot+1, store.NewClaimID()
				key := b.strategy.keys("j")[i]
				if err := c.Set(ctx, key, "mine", 0).Err(); err != nil {
					t.Fatal(err)
				}
				verbs := 0
				for verb, ask := range map[string]func() error{
					"finish": func() error { _, err := b.Finish(ctx, finishOf(q, a, store.OutcomeSuccess)); return err },
					"hand":   func() error { _, err := b.Finish(ctx, finishOf(q, a, store.OutcomeReleased)); return err },
					"claim":  func() error { _, err := b.Claim(ctx, next); return err },
					"again":  func() error { _, err := b.Claim(ctx, q); return err },
					"recall": func() error { _, err := b.Unfinished(ctx, store.UnfinishedRequest{Jobs: []string{"j"}}); return err },
					"heartbeat": func() error {
						_, err := b.Heartbeat(ctx, store.HeartbeatRequest{Job: "j", Slot: q.Slot, Token: a.Token, Lease: time.Hour})
						return err
					},
				} {
					before := dump(t, c, b.keys)
					err := ask()
					if err == nil || errors.Is(err, store.ErrUnsupported) {
						continue // it does not need the key
					}
					verbs++
					if !errors.Is(err, store.ErrNotApplied) || !strings.Contains(err.Error(), "WRONGTYPE") {
						t.Errorf("%s: %v", verb, err)
					}
					if after := dump(t, c, b.keys); !maps.Equal(before, after) {
						t.Fatalf("%s said %v, and changed the store", verb, err)
					}
				}
				if verbs == 0 {
					t.Error("no verb noticed")
				}
			})
		}
	}
}

// What a later version adds, fields of hashes and words of records, outlasts
// every verb.
func TestUnknownIsKept(t *testing.T) {
	for _, strategy := range []string{strategyLease, strategyStreamID, strategyScript} {
		t.Run(strategy, func(t *testing.T) {
			o := fresh(t).with(options{"strategy": strategy})
			c := driver(t, o["url"].(string))
			b := open(t, o)
			ctx := t.Context()
			must := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			q := claimNow("j")
			a := mustClaim(t, b, q, store.VerdictWon)
			slot := fmt.Sprint(q.Slot)

			keys := b.strategy.keys("j")
			hashes := []string{b.keys.meta(), keys[0]}
			record, field := keys[0], "runs"
			if strategy == strategyLease {
				hashes = append(hashes, keys[2])
			} else {
				hashes = append(hashes, keys[1])
				record, field = keys[1], slot
			}
			for _, key := range hashes {
				must(c.HSet(ctx, key, "later", "kept", "run-later", "kept").Err())
			}
			// At the end of the line, whatever ends the run.
			line := strings.TrimRight(c.HGet(ctx, record, field).Val(), "\n")
			end := c.HGet(ctx, record, field).Val()[len(line):]
			must(c.HSet(ctx, record, field, line+" later=words kept"+end).Err())
			must(c.HSet(ctx, keys[0], "state", c.HGet(ctx, keys[0], "state").Val()+" later=state").Err())

			open(t, o)
			mustClaim(t, b, q, store.VerdictWon)
			last := finishOf(q, a, store.OutcomeFailed)
			if strategy == strategyLease {
				_, err := b.Heartbeat(ctx, store.HeartbeatRequest{Job: "j", Slot: q.Slot, Token: a.Token, Lease: time.Hour})
				must(err)
				mustFinish(t, b, finishOf(q, a, store.OutcomeReleased), true)
				next := q
				next.ID, next.After, next.Instance = store.NewClaimID(), 1, "b"
				last = finishOf(next, mustClaim(t, b, next, store.VerdictWon), store.OutcomeFailed)
				u, err := b.Unfinished(ctx, store.UnfinishedRequest{})
				must(err)
				if len(u.Runs) != 1 || u.Runs[0].Job != "j" {
					t.Errorf("recall among unknown fields: %+v", u)
				}
			}
			last.Error = "no luck"
			mustFinish(t, b, last, true)
			newer := q
			newer.Slot, newer.ID, newer.HistorySize = q.Slot+1, store.NewClaimID(), 2
			mustClaim(t, b, newer, store.VerdictWon)
			h := history(t, b, "j")
			if want := map[bool]int{true: 3, false: 2}[strategy == strategyLease]; len(h) != want {
				t.Errorf("the history has %d attempts; want %d: %+v", len(h), want, h)
			}

			for _, key := range hashes {
				for _, f := range []string{"later", "run-later"} {
					if v := c.HGet(ctx, key, f).Val(); v != "kept" {
						t.Errorf("field %s of key %s reads %q", f, key, v)
					}
				}
			}
			if state := c.HGet(ctx, keys[0], "state").Val(); !strings.HasSuffix(state, " later=state") {
				t.Errorf("the job's state lost the words of a later version: %q", state)
			}
			kept := c.HGet(ctx, record, field).Val()
			if strategy == strategyLease {
				kept = strings.Join(c.ZRange(ctx, keys[1], 0, -1).Val(), "\n")
			}
			if !strings.Contains(kept, " later=words kept") {
				t.Errorf("the record lost the words of a later version: %q", kept)
			}
		})
	}
}

// A record that was changed by hand is an error that names it, and nothing is
// written.
func TestDamagedRecords(t *testing.T) {
	for _, strategy := range []string{strategyLease, strategyScript} {
		o := fresh(t).with(options{"strategy": strategy})
		c := driver(t, o["url"].(string))
		b := open(t, o)
		q := claimNow("j")
		a := mustClaim(t, b, q, store.VerdictWon)
		keys := b.strategy.keys("j")
		record, field := keys[0], "runs"
		if strategy != strategyLease {
			record, field = keys[1], fmt.Sprint(q.Slot)
		}
		if err := c.HSet(t.Context(), record, field, "nonsense").Err(); err != nil {
			t.Fatal(err)
		}
		before := dump(t, c, b.keys)
		for verb, err := range map[string]error{
			"claim":   second(b.Claim(t.Context(), q)),
			"finish":  second(b.Finish(t.Context(), finishOf(q, a, store.OutcomeSuccess))),
			"history": second(b.History(t.Context(), store.HistoryRequest{Job: "j", Limit: 1})),
		} {
			if !errors.Is(err, store.ErrNotApplied) {
				t.Errorf("%s: %s of a damaged record: %v; want not applied", strategy, verb, err)
				continue
			}
			wantWords(t, err.Error(), []string{record, field, "DAMAGED", "backup"})
		}
		if after := dump(t, c, b.keys); !maps.Equal(before, after) {
			t.Errorf("%s: a damaged record was changed", strategy)
		}
	}
}

func second[A any](_ A, err error) error { return err }
