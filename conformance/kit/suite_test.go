package kit_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anarchon-go/anarchon/conformance/kit"
	"github.com/anarchon-go/anarchon/core/model"
	"github.com/anarchon-go/anarchon/core/store"
)

// fake is a subject of the model whose claims are answered by a function.
type fake struct {
	open  func() error
	claim func(ctx context.Context, good store.Store, req store.ClaimRequest) (store.ClaimAnswer, error)
	close func() error
	once  sync.Once
	all   *model.Store
	count atomic.Int32
}

func (f *fake) About() kit.About { return kit.About{Plugin: "fake"} }

func (f *fake) Open(context.Context, string) (kit.Process, error) {
	f.once.Do(func() { f.all = model.New(model.Options{}) })
	f.count.Add(1)
	if f.open != nil {
		if err := f.open(); err != nil {
			return nil, err
		}
	}
	return fakeProcess{f.all, f}, nil
}

type fakeProcess struct {
	store.Store
	f *fake
}

func (p fakeProcess) Claim(ctx context.Context, req store.ClaimRequest) (store.ClaimAnswer, error) {
	if p.f.claim == nil {
		return p.Store.Claim(ctx, req)
	}
	return p.f.claim(ctx, p.Store, req)
}

func (p fakeProcess) Close(context.Context) error {
	if p.f.close != nil {
		return p.f.close()
	}
	return nil
}

// winOnce is a check that any right store passes.
var winOnce = kit.Check{
	ID: "test/win", Promises: []string{"R-CLAIM-1"}, Says: "a claim of a free run is won",
	Do: func(r *kit.Run) {
		c := r.Open(1)[0]
		g := c.Win(r.Ask(r.Job("j"), 0, "a"))
		c.Record(g, store.OutcomeSuccess, "")
		r.Figure("attempt", "%d", g.Attempt)
	},
}

// with runs one check in virtual time.
func with(t *testing.T, f *fake, c kit.Check) kit.Result {
	t.Helper()
	suite := &kit.Suite{Subject: f, Seed: 7}
	if _, err := suite.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	res := suite.Run(t.Context(), c)
	if err := suite.Close(); err != nil {
		t.Error(err)
	}
	return res
}

func want(t *testing.T, res kit.Result, o kit.Outcome, reason string) {
	t.Helper()
	if res.Outcome != o || !strings.Contains(res.Reason, reason) {
		t.Errorf("got %v, %q; want %v and a reason with %q", res.Outcome, res.Reason, o, reason)
	}
}

func TestPass(t *testing.T) {
	res := with(t, &fake{}, winOnce)
	want(t, res, kit.Pass, "")
	if len(res.Figures) != 1 || res.Figures[0] != (kit.Figure{Name: "attempt", Value: "1"}) {
		t.Errorf("figures %v", res.Figures)
	}
	if res.Seed != 7 || len(res.Calls) != 0 {
		t.Errorf("seed %d, calls %v", res.Seed, res.Calls)
	}
}

func TestFailureTellsTheCalls(t *testing.T) {
	c := winOnce
	c.Causes = "the moon"
	c.Do = func(r *kit.Run) {
		c := r.Open(2)
		g := c[0].Win(r.Ask(r.Job("j"), 0, "a"))
		c[1].Win(g.Next("b"))
	}
	res := with(t, &fake{}, c)
	want(t, res, kit.Fail, "want [won], got running")
	text := res.Text()
	for _, part := range []string{
		"rule:   R-CLAIM-1: Of all claims", "check:  a claim of a free run", "usual causes: the moon",
		`p1 claim "j"/`, "-> won attempt 1", `p2 claim "j"/`, "-> running attempt 1 of a left ", // a slow machine has used a millisecond of the 10 minutes
	} {
		if !strings.Contains(text, part) {
			t.Errorf("the text lacks %q:\n%s", part, text)
		}
	}
}

// A check that shows the calls that matter is not buried under the last ones.
func TestFailureThatShowsItsCalls(t *testing.T) {
	c := winOnce
	c.Do = func(r *kit.Run) {
		r.Open(1)[0].Win(r.Ask(r.Job("j"), 0, "a"))
		r.ShowsCalls()
		r.Fatalf("a table of calls")
	}
	res := with(t, &fake{}, c)
	want(t, res, kit.Fail, "a table of calls")
	if len(res.Calls) > 0 || strings.Contains(res.Text(), "calls:") {
		t.Errorf("the last calls are shown:\n%s", res.Text())
	}
}

