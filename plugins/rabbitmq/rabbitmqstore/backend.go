package rabbitmqstore

import (
	"context"
	"log/slog"
	"slices"

	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/storekit"
)

// Backend is a claim-only backend on one RabbitMQ stream. Its verbs are safe for
// concurrent use; their errors are classed as package store says.
type Backend struct {
	storekit.Unimplemented

	log  *slog.Logger
	link *link
}

var (
	_ storekit.Backend       = (*Backend)(nil)
	_ storekit.ClaimBatcher  = (*Backend)(nil)
	_ storekit.FinishBatcher = (*Backend)(nil)
)

// New makes a backend that is not configured yet. It is a [storekit.Factory].
func New(env storekit.Env) storekit.Backend { return &Backend{log: env.Logger} }

// Info says what the plugin is.
func (b *Backend) Info() storekit.Info { return Info() }

// Configure connects, makes the log if there is none, and reads what is in it.
// A newer format is [store.ErrStoreFormat]; options and a log that don't suit
// are [store.ErrInvalid]; the rest is [store.ErrNotApplied].
func (b *Backend) Configure(ctx context.Context, cfg storekit.Config) error {
	set, err := readSettings(cfg)
	if err != nil {
		return err
	}
	b.link, err = openLink(ctx, set, b.log)
	return err
}

// Describe says what the store can do, as observed at the start.
func (b *Backend) Describe(context.Context) (store.Description, error) { return b.link.about, nil }

// describe says what is true of a log. A warning that the broker could answer
// better is there always: policies can't be seen by a client.
func describe(set settings, product, queue string, warnings []string) store.Description {
	d := store.Description{
		Kind: store.KindClaimOnly, Memory: store.Memory{Window: set.slotTTL}, Clock: store.ClockNone,
		History: true, Product: product, Format: Format,
		Warnings: slices.Clone(warnings),
		Settings: []store.Setting{
			{Name: "broker", Value: set.target.String()},
			{Name: "vhost", Value: set.target.vhost},
			{Name: "namespace", Value: set.namespace},
			{Name: "queue", Value: queue},
			{Name: "slotTtl", Value: set.slotTTL.String()},
			{Name: "x-max-age", Value: set.keep().String()},
			{Name: "callTimeout", Value: set.callTimeout.String()},
		},
	}
	d.Warnings = append(d.Warnings,
		"a policy (max-age, max-length-bytes) that matches the queue "+queue+" shortens its memory, and a client can't see policies while the log is whole; let none match it",
		"RabbitMQ acknowledges before the data are forced to the disk: a power loss on a single node can forget the last claims; use three nodes")
	if set.target.tls != nil && set.target.tls.InsecureSkipVerify {
		d.Warnings = append(d.Warnings, "insecureSkipVerify is set: the broker's certificate is not checked; name its authority by caFile instead")
	}
	return d
}

// Close ends the connection. The log stays.
func (b *Backend) Close(context.Context) error {
	if b.link != nil {
		b.link.close()
	}
	return nil
}
