package storekit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
	pb "github.com/anarchon-go/anarchon/storekit/internal/storev1"
	"github.com/anarchon-go/anarchon/storekit/internal/wire"
)

// batching is a backend with native batches.
type batching struct {
	*fake
	sizes chan int
	wrong func([]store.Result[store.ClaimAnswer]) []store.Result[store.ClaimAnswer]
}

func (b *batching) ClaimBatch(ctx context.Context, reqs []store.ClaimRequest) []store.Result[store.ClaimAnswer] {
	b.sizes <- len(reqs)
	out := make([]store.Result[store.ClaimAnswer], len(reqs))
	for i, r := range reqs {
		out[i].Answer, out[i].Err = b.Claim(ctx, r)
	}
	if b.wrong != nil {
		return b.wrong(out)
	}
	return out
}

func newBatching(t testing.TB) *batching {
	return &batching{fake: newFake(Env{Logger: testLogger(t)}).(*fake), sizes: make(chan int, 1000)}
}

func claims(reqs ...store.ClaimRequest) *pb.ClaimRequest {
	p := &pb.ClaimRequest{}
	for _, r := range reqs {
		p.Claims = append(p.Claims, wire.Claim(r))
	}
	return p
}

func TestBadItemsDoNotFailTheirNeighbours(t *testing.T) {
	bad := claim("a")
	bad.MaxAttempts = 0
	noID := wire.Claim(claim("b"))
	noID.Id = []byte("short")
	for name, backend := range map[string]Backend{"native": newBatching(t), "loop": newFake(Env{Logger: testLogger(t)})} {
		s := newServer(backend, slog.New(slog.DiscardHandler))
		if err := s.configure(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		req := claims(claim("one"), bad, claim("error:x"), claim("two"))
		req.Claims = append(req.Claims, noID, nil)
		resp, err := s.Claim(t.Context(), req)
		if err != nil || len(resp.Results) != 6 {
			t.Fatalf("%s: %d results, %v", name, len(resp.GetResults()), err)
		}
		for i, want := range []string{"", "max attempts is 0", "the store said x", "", "claim id is 5 bytes", "claim id is 0 bytes"} {
			r := resp.Results[i]
			if want == "" && r.GetAnswer().GetVerdict() != pb.Verdict_VERDICT_WON || !strings.Contains(r.GetError().GetMessage(), want) {
				t.Errorf("%s: result %d is %v; want %q", name, i, r, want)
			}
		}
	}
}

func TestBackendReturnsAnotherNumberOfResults(t *testing.T) {
	b := newBatching(t)
	b.wrong = func(r []store.Result[store.ClaimAnswer]) []store.Result[store.ClaimAnswer] { return append(r, r...) }
	c := serving(t, b)
	if _, err := c.Claim(t.Context(), claim("a")); !errors.Is(err, store.ErrUnknown) || !strings.Contains(err.Error(), "2 results for 1 requests") {
		t.Errorf("%v", err)
	}
	b.wrong = func(r []store.Result[store.ClaimAnswer]) []store.Result[store.ClaimAnswer] { panic("batch of doom") }
	if _, err := c.Claim(t.Context(), claim("a")); !errors.Is(err, store.ErrUnknown) || !strings.Contains(err.Error(), "batch of doom") {
		t.Errorf("%v", err)
	}
}

func TestTooManyItems(t *testing.T) {
	s := newServer(newFake(Env{Logger: testLogger(t)}), slog.New(slog.DiscardHandler))
	if err := s.configure(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	resp, err := s.Claim(t.Context(), &pb.ClaimRequest{Claims: make([]*pb.Claim, maxBatch+1)})
	if err != nil || len(resp.Results) != maxBatch+1 || resp.Results[7].GetError().GetField() != "batch" {
		t.Errorf("%d results, %v", len(resp.GetResults()), err)
	}
}

func TestConcurrentClaimsTravelTogether(t *testing.T) {
	b := newBatching(t)
	c := serving(t, b)
	const callers = 300
	var won atomic.Int32
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			a, err := c.Claim(t.Context(), claim(fmt.Sprint("job ", i%100)))
			if err != nil {
				t.Error(err)
			}
			if a.Verdict == store.VerdictWon {
				won.Add(1)
			}
		})
	}
	wg.Wait()
	close(b.sizes)
	calls, items := 0, 0
	for n := range b.sizes {
		calls, items = calls+1, items+n
	}
	if items != callers || won.Load() != 100 {
		t.Errorf("%d items arrived, %d won; want %d and 100", items, won.Load(), callers)
	}
	if calls > callers/2 {
		t.Errorf("%d calls for %d requests: they do not travel together", calls, callers)
	}
	t.Logf("%d requests in %d calls", items, calls)
}

