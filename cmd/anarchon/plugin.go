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
	file, missing := builtPluginFile(named)
	if missing == nil {
		return storekit.Plugin{Path: file}, nil
	}
	root, err := moduleRoot()
	if err != nil {
		return storekit.Plugin{}, err
	}
	source := filepath.Join(root, "plugins", named)
	if root == "" || !isDir(source) {
		return storekit.Plugin{}, missing
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

// builtPluginFile returns the file of the built plugin of that name, where storekit
// looks for it too. Its error is in the words of the command line: storekit's own is for
// whoever writes a service.
func builtPluginFile(named string) (string, error) {
	dirs := filepath.SplitList(os.Getenv("ANARCHON_PLUGIN_DIR"))
	if self, err := os.Executable(); err == nil {
		dirs = append(dirs, filepath.Dir(self))
	}
	var tried []string
	for _, d := range dirs {
		for _, name := range []string{storekit.BinaryPrefix + named, named} {
			file, err := filepath.Abs(filepath.Join(d, name))
			if err != nil {
				return "", err
			}
			why := unfit(file)
			if why == "" {
				return file, nil
			}
			if name != named || exists(file) {
				tried = append(tried, "\t"+file+": "+why)
			}
		}
	}
	return "", fmt.Errorf("plugin %q is not found; looked for\n%s\n"+
		"give -plugin PATH (plugin and conform take PATH as their argument), put %s%s beside anarchon, "+
		"set $ANARCHON_PLUGIN_DIR to the directory where it is, or run inside a checkout of anarchon, where the plugin is built from its source",
		named, strings.Join(tried, "\n"), storekit.BinaryPrefix, named)
}

// unfit says why a file can't be a plugin, "" if it can.
func unfit(file string) string {
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "there is no such file"
	case err != nil:
		return err.Error()
	case !info.Mode().IsRegular():
		return "it is not a file"
	case info.Mode().Perm()&0o111 == 0:
		return "it is not executable (chmod +x)"
	}
	return ""
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
