package kit

import (
	"context"
	"errors"
	"sync"
	"time"
)

// closeLimit bounds the closing of one process.
const closeLimit = 15 * time.Second

// pool lends processes to checks: never one process to two checks at once, and
// none again that a check left broken. It is safe for concurrent use.
type pool struct {
	subject Subject

	mu   sync.Mutex
	idle []Process
}

// take lends n processes of the subject's own namespace, opening what is missing.
func (p *pool) take(ctx context.Context, n int) ([]Process, error) {
	p.mu.Lock()
	have := min(n, len(p.idle))
	lent := make([]Process, n)
	copy(lent, p.idle[len(p.idle)-have:])
	p.idle = p.idle[:len(p.idle)-have]
	p.mu.Unlock()

	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := have; i < n; i++ {
		wg.Go(func() { lent[i], errs[i] = open(ctx, p.subject, "") })
	}
	wg.Wait()
	err := errors.Join(errs...)
	if err == nil {
		return lent, nil
	}
	for i, proc := range lent {
		if errs[i] == nil {
			p.put(proc)
		}
	}
	return nil, err
}

// put takes a process back that works.
func (p *pool) put(proc Process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, proc)
}

// close closes the processes that nobody has.
func (p *pool) close() error {
	p.mu.Lock()
	idle := p.idle
	p.idle = nil
	p.mu.Unlock()
	return closeAll(idle)
}

func closeAll(procs []Process) error {
	errs := make([]error, len(procs))
	var wg sync.WaitGroup
	for i, proc := range procs {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
			defer cancel()
			_, errs[i] = bounded(ctx, func() (struct{}, error) { return struct{}{}, proc.Close(ctx) })
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

func open(ctx context.Context, s Subject, namespace string) (Process, error) {
	return bounded(ctx, func() (Process, error) { return s.Open(ctx, namespace) })
}
