package kit

import (
	"fmt"
	"strings"
)

// File is something that a check leaves for whoever looks into its outcome. The
// report writes it beside its own files.
type File struct {
	Name string // unique in a run, fit for a file system
	Data []byte
}

// Attach adds a file to the check's result; name is its kind, e.g. "history.html".
func (r *Run) Attach(name string, data []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.files = append(r.files, File{fmt.Sprintf("%s.%s", strings.ReplaceAll(r.check.ID, "/", "."), name), data})
}

// filesText names the files of a result.
func (r Result) filesText() string {
	var names []string
	for _, f := range r.Files {
		names = append(names, f.Name)
	}
	return strings.Join(names, ", ")
}
