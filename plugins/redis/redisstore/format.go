package redisstore

import (
	"context"
	"fmt"
	"strconv"

	"github.com/anarchon-go/anarchon/core/store"
)

// record is what a namespace's meta key says; instances that differ in it would
// not see each other's claims, or make each other forget.
type record struct{ format, strategy, memory string }

// setUp records what the namespace holds if it is new. Many may do it at once:
// one step decides.
func (b *Backend) setUp(ctx context.Context) error {
	mine := record{strconv.Itoa(Format), b.settings.strategy, b.settings.memory().String()}
	words, err := b.pools.claims.one(ctx, call{
		script: b.scripts.setup, keys: []string{b.keys.meta()}, args: []any{mine.format, mine.strategy, mine.memory},
	})
	if err != nil {
		return err
	}
	if len(words) != 3 {
		return strange(b.scripts.setup, words)
	}
	return mine.agree(record{words[0], words[1], words[2]}, b.keys.meta())
}

// agree says if this plugin may work with what is recorded in a key.
func (r record) agree(there record, key string) error {
	format, err := strconv.Atoi(there.format)
	switch {
	case err != nil || format < 1:
		return refuse("key %s records the format %.40q; it must be a number from 1: it was changed by hand or by another program; restore a backup", key, there.format)
	case format > Format:
		return fmt.Errorf("%w: redis: namespace has format %d, plugin redis %s knows 1 to %d; upgrade this instance", store.ErrStoreFormat, format, Version, Format)
	case there.strategy != r.strategy:
		return refuse("the namespace is used with strategy %q, and this instance is configured for %q; they don't see each other's claims: use the same strategy, or another namespace", there.strategy, r.strategy)
	case there.memory != r.memory:
		return refuse("the namespace remembers %s, and this instance is configured to remember %s; the shorter memory would make slots run twice: use the same options, or another namespace; to change them, stop all instances for that long and set the field memory of key %s to %q", there.memory, r.memory, key, r.memory)
	}
	return nil
}
