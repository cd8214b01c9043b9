package natsstore

import (
	"context"
	"maps"
	"slices"

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
	slots, err := b.slots(ctx, q.Job)
	if err != nil || len(slots) == 0 {
		return store.HistoryAnswer{}, err
	}
	from, _ := slices.BinarySearchFunc(slots, before, func(slot, before int64) int {
		if slot >= before {
			return -1
		}
		return 1
	})
	wanted := slots[from:]
	limit := min(q.Limit, maxPage)
	wanted = wanted[:min(len(wanted), limit)]

	// The newest slot's record says how many there are to be.
	finds := []find{b.findSlot(q.Job, slots[0])}
	for _, slot := range wanted {
		finds = append(finds, b.findSlot(q.Job, slot))
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
	if end := from + len(wanted); len(answer.Attempts) > 0 && end < min(len(slots), size) {
		answer.Next = formatPage(wanted[len(wanted)-1])
	}
	return answer, nil
}

func (b *Backend) findSlot(job string, slot int64) find {
	return find{b.claims.Name, b.settings.layout.slot(job, slot)}
}

// slots returns the job's slots of which there is a record, newest first.
func (b *Backend) slots(ctx context.Context, job string) ([]int64, error) {
	subject := b.settings.layout.job(job)
	all := map[int64]bool{}
	// In this order: see lastOfBoth.
	for _, stream := range []string{b.claims.Name, b.history.Name} {
		slots, err := b.api.slots(ctx, stream, subject)
		if err != nil {
			return nil, asRead(startError("look into stream "+stream, err))
		}
		maps.Copy(all, slots)
	}
	slots := slices.Collect(maps.Keys(all))
	slices.Sort(slots)
	slices.Reverse(slots)
	return slots, nil
}
