package core

// queue is a 4-ary heap of items by due time. It allocates only to grow, and is
// exact: a timing wheel would round, and one runtime timer per job could not be read
// again after a clock step.
//
// An item keeps its ticket, and a table of the queue says where a ticket is in the
// heap. So to move an entry touches two small, dense arrays and not the item itself:
// with 100 000 jobs each item touched is a miss of the processor's cache.
type queue[T interface {
	comparable
	place() *int32 // the item's ticket, -1 if it is not in the queue
}] struct {
	heap  []queued
	where []int32 // by ticket: the place in the heap
	items []T     // by ticket
	free  []int32 // tickets that were given back
}

// root is the place of the first entry, such that the four children of an entry lie
// side by side in one line of the processor's cache.
const root = 3

type queued struct {
	due    int64
	ticket int32
}

func (q *queue[T]) len() int { return max(len(q.heap)-root, 0) }

// next returns the earliest due time; ok is false if the queue is empty.
func (q *queue[T]) next() (due int64, ok bool) {
	if len(q.heap) <= root {
		return 0, false
	}
	return q.heap[root].due, true
}

// first returns the first item if it is due by now.
func (q *queue[T]) first(now int64) (item T, ok bool) {
	if len(q.heap) <= root || q.heap[root].due > now {
		return item, false
	}
	return q.items[q.heap[root].ticket], true
}

// pop takes the first item if it is due by now.
func (q *queue[T]) pop(now int64) (item T, ok bool) {
	if item, ok = q.first(now); ok {
		q.remove(item)
	}
	return item, ok
}

// set puts an item in, or moves it to another due time.
func (q *queue[T]) set(item T, due int64) {
	ticket := item.place()
	if *ticket < 0 {
		*ticket = q.issue(item)
		if len(q.heap) == 0 {
			q.heap = make([]queued, root, 64)
		}
		i := len(q.heap)
		q.heap = append(q.heap, queued{due, *ticket})
		q.up(i)
		return
	}
	i := int(q.where[*ticket])
	was := q.heap[i].due
	q.heap[i].due = due
	if due < was {
		q.up(i)
	} else {
		q.down(i)
	}
}

// sooner moves an item to an earlier due time, if that is earlier.
func (q *queue[T]) sooner(item T, due int64) {
	if ticket := *item.place(); ticket < 0 || due < q.heap[q.where[ticket]].due {
		q.set(item, due)
	}
}

// issue gives an item a ticket.
func (q *queue[T]) issue(item T) int32 {
	if n := len(q.free); n > 0 {
		ticket := q.free[n-1]
		q.free = q.free[:n-1]
		q.items[ticket] = item
		return ticket
	}
	q.items = append(q.items, item)
	q.where = append(q.where, 0)
	return int32(len(q.items) - 1)
}

// remove takes an item out, if it is in.
func (q *queue[T]) remove(item T) {
	ticket := *item.place()
	if ticket < 0 {
		return
	}
	*item.place() = -1
	i := int(q.where[ticket])
	var none T
	q.items[ticket] = none
	q.free = append(q.free, ticket)
	last := len(q.heap) - 1
	moved := q.heap[last]
	q.heap = q.heap[:last]
	if i == last {
		return
	}
	q.put(i, moved)
	q.up(i)
	q.down(int(q.where[moved.ticket]))
}

func (q *queue[T]) up(i int) {
	x := q.heap[i]
	for i > root {
		parent := i/4 + root - 1
		if q.heap[parent].due <= x.due {
			break
		}
		q.put(i, q.heap[parent])
		i = parent
	}
	q.put(i, x)
}

func (q *queue[T]) down(i int) {
	x := q.heap[i]
	for {
		child := 4 * (i - root + 1)
		if child >= len(q.heap) {
			break
		}
		least := child
		for c := child + 1; c < min(child+4, len(q.heap)); c++ {
			if q.heap[c].due < q.heap[least].due {
				least = c
			}
		}
		if q.heap[least].due >= x.due {
			break
		}
		q.put(i, q.heap[least])
		i = least
	}
	q.put(i, x)
}

func (q *queue[T]) put(i int, x queued) {
	q.heap[i] = x
	q.where[x.ticket] = int32(i)
}
