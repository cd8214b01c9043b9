// Command liar is a plugin that keeps every rule, on a SQLite file, but for one
// that its mood breaks. The kit's tests judge it, and it must never pass.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/plugins/sqlite/sqlitestore"
	"github.com/anarchon-go/anarchon/storekit"
)

func main() { storekit.Serve(newLiar) }

type liar struct {
	storekit.Backend
	mood string
}

func newLiar(env storekit.Env) storekit.Backend { return &liar{Backend: sqlitestore.New(env)} }

func (l *liar) Info() storekit.Info {
	info := l.Backend.Info()
	info.Name = "liar"
	info.Options = append(info.Options, storekit.Option{Name: "mood", Type: storekit.TypeString, Default: "honest", Help: "What it breaks."})
	return info
}

func (l *liar) Configure(ctx context.Context, cfg storekit.Config) error {
	l.mood = cfg.String("mood")
	return l.Backend.Configure(ctx, cfg)
}

func (l *liar) Claim(ctx context.Context, req store.ClaimRequest) (store.ClaimAnswer, error) {
	switch l.mood {
	case "flood":
		for range 40_000 {
			fmt.Fprintln(os.Stderr, strings.Repeat("flood ", 100))
		}
	case "huge-error":
		return store.ClaimAnswer{}, errors.New(strings.Repeat("no! ", 10<<20/4))
	case "own-clock": // an hour fast
		if by := time.Since(store.Time(req.Slot).Add(-time.Hour)) - req.MaxLate - 10*time.Second; req.After == 0 && by > 0 {
			return store.ClaimAnswer{Verdict: store.VerdictLate, By: by, Now: time.Now().UnixMilli()}, nil
		}
	}
	a, err := l.Backend.Claim(ctx, req)
	if err != nil {
		return a, err
	}
	switch {
	case l.mood == "nonsense":
		a.Verdict = 99
	case l.mood == "negative":
		a.Left = -5 * time.Second
	case l.mood == "tokenless":
		a.Token = 0
	case l.mood == "forgets" && a.Verdict == store.VerdictFinished && time.Since(store.Time(req.Slot)) > time.Second:
		return store.ClaimAnswer{Verdict: store.VerdictWon, Attempt: 1, Token: store.Token(a.Now), Left: req.Lease, Now: a.Now}, nil
	case l.mood == "renews" && a.Verdict == store.VerdictWon:
		go l.renew(store.HeartbeatRequest{Job: req.Job, Slot: req.Slot, Token: a.Token, Lease: req.Lease})
	}
	return a, nil
}

// renew makes a host that is frozen, or gone quiet, look alive.
func (l *liar) renew(req store.HeartbeatRequest) {
	for {
		time.Sleep(req.Lease / 4)
		if a, err := l.Backend.Heartbeat(context.Background(), req); err != nil || !a.Renewed {
			return
		}
	}
}

func (l *liar) Heartbeat(ctx context.Context, req store.HeartbeatRequest) (store.HeartbeatAnswer, error) {
	if l.mood == "no-heartbeat" {
		return store.HeartbeatAnswer{}, store.ErrUnsupported
	}
	return l.Backend.Heartbeat(ctx, req)
}

func (l *liar) History(ctx context.Context, req store.HistoryRequest) (store.HistoryAnswer, error) {
	if l.mood == "no-history" {
		return store.HistoryAnswer{}, store.ErrUnsupported
	}
	return l.Backend.History(ctx, req)
}
