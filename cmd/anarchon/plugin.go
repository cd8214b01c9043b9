package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/anarchon-go/anarchon/storekit"
)

const modulePath = "github.com/anarchon-go/anarchon"

// choosePlugin returns the plugin that a user named: a path, or a name. A name
// that is not found where storekit looks, and whose source lies in the module of
// the working directory, is built into dir first, so that a fresh clone works.
func choosePlugin(ctx context.Context, named, dir string) (storekit.Plugin, error) {
	if strings.ContainsRune(named, filepath.Separator) {
		return storekit.Plugin{Path: named}, nil
	}
	dirs := filepath.SplitList(os.Getenv("ANARCHON_PLUGIN_DIR"))
	if self, err := os.Executable(); err == nil {
		dirs = append(dirs, filepath.Dir(self))
	}
	for _, d := range dirs {
		if _, err := os.Stat(filepath.Join(d, "anarchon-plugin-"+named)); err == nil {
			return storekit.Plugin{Name: named}, nil
		}
	}
	root, err := moduleRoot()
	if err != nil {
		return storekit.Plugin{}, err
	}
	source := filepath.Join(root, "plugins", named)
	if root == "" || !isDir(source) {
		return storekit.Plugin{Name: named}, nil
	}
	binary := filepath.Join(dir, "anarchon-plugin-"+named)
	fmt.Fprintf(os.Stderr, "building the %s plugin …\n", named)
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, source)
	build.Dir = root
	if out, err := build.CombinedOutput(); ctx.Err() != nil {
		return storekit.Plugin{}, fmt.Errorf("stopped while the %s plugin was built", named)
	} else if err != nil {
		return storekit.Plugin{}, fmt.Errorf("the %s plugin does not build (%w); the SQLite plugin needs a C compiler:\n%s", named, err, bytes.TrimSpace(out))
	}
	return storekit.Plugin{Path: binary}, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// moduleRoot returns the root of anarchon's own module at or above the working
// directory, or "" if it is elsewhere.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("the working directory can't be told: %w", err)
	}
	for {
		b, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && moduleOf(b) == modulePath {
			return dir, nil
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", nil
		}
		dir = parent
	}
}

func moduleOf(gomod []byte) string {
	lines := bufio.NewScanner(bytes.NewReader(gomod))
	for lines.Scan() {
		if name, ok := strings.CutPrefix(strings.TrimSpace(lines.Text()), "module "); ok {
			return strings.TrimSpace(name)
		}
	}
	return ""
}

// parseConfig turns key=value pairs into a plugin's configuration.
func parseConfig(pairs []string) (map[string]any, error) {
	config := make(map[string]any, len(pairs))
	for _, p := range pairs {
		key, value, ok := strings.Cut(p, "=")
		if !ok || key == "" {
			return nil, usageError{fmt.Errorf("-config %q is not key=value", p)}
		}
		if _, twice := config[key]; twice {
			return nil, usageError{fmt.Errorf("-config gives the option %q twice", key)}
		}
		config[key] = value
	}
	return config, nil
}
