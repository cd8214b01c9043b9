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
	finds := []find{b.findSlot(known, q.Job, known.all[0])}
	for _, slot := range wanted {
		finds = append(finds, b.findSlot(known, q.Job, slot))
	}
	all := b.lastOfBoth(ctx, finds)
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

// knownSlots are a job's slots of which there is a record.
type knownSlots struct {
	all    []int64 // newest first
	claims map[int64]bool
}

func (b *Backend) slots(ctx context.Context, job string) (knownSlots, error) {
	subject := b.settings.layout.job(job)
	// In this order: see lastOfBoth.
	claims, err := b.api.slots(ctx, b.claims.Name, subject)
	if err != nil {
		return knownSlots{}, asRead(startError("look into stream "+b.claims.Name, err))
	}
	history, err := b.api.slots(ctx, b.history.Name, subject)
	if err != nil {
		return knownSlots{}, asRead(startError("look into stream "+b.history.Name, err))
	}
	maps.Copy(history, claims)
	all := slices.Collect(maps.Keys(history))
	slices.SortFunc(all, func(a, b int64) int { return cmp.Compare(b, a) })
	return knownSlots{all, claims}, nil
}

func (b *Backend) findSlot(known knownSlots, job string, slot int64) find {
	f := find{b.history.Name, b.settings.layout.slot(job, slot)}
	if known.claims[slot] {
		f.stream = b.claims.Name
	}
	return f
}
