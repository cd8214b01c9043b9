package main

import (
	"context"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/storekit"
)

// Backend keeps jobs in files. Its verbs are in claim.go, heartbeat.go, finish.go
// and recall.go; they are called from many goroutines at once, so what Configure
// sets does not change any more.
type Backend struct {
	storekit.Unimplemented // answers verbs that are not written yet, or come later

	now    func() int64 // the store's clock, Unix milliseconds
	folder folder
	about  store.Description
}

// A factory makes a backend and does no I/O: Info must work before Configure.
var _ storekit.Factory = New

// New makes a backend that is not configured yet. The store's clock is that of
// the host: the files never leave it.
func New(storekit.Env) storekit.Backend {
	return &Backend{now: func() int64 { return time.Now().UnixMilli() }}
}

// Info says what the plugin is. Every option has a help text that says what its
// default is good for; one that holds a password would be Secret.
func (b *Backend) Info() storekit.Info {
	return storekit.Info{
		Name:    "mybackend",
		Version: "0.1.0",
		Options: []storekit.Option{
			{
				Name: "folder", Type: storekit.TypeString, Required: true,
				Help: "Where the files are, made if missing; a relative path counts from the working directory of the service. Its parent must exist, on a disk of this host.",
			},
			{
				Name: "namespace", Type: storekit.TypeString, Default: "default",
				Help: "Services that share a folder don't see the jobs of another namespace; the default is good for one service per folder.",
			},
		},
	}
}

// Configure opens the store. cfg has been checked against the options above; what
// the schema can't say is checked here.
func (b *Backend) Configure(ctx context.Context, cfg storekit.Config) error {
	namespace := cfg.String("namespace")
	if err := store.CheckName("namespace", namespace); err != nil {
		return err
	}
	f, err := openFolder(ctx, cfg.String("folder"), namespace)
	if err != nil {
		return err
	}
	b.folder = f
	b.about, err = describe(f)
	return err
}

// Describe says what the store can do. Core plans by it, and the suite holds the
// plugin to it: declare what you keep, not more.
func (b *Backend) Describe(context.Context) (store.Description, error) { return b.about, nil }

func describe(f folder) (store.Description, error) {
	kind, warnings, err := checkFilesystem(f.root)
	if err != nil {
		return store.Description{}, err
	}
	return store.Description{
		Kind:     store.KindLease,
		Memory:   store.Memory{Forever: true}, // a job's file is never deleted, and holds its newest slot
		Clock:    store.ClockStore,
		Fenced:   true,
		History:  true,
		Product:  "files on " + kind,
		Settings: []store.Setting{{Name: "folder", Value: f.root}, {Name: "file system", Value: kind}},
		Warnings: warnings,
		Format:   Format,
	}, nil
}
