package storekit_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/storekit"
)

// A service opens its store once and closes it at the end.
func ExampleOpen() {
	ctx := context.Background() // bounds the launch only
	plugin, err := storekit.Open(ctx, storekit.Plugin{
		Name: "sqlite",
		Config: map[string]any{
			"path":        "jobs.db",
			"busyTimeout": 3 * time.Second,
		},
	})
	if err != nil {
		log.Fatal(err) // says what was tried, what was seen and what to do
	}
	defer plugin.Close()

	d, err := plugin.Describe(ctx)
	if err != nil {
		log.Fatal(err)
	}
	log.Printf("%s remembers slots %v", d.Product, d.Memory)
}

// backend is a plugin's store. Embedding Unimplemented answers the verbs that it
// does not have.
type backend struct {
	storekit.Unimplemented
	env  storekit.Env
	addr string
}

func (b *backend) Info() storekit.Info {
	return storekit.Info{
		Name:    "mine",
		Version: "1.0.0",
		Options: []storekit.Option{
			{Name: "address", Type: storekit.TypeString, Default: "localhost:7000", Help: "Of the server."},
			{Name: "password", Type: storekit.TypeString, Secret: true, Help: "Of the user anarchon."},
		},
	}
}

func (b *backend) Configure(ctx context.Context, cfg storekit.Config) error {
	b.addr = cfg.String("address")
	b.env.Logger.Info("connecting", "address", b.addr)
	return nil
}

func (b *backend) Claim(ctx context.Context, r store.ClaimRequest) (store.ClaimAnswer, error) {
	return store.ClaimAnswer{}, fmt.Errorf("%w: %s does not answer", store.ErrNotApplied, b.addr)
}

// This is the whole main function of a plugin.
func ExampleServe() {
	storekit.Serve(func(env storekit.Env) storekit.Backend { return &backend{env: env} })
}

// A service and its plugin in one file. Still two processes.
func ExampleEmbed() {
	// First thing in main; in the plugin's process it does not return.
	storekit.Embed(func(env storekit.Env) storekit.Backend { return &backend{env: env} })

	plugin, err := storekit.Open(context.Background(), storekit.Plugin{
		Name:       "mine",
		Config:     map[string]any{"password": "@/run/secrets/mine"},
		MinVersion: "1.0.0",
		OnEvent: func(e storekit.Event) {
			if down, ok := e.(storekit.Down); ok && down.Broken {
				log.Print("the store's plugin dies again and again: ", down.Err)
			}
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer plugin.Close()
}

// A backend's own tests make its configuration as a host would.
func ExampleParseConfig() {
	schema := (&backend{}).Info().Options
	cfg, err := storekit.ParseConfig(schema, json.RawMessage(`{"password": "secret"}`))
	fmt.Println(cfg.String("address"), err)

	_, err = storekit.ParseConfig(schema, json.RawMessage(`{"adress": "db:7000", "password": 7}`))
	fmt.Println(err)
	// Output:
	// localhost:7000 <nil>
	// option "password" is a secret value; it must be a string
	// unknown option "adress"; did you mean "address"?
}
