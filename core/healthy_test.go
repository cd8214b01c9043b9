package core_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anarchon-go/anarchon/core"
	"github.com/anarchon-go/anarchon/core/coretest"
	"github.com/anarchon-go/anarchon/core/store"
)

var (
	errNoReads  = fmt.Errorf("%w: no reads", store.ErrNotApplied)
	errNoWrites = fmt.Errorf("%w: locked", store.ErrNotApplied)
)

// locked is a store that refuses reads or writes.
type locked struct {
	store.Store
	reads, writes atomic.Bool
}

func (l *locked) Claim(ctx context.Context, q store.ClaimRequest) (store.ClaimAnswer, error) {
	if l.writes.Load() {
		return store.ClaimAnswer{}, errNoWrites
	}
	return l.Store.Claim(ctx, q)
}

func (l *locked) Unfinished(ctx context.Context, q store.UnfinishedRequest) (store.UnfinishedAnswer, error) {
	if l.reads.Load() {
		return store.UnfinishedAnswer{}, errNoReads
	}
	return l.Store.Unfinished(ctx, q)
}

// TestHealthy: a store that answers reads and refuses writes, or the other way round,
// is unhealthy all that time and told of once; a write that nobody asks for any more
// does not make it unhealthy for ever.
func TestHealthy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rec events
		st := &locked{Store: coretest.NewStore(store.KindLease)}
		s, err := core.New(st, core.Options{OnEvent: rec.add, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		err = s.Add(core.Job{Name: "hourly", Schedule: core.Every(time.Hour), Handler: func(context.Context, core.Run) error { return nil },
			Timing: core.Timing{CatchUp: core.Disabled, Jitter: core.Disabled}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- s.Run(ctx) }()
		// healthy checks each second for so long.
		healthy := func(what string, d time.Duration, want error) {
			t.Helper()
			for range int(d / time.Second) {
				if got := s.Healthy(); !errors.Is(got, want) || (got == nil) != (want == nil) {
					t.Fatalf("%s, at %v: healthy is %v, want %v", what, time.Now().UTC(), got, want)
				}
				time.Sleep(time.Second)
			}
		}
		time.Sleep(500 * time.Millisecond) // it is midnight in the bubble; slots are on the hour
		healthy("at first", 30*time.Minute, nil)
		st.writes.Store(true)
		healthy("locked, and nobody asks", 30*time.Minute-time.Second, nil)
		time.Sleep(time.Second)
		healthy("locked, and the slot is asked for", 59*time.Second, errNoWrites)
		time.Sleep(31 * time.Second) // given up; the next recall is answered
		healthy("locked, and given up", 28*time.Minute, nil)
		st.writes.Store(false)
		st.reads.Store(true)
		time.Sleep(31 * time.Second)
		healthy("no reads", 40*time.Minute, errNoReads) // with the slot at 02:00, which is run
		st.reads.Store(false)
		time.Sleep(6 * time.Second)
		healthy("at last", 10*time.Minute, nil)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		var told string
		for _, e := range rec.all {
			switch e := e.(type) {
			case core.StoreError:
				told += e.During + " fails, "
			case core.StoreBack:
				told += "back, "
			case core.Succeeded:
				told += "run, "
			}
		}
		if want := "claim fails, back, recall fails, run, back, "; told != want {
			t.Errorf("told: %s; want: %s", told, want)
		}
	})
}
