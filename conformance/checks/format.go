package checks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/anarchon-go/anarchon/conformance/kit"
	"github.com/anarchon-go/anarchon/core/store"
)

// format: what another version left in the store, and how the store comes to be.
func format() []kit.Check {
	return []kit.Check{{
		ID:       "format/set-up-at-once",
		Promises: []string{"R-FORMAT-3", "R-CLAIM-1"},
		Says:     "five processes set up one and the same new store at the same moment, three times: all of them start, and of their claims of one run one is granted",
		Causes:   "the set-up in several steps, of which two processes each do a half; an error for what is there already",
		Needs:    kit.NeedFresh,
		Do:       setUpAtOnce,
	}, {
		ID:       "format/newer",
		Promises: []string{"R-FORMAT-1"},
		Says:     "a store is made to say that it has the next format: opening it fails with the error for that, which names both formats, and leaves every byte as it was",
		Causes:   "the format is not looked at; it is looked at after the set-up",
		Needs:    kit.NeedFresh | kit.NeedTamper,
		Do:       newerFormat,
	}, {
		ID:       "format/unknown-kept",
		Promises: []string{"R-FORMAT-2"},
		Says:     "fields that no version knows are put into everything that a store holds; every verb still works on old and new runs, and afterwards the fields are there as they were",
		Causes:   "records that are read, changed and written whole; SELECT *; a decoder that refuses what it does not know",
		Needs:    kit.NeedFresh | kit.NeedTamper,
		Do:       unknownKept,
	}, {
		ID:       "format/damaged",
		Promises: []string{"R-FORMAT-4", "R-ERROR-3", "R-CLAIM-4"},
		Says:     "everything that the store knows of runs is made what no plugin writes: half a record, a text for a number, a key of another type; no verb hangs, panics or calls it invalid, a run that was granted or ended is not granted to another, its holder is not told that it is lost, and a run of another job is granted or refused with an error",
		Causes:   "a record that can't be read and is taken for none; a number that can't be read and is taken for 0; a panic of a decoder",
		Needs:    kit.NeedFresh | kit.NeedTamper | kit.NeedDamage,
		Do:       damaged,
	}}
}

func setUpAtOnce(r *kit.Run) {
	for _, name := range []string{"one", "two", "three"} {
		const n = 5
		clients := make([]*kit.Client, n)
		r.Parallel(n, func(i int) { clients[i] = r.OpenFresh(name) })
		job := r.Job(name)
		won := make([]bool, n)
		reqs := make([]store.ClaimRequest, n)
		r.Parallel(n, func(i int) {
			reqs[i] = r.Ask(job, 0, "a")
			a := clients[i].Claim(reqs[i])
			clients[i].Want(reqs[i], a, store.VerdictWon, takenAs(r))
			won[i] = a.Verdict == store.VerdictWon
		})
		if count := len(slices.DeleteFunc(won, func(w bool) bool { return !w })); count != 1 {
			r.Fatalf("five processes set a store up at once and then claimed one run: %d claims were granted; want 1", count)
		}
	}
}

func newerFormat(r *kit.Run) {
	c := r.OpenFresh("store")
	g := c.Win(r.Ask(r.Job("j"), 0, "a"))
	c.Record(g, store.OutcomeSuccess, "")
	c.Win(r.Ask(r.Job("j"), 1, "a"))
	r.Close(c)
	r.Tamper("store", kit.Newer)
	before := r.Tamper("store", kit.Dump)
	if len(before) < 2 {
		r.Inconclusive("the dump of a store with two runs has %d lines", len(before))
	}
	mine := r.Description().Format
	for range 2 {
		_, err := r.TryOpenFresh("store")
		switch {
		case err == nil:
			r.Fatalf("a store of the next format was opened")
		case !errors.Is(err, store.ErrStoreFormat):
			r.Fatalf("opening a store of the next format: want the error %q, got: %v", store.ErrStoreFormat, err)
		case !strings.Contains(err.Error(), fmt.Sprint(mine)) || !strings.Contains(err.Error(), fmt.Sprint(mine+1)):
			r.Fatalf("the error must name the store's format %d, and %d which the plugin knows: %v", mine+1, mine, err)
		}
	}
	if after := r.Tamper("store", kit.Dump); !slices.Equal(before, after) {
		r.Fatalf("a plugin refused a store of the next format, and changed it\n  %s", difference(before, after))
	}
}

