//go:build cgo

package sqlitestore

import (
	"fmt"

	"github.com/anarchon-go/anarchon/core/store"
)

// filesystem is the kind of file system that the database lies on. SQLite's
// write-ahead log needs memory shared by all processes that use the file, and
// locks that hold: see sqlite.org/wal.html and sqlite.org/howtocorrupt.html.
type filesystem struct {
	name string
	fit  fitness
}

type fitness uint8

const (
	fitGood     fitness = iota // a disk of this host
	fitNetwork                 // other hosts may write it, and locks or mappings do not reach them
	fitVolatile                // gone with the machine
	fitLayer                   // gone with the container, and not shared with others
)

// judge returns an error for what can't be safe and a warning for what the
// operator should know.
func (f filesystem) judge(path string) (warning string, err error) {
	switch f.fit {
	case fitNetwork:
		return "", fmt.Errorf("%w: sqlite: %s is on %s, a network or user-space file system; SQLite's locks and shared memory don't hold there, and two runs of one slot or a damaged file would follow: put the file on a local disk, or use a backend with a server", store.ErrInvalid, path, f.name)
	case fitVolatile:
		return fmt.Sprintf("%s is on %s, which a restart of the machine empties: slots could run again; put the file on a disk", path, f.name), nil
	case fitLayer:
		return fmt.Sprintf("%s is on %s, a container's own layer: it is gone with the container, and other containers don't see it; put the file on a volume", path, f.name), nil
	}
	return "", nil
}
