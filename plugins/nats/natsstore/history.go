package natsstore

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sort"

	"github.com/anarchon-go/anarchon/core/store"
)

// maxPage bounds the attempts of one answer, and so how long it takes.
const maxPage = 1000

// History recalls a page of a job's runs: those of the claims stream, which has
// every record of the window at once, and those of the history stream, which
// follows it. The history size is that of the claim that won the newest slot.
func (b *Backend) History(ctx context.Context, q store.HistoryRequest) (store.HistoryAnswer, error) {
	if err := q.Validate(); err != nil {
		return store.HistoryAnswer{}, err
	}
	before, err := parsePage(q.Page)
	if err != nil {
		return store.HistoryAnswer{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, b.settings.callTimeout)
	defer cancel()
	known, err := b.slots(ctx, q.Job)
	if err != nil || len(known.all) == 0 {
		return store.HistoryAnswer{}, err
	}
	from := sort.Search(len(known.all), func(i int) bool { return known.all[i] < before })
	wanted := known.all[from:]
	wanted = wanted[:min(len(wanted), q.Limit, maxPage)]

	// The newest slot's record says how many there are to be.
	all := b.lookUpSlots(ctx, known, append([]int64{known.all[0]}, wanted...))
	size := store.MaxHistory
	if newest := all[0]; newest.err != nil {
		return store.HistoryAnswer{}, newest.err
	} else if newest.stored != nil && newest.HistorySize > 0 {
		size = newest.HistorySize
	}
	var answer store.HistoryAnswer
	for n, f := range all[1:] {
		if f.err != nil {
			return store.HistoryAnswer{}, f.err
		}
		if f.stored != nil && from+n < size { // else it was trimmed while we read
			answer.Attempts = append(answer.Attempts, f.attempt(wanted[n]))
		}
	}
	if end := from + len(wanted); len(answer.Attempts) > 0 && end < min(len(known.all), size) {
		answer.Next = formatPage(wanted[len(wanted)-1])
	}
	return answer, nil
}

// knownSlots are a job's slots of which there is a record, with their subjects.
type knownSlots struct {
	all             []int64 // newest first
	claims, history map[int64]string
}

// slots returns the job's slots. It looks into the claims stream first: see lastOf.
func (b *Backend) slots(ctx context.Context, job string) (known knownSlots, err error) {
	if _, err := b.home(ctx); err != nil {
		return known, err
	}
	l := &b.settings.layout
	for _, stream := range []struct {
		name  string
		slots *map[int64]string
	}{{l.claims, &known.claims}, {l.history, &known.history}} {
		if *stream.slots, err = b.api.slots(ctx, stream.name, l.job(job)); err != nil {
			b.homes.doubt(err)
			return known, asRead(startError("look into stream "+stream.name, err))
		}
	}
	union := maps.Clone(known.history)
	maps.Copy(union, known.claims)
	known.all = slices.SortedFunc(maps.Keys(union), func(a, b int64) int { return cmp.Compare(b, a) })
	return known, nil
}

func (b *Backend) lookUpSlots(ctx context.Context, known knownSlots, slots []int64) []found {
	firsts, elses := make([]find, len(slots)), make([]find, len(slots))
	for n, slot := range slots {
		in, copied := known.claims[slot], known.history[slot]
		if copied == "" { // it was not there yet
			copied = in
		}
		elses[n] = find{b.settings.layout.history, copied}
		firsts[n] = elses[n]
		if in != "" {
			firsts[n] = find{b.settings.layout.claims, in}
		}
	}
	return b.lastOf(ctx, firsts, elses)
}
