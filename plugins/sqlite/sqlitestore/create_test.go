//go:build cgo

package sqlitestore

import (
	"os"
	"strings"
	"testing"

	"github.com/anarchon-go/anarchon/core/store"
)

// TestNoCreate: with create=false what is not there is not made, and what is there
// is opened.
func TestNoCreate(t *testing.T) {
	set := testSettings(t)
	set.noCreate = true
	refused := func(want string) {
		t.Helper()
		if err := tryOpen(t, set); err == nil || !strings.Contains(err.Error(), want) || store.IsUnknown(err) {
			t.Errorf("got %v; want a refusal with %q", err, want)
		}
	}
	refused("there is no such file")
	if _, err := os.Stat(set.path); !os.IsNotExist(err) {
		t.Errorf("it made the file: %v", err)
	}
	if err := os.WriteFile(set.path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	refused("no anarchon service has used this file")
	if info, err := os.Stat(set.path); err != nil || info.Size() != 0 {
		t.Errorf("it wrote into the file: %v, %v", info, err)
	}
	set.noCreate = false
	if err := tryOpen(t, set); err != nil {
		t.Fatal(err)
	}
	set.noCreate = true
	if err := tryOpen(t, set); err != nil {
		t.Errorf("a file with tables: %v", err)
	}
}