// longHistory has many attempts with long errors.
type longHistory struct{ *fake }

func (longHistory) History(_ context.Context, r store.HistoryRequest) (store.HistoryAnswer, error) {
	a := store.HistoryAnswer{Next: "more\xff\x00"}
	for i := range r.Limit {
		a.Attempts = append(a.Attempts, store.Attempt{Attempt: i + 1, Status: store.StatusFailed, Error: strings.Repeat("é", store.MaxErrorLength)})
	}
	return a, nil
}

func TestHistoryThatDoesNotFitIsCutShorter(t *testing.T) {
	c := serving(t, longHistory{newFake(Env{Logger: testLogger(t)}).(*fake)})
	a, err := c.History(t.Context(), store.HistoryRequest{Job: "a", Limit: store.MaxHistory})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(a.Attempts); n < 1000 || n >= store.MaxHistory || a.Next != "more\xff\x00" {
		t.Errorf("%d attempts, next %q", n, a.Next)
	}
}

func TestVerbsOutsideOfALife(t *testing.T) {
	s := newServer(newFake(Env{Logger: testLogger(t)}), slog.New(slog.DiscardHandler))
	class := func() pb.ErrorClass {
		resp, err := s.Claim(t.Context(), claims(claim("a")))
		if err != nil {
			t.Fatal(err)
		}
		return resp.Results[0].GetError().GetClass()
	}
	if got := class(); got != pb.ErrorClass_ERROR_CLASS_NOT_APPLIED {
		t.Errorf("before Configure: %v", got)
	}
	if err := s.configure(t.Context(), []byte(`{"poolSize":77}`)); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("a wrong configuration: %v", err)
	}
	if err := s.configure(t.Context(), []byte(`{}`)); err != nil {
		t.Errorf("the right one after it: %v", err)
	}
	if err := s.configure(t.Context(), nil); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("Configure twice: %v", err)
	}
	if got := class(); got != pb.ErrorClass_ERROR_CLASS_UNSPECIFIED {
		t.Errorf("while it lives: %v", got)
	}
	if h, _ := s.Health(t.Context(), nil); !h.Ready {
		t.Error("not ready")
	}
	for range 2 {
		if resp, err := s.Stop(t.Context(), &pb.StopRequest{TimeoutMs: 1000}); err != nil || resp.Error != nil {
			t.Errorf("Stop: %v, %v", resp, err)
		}
	}
	if got := class(); got != pb.ErrorClass_ERROR_CLASS_NOT_APPLIED {
		t.Errorf("after Stop: %v", got)
	}
	if h, _ := s.Health(t.Context(), nil); h.Ready {
		t.Error("ready after Stop")
	}
}

func TestStopWaitsForCallsAndThenCancelsThem(t *testing.T) {
	s := newServer(newFake(Env{Logger: testLogger(t)}), slog.New(slog.DiscardHandler))
	if err := s.configure(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	answered := make(chan *pb.ClaimResponse)
	go func() {
		resp, _ := s.Claim(context.Background(), claims(claim("hang")))
		answered <- resp
	}()
	for {
		s.mu.Lock()
		calls := s.calls
		s.mu.Unlock()
		if calls == 1 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	begin := time.Now()
	resp, err := s.Stop(t.Context(), &pb.StopRequest{TimeoutMs: 400})
	if err != nil || resp.Error != nil {
		t.Errorf("Stop: %v, %v", resp, err)
	}
	if took := time.Since(begin); took < 200*time.Millisecond {
		t.Errorf("the call in flight was given %v; want half of 400ms", took)
	}
	if e := (<-answered).Results[0].GetError(); e.GetClass() != pb.ErrorClass_ERROR_CLASS_UNKNOWN {
		t.Errorf("the call that was cut off: %v; want unknown", e)
	}
}
