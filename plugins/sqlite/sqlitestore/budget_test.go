//go:build cgo

package sqlitestore

import (
	"fmt"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/internal/budget"
)

// TestBudget: claims in batches, each a transaction, reach five times as many as claims
// with a transaction each, on the same file and disk. The two are measured in turn. The
// gain is that of the disk's sync, so it depends on the disk, and on a file system in
// memory there is next to none.
func TestBudget(t *testing.T) {
	budget.Only(t)
	const size, turns = 64, 15
	l := newLoad(t)
	var single, batch []float64 // claims/s
	rate := func(begin time.Time) float64 { return size / time.Since(begin).Seconds() }
	for range turns {
		var fs []store.FinishRequest
		begin := time.Now()
		for range size {
			fs = append(fs, l.claim(t, 1)...)
		}
		single = append(single, rate(begin))
		l.finish(t, fs)
		begin = time.Now()
		fs = l.claim(t, size)
		batch = append(batch, rate(begin))
		l.finish(t, fs)
	}
	a, b := budget.Median(batch), budget.Median(single)
	budget.Row(t, "sqlite", fmt.Sprintf("claims/s in batches of %d, to one transaction each, synchronous=FULL", size), a/b, "×", budget.AtLeast(5),
		fmt.Sprintf("medians of %d turns: %.0f to %.0f claims/s", turns, a, b))
}