// What usually makes a check fail is not what makes it fail if a verb is not there
// yet; where the kind does not need the verb, nothing is missing.
func TestVerbThatIsNotWritten(t *testing.T) {
	c := winOnce
	c.Causes = "the moon"
	res := with(t, &fake{claim: func(context.Context, store.Store, store.ClaimRequest) (store.ClaimAnswer, error) {
		return store.ClaimAnswer{}, store.ErrUnsupported
	}}, c)
	want(t, res, kit.Fail, "not supported by this backend")
	if text := res.Text(); !strings.Contains(text, "usual causes: Claim is not implemented yet: ") || strings.Contains(text, "the moon") {
		t.Errorf("the text is:\n%s", text)
	}

	claimOnly := &fake{}
	claimOnly.once.Do(func() { claimOnly.all = model.New(model.Options{ClaimOnly: &model.ClaimOnly{}}) })
	c.Do = func(r *kit.Run) {
		p := r.Open(1)[0]
		g := p.Win(r.Ask(r.Job("j"), 0, "a"))
		for verb, err := range map[string]error{
			"heartbeat": second(p.TryHeartbeat(g.Beat(kit.Long))), "released": second(p.TryFinish(g.End(store.OutcomeReleased, ""))), "unfinished": second(p.TryUnfinished()),
		} {
			if !errors.Is(err, store.ErrUnsupported) {
				r.Inconclusive("%s: want the error %q, got %v", verb, store.ErrUnsupported, err)
			}
		}
		r.Fatalf("on purpose")
	}
	res = with(t, claimOnly, c)
	want(t, res, kit.Fail, "on purpose")
	if text := res.Text(); !strings.Contains(text, "usual causes: the moon") {
		t.Errorf("the text is:\n%s", text)
	}
}

func second[A any](_ A, err error) error { return err }

// hang waits for release, whatever its context says.
func hang(release chan struct{}) func(context.Context, store.Store, store.ClaimRequest) (store.ClaimAnswer, error) {
	return func(context.Context, store.Store, store.ClaimRequest) (store.ClaimAnswer, error) {
		<-release
		return store.ClaimAnswer{}, nil
	}
}

func TestHangingCallIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		start := time.Now()
		res := with(t, &fake{claim: hang(release)}, winOnce)
		want(t, res, kit.Error, "the call has not returned")
		if took := time.Since(start); took > kit.DefaultCallLimit+5*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

func TestCallThatWaitsForItsContextIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		res := with(t, &fake{claim: func(ctx context.Context, _ store.Store, _ store.ClaimRequest) (store.ClaimAnswer, error) {
			<-ctx.Done()
			return store.ClaimAnswer{}, errors.Join(store.ErrUnknown, ctx.Err())
		}}, winOnce)
		want(t, res, kit.Error, "was not answered in 20s")
	})
}

func TestHangingOpenIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		var n atomic.Int32
		f := &fake{open: func() error {
			if n.Add(1) > 1 {
				<-release
			}
			return nil
		}}
		c := winOnce
		c.Do = func(r *kit.Run) { r.Open(3) }
		want(t, with(t, f, c), kit.Error, "opening 3 processes")
	})
}

func TestHangingCloseEndsTheRunAllTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		suite := &kit.Suite{Subject: &fake{close: func() error { <-release; return nil }}}
		if _, err := suite.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := suite.Close(); err == nil {
			t.Error("a process that did not close was closed without an error")
		}
	})
}

func TestPanicOfTheSubjectIsAnError(t *testing.T) {
	res := with(t, &fake{claim: func(context.Context, store.Store, store.ClaimRequest) (store.ClaimAnswer, error) {
		panic("subject's own")
	}}, winOnce)
	want(t, res, kit.Error, "subject's own")
}

func TestPanicOfTheCheckIsAnError(t *testing.T) {
	c := winOnce
	c.Do = func(*kit.Run) { panic("check's own") }
	want(t, with(t, &fake{}, c), kit.Error, "the check panicked: check's own")
	c.Do = func(r *kit.Run) {
		r.Parallel(3, func(i int) {
			if i == 1 {
				panic("check's own")
			}
		})
		r.Fatalf("not reached")
	}
	want(t, with(t, &fake{}, c), kit.Error, "the check panicked: check's own")
}

func TestFatalInParallelEndsTheCheck(t *testing.T) {
	c := winOnce
	c.Do = func(r *kit.Run) {
		r.Parallel(3, func(i int) {
			if i == 1 {
				r.Fatalf("seen by %d", i)
			}
		})
		panic("not reached")
	}
	want(t, with(t, &fake{}, c), kit.Fail, "seen by 1")
}

func TestCheckThatNeverEndsIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := winOnce
		c.Do = func(r *kit.Run) {
			for {
				r.Sleep(time.Second)
			}
		}
		want(t, with(t, &fake{}, c), kit.Error, "longer than its limit of 1m0s")
		release := make(chan struct{})
		defer close(release)
		c.Do = func(*kit.Run) { <-release }
		c.Limit = time.Second
		want(t, with(t, &fake{}, c), kit.Error, "the check has not returned")
	})
}

func TestWhatIsSeenAfterTheLimitProvesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := winOnce
		c.Do = func(r *kit.Run) {
			<-r.Context().Done()
			r.Fatalf("too late")
		}
		want(t, with(t, &fake{}, c), kit.Error, "too late")
		// Nor does it that nothing wrong was seen: a call that was cut off looks like a
		// refusal.
		c.Do = func(r *kit.Run) { <-r.Context().Done() }
		want(t, with(t, &fake{}, c), kit.Error, "longer than its limit")
	})
}