// difference is a line that one list has and the other has not.
func difference(before, after []string) string {
	for _, l := range before {
		if !slices.Contains(after, l) {
			return "gone:  " + l
		}
	}
	for _, l := range after {
		if !slices.Contains(before, l) {
			return "new:   " + l
		}
	}
	return "in another order"
}

func unknownKept(r *kit.Run) {
	c := r.OpenFresh("store")
	old, open := r.Job("old"), r.Job("open")
	c.Record(c.Win(r.Ask(old, 0, "a")), store.OutcomeSuccess, "")
	held := c.Win(r.Ask(open, 0, "a"))
	r.Close(c)
	fields := r.Tamper("store", kit.Unknown)
	if len(fields) == 0 {
		r.Inconclusive("no unknown field was put into the store")
	}
	kept := func(when string) {
		dump := strings.Join(r.Tamper("store", kit.Dump), "\n")
		for _, f := range fields {
			if !strings.Contains(dump, f) {
				r.Fatalf("%s, what a later version had written is gone: %s", when, f)
			}
		}
	}
	kept("before anything was done")

	c = r.OpenFresh("store")
	same(r, held, c.Claim(held.Req))
	c.Refused(kit.Grant{Req: r.Ask(old, 0, "a")}.Next("b"), store.VerdictFinished)
	fresh := c.Win(r.Ask(r.Job("fresh"), 0, "a"))
	if r.Leases() {
		if u := c.Unfinished(open); len(u.Runs) != 1 || u.Runs[0].Token != held.Token {
			r.Fatalf("with unknown fields in the store, a held run is recalled as %+v", u.Runs)
		}
		c.Refused(held.Next("b"), store.VerdictRunning)
		c.Renew(held, kit.Long)
		c.Record(held, store.OutcomeReleased, "")
		next := c.Win(held.Next("b"))
		c.Renew(next, kit.Long)
		c.Record(next, store.OutcomeFailed, "on purpose")
		c.Record(c.Win(r.Ask(old, 1, "b")), store.OutcomeSuccess, "")
	} else {
		c.Record(held, store.OutcomeFailed, "on purpose")
		c.Record(c.Win(r.Ask(old, 1, "b")), store.OutcomeSuccess, "")
	}
	c.Record(fresh, store.OutcomeInterrupted, "")
	if r.Description().History {
		for job, n := range map[string]int{old: 2, r.Job("fresh"): 1} {
			if h := c.History(job); len(h) != n {
				r.Fatalf("with unknown fields in the store, a history of %d runs has %d attempts", n, len(h))
			}
		}
	}
	r.Close(c)
	kept("after every verb was used")
	r.Figure("unknown fields kept", "%d", len(fields))
}

func damaged(r *kit.Run) {
	c := r.OpenFresh("store")
	s := newStock(r, c, "on damaged records")
	r.Close(c)
	changed := r.Tamper("store", kit.Damage)
	if len(changed) == 0 {
		r.Inconclusive("nothing of what the store holds was damaged")
	}
	r.Figure("records damaged", "%d", len(changed))
	c, err := r.TryOpenFresh("store")
	if err != nil {
		if errors.Is(err, store.ErrInvalid) {
			r.Fatalf("opening a store of damaged records calls the options invalid: %v", err)
		}
		r.Close(r.OpenFresh("sound")) // it is the damage that can't be opened
		r.Figure("opening it", "%v", err)
		return
	}
	for range 2 {
		s.others(r, c)
		s.claim(r, c)
	}
	for _, g := range []kit.Grant{s.ended, s.held, s.ending} {
		if r.Leases() {
			_ = s.call(r, "a recall of unfinished runs", func(context.Context) error {
				_, err := c.TryUnfinished(g.Req.Job)
				return err
			})
		}
		if r.Description().History {
			err := s.call(r, "a history", func(context.Context) error {
				_, err := c.TryHistory(store.HistoryRequest{Job: g.Req.Job, Limit: 10})
				return err
			})
			if err != nil && g.Req.Job == s.ended.Req.Job {
				r.Figure("what the history said", "%v", err)
			}
		}
	}
}
