package subject

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Find returns the absolute path of a plugin's directory or binary. A relative
// path is looked for where the command was typed and then in the directories
// above the working directory, up to the module's root: go test runs a test in
// its package's directory. The error lists every path tried.
func Find(path string) (string, error) {
	if path == "" {
		return "", errors.New("the plugin's path is empty; give a directory with a plugin's main package, or a built plugin")
	}
	var tried []string
	for _, p := range candidates(path) {
		_, err := os.Stat(p)
		if err == nil {
			return p, nil
		}
		tried = append(tried, "\t"+err.Error())
	}
	return "", fmt.Errorf("plugin %s not found; tried\n%s\ngive a directory with a plugin's main package, or a built plugin", path, strings.Join(tried, "\n"))
}

func candidates(path string) []string {
	if filepath.IsAbs(path) {
		return []string{filepath.Clean(path)}
	}
	var list []string
	for _, base := range bases() {
		if p := filepath.Join(base, path); !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	return list
}

// bases are the directories that a relative path may count from.
func bases() []string {
	var list []string
	if typed, ok := whereTyped(); ok {
		list = append(list, typed)
	}
	dir, err := os.Getwd()
	if err != nil {
		return list
	}
	if _, inModule := moduleRoot(dir); !inModule {
		return append(list, dir)
	}
	for {
		list = append(list, dir)
		if isFile(filepath.Join(dir, "go.mod")) || dir == filepath.Dir(dir) {
			return list
		}
		dir = filepath.Dir(dir)
	}
}

// whereTyped is the directory in which the go command runs, if this is a test
// that it started and the system tells.
func whereTyped() (string, bool) {
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", os.Getppid()))
	if err != nil || filepath.Base(exe) != "go" {
		return "", false
	}
	dir, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", os.Getppid()))
	return dir, err == nil
}

// moduleRoot is the nearest directory upwards that has a go.mod.
func moduleRoot(dir string) (string, bool) {
	for {
		if isFile(filepath.Join(dir, "go.mod")) {
			return dir, true
		}
		if dir == filepath.Dir(dir) {
			return "", false
		}
		dir = filepath.Dir(dir)
	}
}

func isFile(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular()
}

// Out returns the absolute path of a file or directory that a run shall write:
// a relative one counts from where the command was typed, or else from the
// module's root.
func Out(path string) (string, error) {
	if filepath.IsAbs(path) {
		return path, nil
	}
	if typed, ok := whereTyped(); ok {
		return filepath.Join(typed, path), nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	if root, ok := moduleRoot(dir); ok {
		dir = root
	}
	return filepath.Join(dir, path), nil
}
