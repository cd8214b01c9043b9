package storekit

import (
	"sync"
	"time"
)

// mailbox hands items over to someone who may be slow, or never return: in order,
// on a goroutine of its own that lives only while there are items. put never
// waits; what does not fit is dropped and counted.
type mailbox[T any] struct {
	deliver func(T)
	missed  func(n int) // told, in its place in the order, that n items were dropped
	most    int         // the sizes of waiting items add up to at most this

	mu      sync.Mutex
	items   []sized[T]
	size    int
	dropped int           // since the last item was taken in
	empty   chan struct{} // closed when all is delivered; nil if nothing is under way
}

type sized[T any] struct {
	item  T
	size  int
	after int // items that were dropped before it
}

// put reports whether the item was taken.
func (m *mailbox[T]) put(item T, size int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.size+size > m.most {
		m.dropped++
		return false
	}
	m.items = append(m.items, sized[T]{item, size, m.dropped})
	m.size += size
	m.dropped = 0
	m.start()
	return true
}

// drop counts an item that is not even offered. It is told before the next item,
// or by flush.
func (m *mailbox[T]) drop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dropped++
}

// start lets a goroutine deliver what there is. m.mu is held.
func (m *mailbox[T]) start() {
	if m.empty == nil {
		m.empty = make(chan struct{})
		go m.drain(m.empty)
	}
}

func (m *mailbox[T]) drain(empty chan struct{}) {
	for {
		m.mu.Lock()
		batch, rest := m.items, 0
		if m.items = nil; len(batch) == 0 {
			rest, m.dropped = m.dropped, 0
		}
		if len(batch) == 0 && rest == 0 {
			m.empty = nil
			m.mu.Unlock()
			close(empty)
			return
		}
		m.mu.Unlock()
		for _, s := range batch {
			if s.after > 0 {
				m.missed(s.after)
			}
			m.deliver(s.item)
			m.mu.Lock()
			m.size -= s.size
			m.mu.Unlock()
		}
		if rest > 0 {
			m.missed(rest)
		}
	}
}

// flush waits until everything is delivered, or until the deadline.
func (m *mailbox[T]) flush(deadline time.Time) {
	m.mu.Lock()
	if m.dropped > 0 {
		m.start()
	}
	empty := m.empty
	m.mu.Unlock()
	if empty == nil {
		return
	}
	select {
	case <-empty:
	case <-time.After(time.Until(deadline)):
	}
}
