package core

import (
	"math/rand/v2"
	"slices"
	"testing"
)

type queueItem struct {
	at  int32
	due int64
}

func (i *queueItem) place() *int32 { return &i.at }

// TestQueueAgainstASortedSlice sets, moves, removes and pops at random, and
// compares with a slice that is sorted anew each time.
func TestQueueAgainstASortedSlice(t *testing.T) {
	for seed := range uint64(50) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		var q queue[*queueItem]
		items := make([]*queueItem, 60)
		for i := range items {
			items[i] = &queueItem{at: -1}
		}
		var in []*queueItem // by due time
		for step := range 2000 {
			item := items[rnd.IntN(len(items))]
			switch rnd.IntN(5) {
			case 0, 1, 2: // the range is small: equal due times are common
				item.due = rnd.Int64N(100)
				q.set(item, item.due)
				if !slices.Contains(in, item) {
					in = append(in, item)
				}
			case 3:
				q.remove(item)
				in = slices.DeleteFunc(in, func(o *queueItem) bool { return o == item })
			case 4:
				now := rnd.Int64N(100)
				got, ok := q.pop(now)
				if want := len(in) > 0 && in[0].due <= now; ok != want {
					t.Fatalf("seed %d, step %d: pop(%d) says %v, want %v", seed, step, now, ok, want)
				}
				if ok {
					if got.due != in[0].due || got.at != -1 {
						t.Fatalf("seed %d, step %d: popped an item due %d with ticket %d, want due %d", seed, step, got.due, got.at, in[0].due)
					}
					in = slices.DeleteFunc(in, func(o *queueItem) bool { return o == got })
				}
			}
			slices.SortStableFunc(in, func(a, b *queueItem) int { return int(a.due - b.due) })
			checkQueue(t, &q, in)
		}
	}
}

func checkQueue(t *testing.T, q *queue[*queueItem], in []*queueItem) {
	t.Helper()
	if q.len() != len(in) {
		t.Fatalf("%d items, want %d", q.len(), len(in))
	}
	if due, ok := q.next(); ok != (len(in) > 0) || ok && due != in[0].due {
		t.Fatalf("next is %d, %v", due, ok)
	}
	for i := root; i < len(q.heap); i++ {
		x := q.heap[i]
		item := q.items[x.ticket]
		if item == nil || item.at != x.ticket || q.where[x.ticket] != int32(i) || x.due != item.due {
			t.Fatalf("the entry %+v at %d is of %+v, said to be at %d", x, i, item, q.where[x.ticket])
		}
	}
	if len(q.items) != q.len()+len(q.free) {
		t.Fatalf("%d tickets for %d items, and %d given back", len(q.items), q.len(), len(q.free))
	}
}

func TestQueueDoesNotAllocate(t *testing.T) {
	var q queue[*queueItem]
	items := make([]queueItem, 1000)
	for i := range items {
		items[i].at = -1
		q.set(&items[i], int64(i))
	}
	due := int64(len(items))
	allocs := testing.AllocsPerRun(1000, func() {
		item, _ := q.pop(due)
		q.set(item, due)
		due++
	})
	if allocs != 0 {
		t.Errorf("%v allocations for a pop and a set, want none", allocs)
	}
}
