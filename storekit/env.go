package storekit

import (
	"os"
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
