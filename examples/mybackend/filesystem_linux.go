package main

import (
	"fmt"
	"syscall"

	"github.com/anarchon-go/anarchon/core/store"
)

// checkFilesystem looks at the setting that safety depends on: locks and clock are
// those of one host, so a folder that two hosts mount is no store.
func checkFilesystem(dir string) (kind string, warnings []string, err error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return "", nil, fmt.Errorf("%w: asking for the file system of %s: %w", store.ErrNotApplied, dir, err)
	}
	switch magic := uint32(st.Type); magic { // see statfs(2)
	case 0x6969, 0x517b, 0xfe534d42, 0xff534d42, 0x00c36400, 0x5346414f:
		return "", nil, fmt.Errorf("%w: folder %s is on a network file system (type %#x); it must be on a disk of this host", store.ErrInvalid, dir, magic)
	case 0x01021994:
		return "tmpfs", []string{"the folder is on tmpfs: a restart of the host forgets which slots were run; put it on a disk"}, nil
	default:
		return fmt.Sprintf("a file system of type %#x", magic), nil, nil
	}
}
