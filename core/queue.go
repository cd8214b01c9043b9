package core

// queue is a 4-ary heap of items by due time. It allocates only to grow, finds
// an item by the place that the item keeps itself, and is exact: a timing wheel
// would round, and one runtime timer per job could not be read again after a
// clock step.
type queue[T interface {
	comparable
	place() *int32 // where the item is kept in the queue, -1 if it is not
}] struct {
	items []queued[T]
}

type queued[T any] struct {
	due  int64
	item T
}

func (q *queue[T]) len() int { return len(q.items) }

// next returns the earliest due time; ok is false if the queue is empty.
func (q *queue[T]) next() (due int64, ok bool) {
	if len(q.items) == 0 {
		return 0, false
	}
	return q.items[0].due, true
}

// pop takes the first item if it is due by now.
func (q *queue[T]) pop(now int64) (item T, ok bool) {
	if len(q.items) == 0 || q.items[0].due > now {
		return item, false
	}
	item = q.items[0].item
	q.remove(item)
	return item, true
}

// set puts an item in, or moves it to another due time.
func (q *queue[T]) set(item T, due int64) {
	p := item.place()
	if *p < 0 {
		*p = int32(len(q.items))
		q.items = append(q.items, queued[T]{due, item})
		q.up(int(*p))
		return
	}
	i := int(*p)
	was := q.items[i].due
	q.items[i].due = due
	if due < was {
		q.up(i)
	} else {
		q.down(i)
	}
}

// remove takes an item out, if it is in.
func (q *queue[T]) remove(item T) {
	p := item.place()
	i := int(*p)
	if i < 0 {
		return
	}
	*p = -1
	last := len(q.items) - 1
	moved := q.items[last]
	q.items[last] = queued[T]{}
	q.items = q.items[:last]
	if i == last {
		return
	}
	q.items[i] = moved
	*moved.item.place() = int32(i)
	q.up(i)
	q.down(int(*moved.item.place()))
}

func (q *queue[T]) up(i int) {
	x := q.items[i]
	for i > 0 {
		parent := (i - 1) / 4
		if q.items[parent].due <= x.due {
			break
		}
		q.put(i, q.items[parent])
		i = parent
	}
	q.put(i, x)
}

func (q *queue[T]) down(i int) {
	x := q.items[i]
	for {
		child := 4*i + 1
		if child >= len(q.items) {
			break
		}
		least := child
		for c := child + 1; c < min(child+4, len(q.items)); c++ {
			if q.items[c].due < q.items[least].due {
				least = c
			}
		}
		if q.items[least].due >= x.due {
			break
		}
		q.put(i, q.items[least])
		i = least
	}
	q.put(i, x)
}

func (q *queue[T]) put(i int, x queued[T]) {
	q.items[i] = x
	*x.item.place() = int32(i)
}
