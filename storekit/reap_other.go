//go:build !linux

package storekit

// reap waits for the process, collects it, and kills what is left of its group.
func (p *process) reap() {
	p.cmd.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	killGroup(p.cmd.Process)
	p.reaped = true
}
