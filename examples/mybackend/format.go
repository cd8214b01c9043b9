package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/anarchon-go/anarchon/core/store"
)

// Format is the number of the layout that this version writes. It rises only if
// older versions can't work with what a newer one writes; new fields don't need it,
// since every version keeps the fields that it does not know.
const Format = 1

// prepareFormat records the format in a folder that has none, and refuses one that
// is newer before it touches anything.
func prepareFormat(ctx context.Context, root string) error {
	path := filepath.Join(root, "format")
	if found, err := checkFormat(path); found || err != nil {
		return err
	}
	unlock, err := lock(ctx, root)
	if err != nil {
		return err
	}
	defer unlock()
	if found, err := checkFormat(path); found || err != nil {
		return err // another process was faster
	}
	return write(path, fmt.Appendln(nil, Format))
}

func checkFormat(path string) (found bool, err error) {
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("%w: reading the store's format: %w", store.ErrNotApplied, err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	switch {
	case err != nil || n < 1:
		return false, fmt.Errorf("%w: %s holds %.20q; it must be a number from 1: is this a folder of this plugin?", store.ErrNotApplied, path, text)
	case n > Format:
		return false, fmt.Errorf("%w: %s says format %d, and this version knows up to %d; upgrade this instance", store.ErrStoreFormat, path, n, Format)
	}
	return true, nil
}
