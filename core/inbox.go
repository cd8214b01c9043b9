package core

import "sync"

// input is something that the machine is told.
type input interface {
	apply(*machine, instant)
}

type inputFunc func(*machine, instant)

func (f inputFunc) apply(m *machine, now instant) { f(m, now) }

// inbox collects the machine's inputs. Putting one never blocks.
type inbox struct {
	mu     sync.Mutex
	inputs []input
	signal chan struct{} // holds one if inputs may be there
}

func (b *inbox) init() { b.signal = make(chan struct{}, 1) }

func (b *inbox) put(in input) {
	b.mu.Lock()
	b.inputs = append(b.inputs, in)
	b.mu.Unlock()
	select {
	case b.signal <- struct{}{}:
	default:
	}
}

// take swaps the collected inputs for an empty slice, which is reused.
func (b *inbox) take(empty []input) []input {
	b.mu.Lock()
	defer b.mu.Unlock()
	in := b.inputs
	b.inputs = empty[:0]
	return in
}
