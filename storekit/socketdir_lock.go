//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package storekit

import (
	"io/fs"
	"os"
	"syscall"
)

// lockDir locks a directory until the file is closed, or this process ends. It
// returns nil if somebody else holds the lock, or directories can't be locked
// there.
func lockDir(path string) *os.File {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		f.Close()
		return nil
	}
	return f
}

func ownedByUs(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}
