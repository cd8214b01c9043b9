package subject

import (
	"fmt"
	"syscall"
)

// mountMemory mounts a file system in memory of that many bytes.
func mountMemory(dir string, size int) error {
	return syscall.Mount("conformance", dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0700", size))
}

func unmount(dir string) error { return syscall.Unmount(dir, 0) }
