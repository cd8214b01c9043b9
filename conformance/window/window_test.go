package window

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anarchon-go/anarchon/conformance/jobsfile"
	"github.com/anarchon-go/anarchon/core/coretest"
	"github.com/anarchon-go/anarchon/core/model"
	"github.com/anarchon-go/anarchon/core/store"
)

// boasting is a store that declares another memory than it has.
type boasting struct {
	store.Store
	declares store.Memory
}

func (b boasting) describe(t *testing.T) store.Description {
	t.Helper()
	d, err := b.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d.Memory = b.declares
	return d
}

func claimOnly(has, declares store.Memory) boasting {
	return boasting{model.New(model.Options{ClaimOnly: &model.ClaimOnly{Memory: has}}), declares}
}

func TestCertify(t *testing.T) {
	window := func(d time.Duration) store.Memory { return store.Memory{Window: d} }
	count := func(n int) store.Memory { return store.Memory{Runs: n} }
	for name, c := range map[string]struct {
		store boasting
		lie   string // "" if it keeps what it declares
	}{
		"for ever":             {boasting{coretest.NewStore(store.KindLease), store.Memory{Forever: true}}, ""},
		"a window":             {claimOnly(window(time.Minute), window(time.Minute)), ""},
		"longer than declared": {claimOnly(window(2*time.Minute), window(time.Minute)), ""},
		"a count":              {claimOnly(count(50), count(50)), ""},
		"both":                 {claimOnly(store.Memory{Window: time.Minute, Runs: 50}, store.Memory{Window: time.Minute, Runs: 50}), ""},

		"shorter than declared": {claimOnly(window(50*time.Second), window(time.Minute)), "granted again after 54s at most; declared is 1m0s"},
		"fewer than declared":   {claimOnly(count(25), count(50)), "granted again after 25 newer runs"},
		"one too few":           {claimOnly(count(49), count(50)), "granted again after 49 newer runs"},
		"a count not told of":   {claimOnly(store.Memory{Window: time.Minute, Runs: 100}, window(time.Minute)), "granted again after 100 newer runs"},
		"a window not told of":  {claimOnly(store.Memory{Window: 2 * time.Second, Runs: 50}, count(50)), "granted again after 2.5s at most"},
		"not for ever":          {claimOnly(count(150), store.Memory{Forever: true}), "granted again after 200 newer runs"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := c.store.describe(t)
				r, err := Certify(t.Context(), Probe{Store: c.store, Prefix: "p", Claimant: "c"}, d, nil, nil)
				if err != nil {
					t.Fatal(err)
				}
				if got := strings.Join(r.Lies, "\n"); (c.lie == "") != (got == "") || !strings.Contains(got, c.lie) {
					t.Errorf("found %q; want %q", got, c.lie)
				}
				if r.OK() != (c.lie == "") || r.Scaled() {
					t.Errorf("OK %v, scaled %v", r.OK(), r.Scaled())
				}
			})
		})
	}
}

// TestBounds: what was remembered longest and forgotten first.
func TestBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := claimOnly(store.Memory{Window: 100 * time.Second, Runs: 40}, store.Memory{Window: 100 * time.Second, Runs: 40})
		d := s.describe(t)
		r, err := Certify(t.Context(), Probe{Store: s, Prefix: "p", Claimant: "c"}, d, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if b := AgeBounds(r.Ages); b.Remembered != 98 || b.Forgot != 110 {
			t.Errorf("by age %+v", b)
		}
		if b := CountBounds(r.Counts); b.Remembered != 40 || b.Forgot != 45 {
			t.Errorf("by count %+v", b)
		}
	})
}

// TestJobsAreJudgedByTheirStore: what is measured may be a smaller memory; the jobs are
// held against their own.
func TestJobsAreJudgedByTheirStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		small, real := store.Memory{Window: 6 * time.Second, Runs: 50}, store.Memory{Window: 5 * time.Minute, Runs: 50}
		short, s := claimOnly(small, small), claimOnly(real, real)
		jobs, err := jobsfile.Read(strings.NewReader("jobs:\n- {name: fits, schedule: every 5m, max-late: 1m}\n- {name: late, schedule: every 5m, max-late: 5m}\n"))
		if err != nil {
			t.Fatal(err)
		}
		r, err := Certify(t.Context(), Probe{Store: s, Prefix: "p", Claimant: "c"}, s.describe(t), &Short{Probe{Store: short, Prefix: "p", Claimant: "c"}, small}, jobs)
		if err != nil {
			t.Fatal(err)
		}
		if !r.Scaled() || len(r.Lies) > 0 || !r.Jobs[0].OK() || r.Jobs[1].OK() || r.OK() {
			t.Errorf("%+v", r)
		}
	})
}

// TestUndeclared: a store that declares nothing is refused, and one in use is noticed.
func TestUndeclared(t *testing.T) {
	s := claimOnly(store.Memory{}, store.Memory{})
	if _, err := Certify(t.Context(), Probe{Store: s, Prefix: "p", Claimant: "c"}, s.describe(t), nil, nil); err == nil {
		t.Error("no error")
	}
	p := Probe{Store: s, Prefix: "p", Claimant: "c"}
	slot := time.Now().UnixMilli()
	if _, err := p.run(t.Context(), "j", slot); err != nil {
		t.Fatal(err)
	}
	if _, err := p.run(t.Context(), "j", slot); err == nil || !strings.Contains(err.Error(), "is the namespace in use?") {
		t.Errorf("got %v", err)
	}
}

// TestCancelled: the wait for an age ends with the context.
func TestCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		s := claimOnly(store.Memory{Window: time.Hour}, store.Memory{Window: time.Hour})
		begin := time.Now()
		if _, err := Certify(ctx, Probe{Store: s, Prefix: "p", Claimant: "c"}, s.describe(t), nil, nil); err == nil || time.Since(begin) > time.Minute {
			t.Errorf("got %v after %v", err, time.Since(begin))
		}
	})
}
