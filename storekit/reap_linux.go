package storekit

import "golang.org/x/sys/unix"

// reap waits for the process, kills what is left of its group, and collects it.
// The group is killed while the ended leader still holds its number, so that the
// number can't have been given to someone else.
func (p *process) reap() {
	for {
		err := unix.Waitid(unix.P_PID, p.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			break
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	killGroup(p.cmd.Process)
	p.cmd.Wait()
	p.reaped = true
}
