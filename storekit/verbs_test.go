package storekit

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/model"
	"github.com/anarchon-go/anarchon/core/store"
)

// modelBackend serves the executable rules of the protocol.
type modelBackend struct {
	Unimplemented
	*model.Store
}

func newModel(Env) Backend { return modelBackend{Store: model.New(model.Options{})} }

func (modelBackend) Info() Info { return Info{Name: "model", Version: "0.1.0"} }

func (modelBackend) Configure(context.Context, Config) error { return nil }

func (b modelBackend) Describe(ctx context.Context) (store.Description, error) {
	return b.Store.Describe(ctx)
}
func (b modelBackend) Claim(ctx context.Context, r store.ClaimRequest) (store.ClaimAnswer, error) {
	return b.Store.Claim(ctx, r)
}
func (b modelBackend) Heartbeat(ctx context.Context, r store.HeartbeatRequest) (store.HeartbeatAnswer, error) {
	return b.Store.Heartbeat(ctx, r)
}
func (b modelBackend) Finish(ctx context.Context, r store.FinishRequest) (store.FinishAnswer, error) {
	return b.Store.Finish(ctx, r)
}
func (b modelBackend) Unfinished(ctx context.Context, r store.UnfinishedRequest) (store.UnfinishedAnswer, error) {
	return b.Store.Unfinished(ctx, r)
}
func (b modelBackend) History(ctx context.Context, r store.HistoryRequest) (store.HistoryAnswer, error) {
	return b.Store.History(ctx, r)
}

// TestEveryVerbThroughAProcess leads a run from its claim to its history.
func TestEveryVerbThroughAProcess(t *testing.T) {
	ctx := t.Context()
	c := open(t, testPlugin(t, "model", nil))
	if c.Info().Name != "model" || c.Info().Protocols[0] != ProtocolVersion {
		t.Errorf("info: %+v", c.Info())
	}
	req := claim("nightly\x00☃")
	req.Slot = time.Now().UnixMilli()
	won, err := c.Claim(ctx, req)
	if err != nil || won.Verdict != store.VerdictWon || won.Attempt != 1 || won.Token == 0 || won.Left <= 29*time.Second || won.Now == 0 {
		t.Fatalf("claim: %+v, %v", won, err)
	}
	other := req
	other.ID, other.Instance = store.NewClaimID(), "other"
	if a, err := c.Claim(ctx, other); err != nil || a.Verdict != store.VerdictRunning || a.Holder != "me" || a.Left <= 0 {
		t.Errorf("the other's claim: %+v, %v", a, err)
	}
	beat := store.HeartbeatRequest{Job: req.Job, Slot: req.Slot, Token: won.Token, Lease: time.Minute}
	if a, err := c.Heartbeat(ctx, beat); err != nil || !a.Renewed || a.Now == 0 {
		t.Errorf("heartbeat: %+v, %v", a, err)
	}
	u, err := c.Unfinished(ctx, store.UnfinishedRequest{Jobs: []string{"no such job", req.Job}})
	if err != nil || len(u.Runs) != 1 || !u.Runs[0].Open || u.Runs[0].Holder != "me" || u.Runs[0].Left <= 59*time.Second || u.Runs[0].Newest != req.Slot {
		t.Errorf("unfinished: %+v, %v", u, err)
	}
	finish := store.FinishRequest{Job: req.Job, Slot: req.Slot, Token: won.Token, Outcome: store.OutcomeFailed, Error: strings.Repeat("é", 3000), ID: req.ID}
	for range 2 { // the repeat of a finish is recorded again
		if a, err := c.Finish(ctx, finish); err != nil || !a.Recorded {
			t.Errorf("finish: %+v, %v", a, err)
		}
	}
	if a, err := c.Heartbeat(ctx, beat); err != nil || a.Renewed {
		t.Errorf("heartbeat after the finish: %+v, %v", a, err)
	}
	h, err := c.History(ctx, store.HistoryRequest{Job: req.Job, Limit: 10})
	if err != nil || len(h.Attempts) != 1 || h.Attempts[0].Status != store.StatusFailed || h.Attempts[0].Error != strings.Repeat("é", store.MaxErrorLength) || h.Attempts[0].Instance != "me" {
		t.Errorf("history: %+v, %v", h, err)
	}
	d, err := c.Describe(ctx)
	want, _ := model.New(model.Options{}).Describe(ctx)
	if err != nil || !reflect.DeepEqual(d, want) {
		t.Errorf("description: %+v, %v; want %+v", d, err, want)
	}
	if _, err := c.History(ctx, store.HistoryRequest{Job: req.Job, Limit: store.MaxHistory + 1}); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("history without bounds: %v", err)
	}
}

func TestUnfinishedOfMoreJobsThanAMessageHolds(t *testing.T) {
	c := open(t, testPlugin(t, "model", nil))
	names := make([]string, 100_000)
	for i := range names {
		names[i] = fmt.Sprintf("%0*d", store.MaxNameBytes, i)
	}
	for _, i := range []int{3, 50_000, 99_999} {
		req := claim(names[i])
		req.Slot = time.Now().UnixMilli()
		if _, err := c.Claim(t.Context(), req); err != nil {
			t.Fatal(err)
		}
	}
	a, err := c.Unfinished(t.Context(), store.UnfinishedRequest{Jobs: names})
	if err != nil || len(a.Runs) != 3 || a.Now == 0 {
		t.Errorf("%d runs, now %d, %v; want 3", len(a.Runs), a.Now, err)
	}
}
