//go:build cgo && !linux

package sqlitestore

import (
	"errors"
	"io/fs"
	"runtime"
)

// statFilesystem can't tell on this system; the caller warns.
func statFilesystem(string) (filesystem, error) {
	return filesystem{}, errors.New("not checked on " + runtime.GOOS)
}

func hardLinks(fs.FileInfo) uint64 { return 1 }