func TestNonsenseIsAFailure(t *testing.T) {
	for name, bend := range map[string]func(*store.ClaimAnswer){
		"no verdict":         func(a *store.ClaimAnswer) { a.Verdict = 0 },
		"unknown verdict":    func(a *store.ClaimAnswer) { a.Verdict = 99 },
		"attempt 0":          func(a *store.ClaimAnswer) { a.Attempt = 0 },
		"negative token":     func(a *store.ClaimAnswer) { a.Token = -5 },
		"negative left":      func(a *store.ClaimAnswer) { a.Left = -time.Second },
		"left for centuries": func(a *store.ClaimAnswer) { a.Left = 1 << 62 },
		"negative now":       func(a *store.ClaimAnswer) { a.Now = -1 },
		"overlap with itself": func(a *store.ClaimAnswer) {
			a.Verdict, a.Holder = store.VerdictOverlap, "x"
		},
		"superseded by nothing": func(a *store.ClaimAnswer) { a.Verdict = store.VerdictSuperseded },
		"late by nothing":       func(a *store.ClaimAnswer) { a.Verdict = store.VerdictLate },
		"finished and running":  func(a *store.ClaimAnswer) { a.Verdict, a.Status = store.VerdictFinished, store.StatusRunning },
		"held by nobody":        func(a *store.ClaimAnswer) { a.Verdict = store.VerdictRunning },
	} {
		t.Run(name, func(t *testing.T) {
			res := with(t, &fake{claim: func(ctx context.Context, good store.Store, req store.ClaimRequest) (store.ClaimAnswer, error) {
				a, err := good.Claim(ctx, req)
				if name == "overlap with itself" {
					a.Slot = req.Slot
				}
				bend(&a)
				return a, err
			}}, winOnce)
			want(t, res, kit.Fail, "that no store may give")
		})
	}
}

func TestErrorsOfTheSubject(t *testing.T) {
	always := func(err error) *fake {
		return &fake{claim: func(context.Context, store.Store, store.ClaimRequest) (store.ClaimAnswer, error) {
			return store.ClaimAnswer{}, err
		}}
	}
	synctest.Test(t, func(t *testing.T) {
		want(t, with(t, always(store.ErrInvalid), winOnce), kit.Fail, "an error where an answer is due")
		want(t, with(t, always(store.ErrUnknown), winOnce), kit.Fail, "an error where an answer is due")
		want(t, with(t, always(errors.New("oops")), winOnce), kit.Fail, "oops")
		want(t, with(t, always(store.ErrNotApplied), winOnce), kit.Fail, "surely not applied")
	})
}

// A store may say at any time that it surely did nothing.
func TestNotAppliedIsAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		res := with(t, &fake{claim: func(ctx context.Context, good store.Store, req store.ClaimRequest) (store.ClaimAnswer, error) {
			if n++; n < 4 {
				return store.ClaimAnswer{}, store.ErrNotApplied
			}
			return good.Claim(ctx, req)
		}}, winOnce)
		want(t, res, kit.Pass, "")
		if n != 4 {
			t.Errorf("asked %d times", n)
		}
	})
}

func TestSkips(t *testing.T) {
	c := winOnce
	c.Needs = kit.NeedKill
	want(t, with(t, &fake{}, c), kit.Skip, "not covered")
	c.Needs = kit.NeedHistory
	want(t, with(t, &fake{}, c), kit.Pass, "")
}

func TestProcessesOfAFailedCheckAreNotLentAgain(t *testing.T) {
	f := &fake{}
	suite := &kit.Suite{Subject: f}
	if _, err := suite.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	bad := winOnce
	bad.Do = func(r *kit.Run) { r.Open(2); r.Fatalf("bad") }
	suite.Run(t.Context(), winOnce)
	if n := f.count.Load(); n != 1 {
		t.Errorf("%d processes after a check that passed; want the first one", n)
	}
	suite.Run(t.Context(), bad)
	suite.Run(t.Context(), winOnce)
	if n := f.count.Load(); n != 3 {
		t.Errorf("%d processes were opened; want 3: one to begin with, one more for the bad check, a fresh one after it", n)
	}
	if err := suite.Close(); err != nil {
		t.Error(err)
	}
}

func TestStartErrors(t *testing.T) {
	suite := &kit.Suite{Subject: &fake{open: func() error { return errors.New("no such server") }}}
	if _, err := suite.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "no such server") {
		t.Errorf("got %v", err)
	}
}

func TestAttachedFilesAreNamed(t *testing.T) {
	c := winOnce
	c.Do = func(r *kit.Run) { r.Attach("story.txt", []byte("once")); r.Fatalf("seen") }
	res := with(t, &fake{}, c)
	if len(res.Files) != 1 || res.Files[0].Name != "test.win.story.txt" || string(res.Files[0].Data) != "once" || !strings.Contains(res.Text(), "test.win.story.txt") {
		t.Errorf("files %v\n%s", res.Files, res.Text())
	}
}
