package storekit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// passedOn are the host's variables that a plugin may see: what a program needs
// to find its home, its words, its clock and its certificates, and what an
// operator sets for the Go runtime. Everything else stays with the host; secrets
// of the service most of all.
var passedOn = []string{
	"PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "XDG_RUNTIME_DIR",
	"LANG", "LANGUAGE", "TZ", "TZDIR", "ZONEINFO",
	"SSL_CERT_FILE", "SSL_CERT_DIR",
	"GOMAXPROCS", "GOMEMLIMIT", "GOGC", "GODEBUG", "GOTRACEBACK", "GOCOVERDIR",
}

// pluginEnv makes a plugin's environment, without what a launch adds.
func pluginEnv(extra []string, level string) []string {
	env := []string{envLogLevel + "=" + level}
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if slices.Contains(passedOn, name) || strings.HasPrefix(name, "LC_") || slices.Contains(extra, name) {
			env = append(env, kv)
		}
	}
	for _, kv := range extra {
		if strings.Contains(kv, "=") {
			env = append(env, kv)
		}
	}
	return env
}

// maxSocketPath is what every Unix can hold as a socket's path: 104 bytes with
// the NUL on macOS and the BSDs, 108 on Linux.
const maxSocketPath = 103

// makeSocketDir makes a directory, which only this user can enter, for a plugin's
// socket. The system's runtime directory comes first: what lies in the temporary
// one may be cleaned away under a plugin that runs for weeks.
func makeSocketDir() (string, error) {
	var faults []error
	for _, base := range socketBases() {
		dir, err := os.MkdirTemp(base, socketDirPrefix) // mode 0700
		if err != nil {
			faults = append(faults, err)
			continue
		}
		// The plugin makes "plugin" and up to ten digits in it.
		if n := len(filepath.Join(dir, "plugin0123456789")); n > maxSocketPath {
			os.Remove(dir)
			faults = append(faults, fmt.Errorf("%s: a socket in there would have a path of %d bytes; %d is the most", base, n, maxSocketPath))
			continue
		}
		return dir, nil
	}
	return "", fmt.Errorf("no directory for the plugin's socket; set TMPDIR to a short one that can be written:\n\t%w", errors.Join(faults...))
}

func socketBases() []string {
	var bases []string
	if dirs := filepath.SplitList(os.Getenv("RUNTIME_DIRECTORY")); len(dirs) > 0 { // systemd's
		bases = append(bases, dirs[0])
	}
	if dir := os.Getenv("XDG_RUNTIME_DIR"); dir != "" {
		bases = append(bases, dir)
	}
	bases = append(bases, os.TempDir())
	if !slices.Contains(bases, "/tmp") {
		bases = append(bases, "/tmp")
	}
	return bases
}
