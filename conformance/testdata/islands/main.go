// Command islands is a plugin that no store stands behind: each process keeps
// its own memory, so that two of them grant the same run. It keeps every rule
// that one process can keep. The kit's tests judge it, and it must fail.
package main

import (
	"context"
	"os"

	"github.com/anarchon-go/anarchon/core/model"
	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/storekit"
)

func main() { storekit.Serve(newBackend) }

type backend struct {
	storekit.Unimplemented
	*model.Store
	mood string
}

func newBackend(storekit.Env) storekit.Backend { return &backend{} }

func (b *backend) Info() storekit.Info {
	return storekit.Info{
		Name: "islands", Version: "0.0.1",
		Options: []storekit.Option{
			{Name: "namespace", Type: storekit.TypeString, Default: "default", Help: "The namespace."},
			{Name: "mood", Type: storekit.TypeString, Enum: []string{"good", "hang", "panic", "exit"}, Default: "good", Help: "What a claim does."},
		},
	}
}

func (b *backend) Configure(_ context.Context, cfg storekit.Config) error {
	b.Store, b.mood = model.New(model.Options{Namespace: cfg.String("namespace")}), cfg.String("mood")
	return nil
}

func (b *backend) Claim(ctx context.Context, req store.ClaimRequest) (store.ClaimAnswer, error) {
	switch b.mood {
	case "hang":
		select {}
	case "panic":
		panic("in a bad mood")
	case "exit":
		os.Exit(3)
	}
	return b.Store.Claim(ctx, req)
}

func (b *backend) Describe(ctx context.Context) (store.Description, error) {
	return b.Store.Describe(ctx)
}
func (b *backend) Heartbeat(ctx context.Context, req store.HeartbeatRequest) (store.HeartbeatAnswer, error) {
	return b.Store.Heartbeat(ctx, req)
}
func (b *backend) Finish(ctx context.Context, req store.FinishRequest) (store.FinishAnswer, error) {
	return b.Store.Finish(ctx, req)
}
func (b *backend) Unfinished(ctx context.Context, req store.UnfinishedRequest) (store.UnfinishedAnswer, error) {
	return b.Store.Unfinished(ctx, req)
}
func (b *backend) History(ctx context.Context, req store.HistoryRequest) (store.HistoryAnswer, error) {
	return b.Store.History(ctx, req)
}
