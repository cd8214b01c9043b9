// Package archtest proves the direction of the dependencies: plugins → storekit
// → core, conformance → storekit and core, core → the standard library alone.
package archtest

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/anarchon-go/anarchon"

// layer says what the packages of one top-level folder may import.
type layer struct {
	folders  []string // of this module
	outside  bool     // modules other than this one and the standard library
	testOnly []string // import paths that tests may use besides, each for a reason
}

// layers has a line for every top-level folder; a new folder must be added here,
// so that its place is a decision. A plugin may import itself, not its
// neighbours: see allowed.
var layers = map[string]layer{
	"core": {folders: []string{"core"},
		// How a budget is stated is the same everywhere.
		testOnly: []string{module + "/internal/budget"}},
	"storekit": {folders: []string{"core", "storekit", "internal"}, outside: true},
	"conformance": {folders: []string{"core", "storekit", "conformance", "internal"}, outside: true,
		// The kit proves itself on the plugin that needs no server.
		testOnly: []string{module + "/plugins/sqlite"}},
	"plugins": {folders: []string{"core", "storekit", "internal"}, outside: true,
		// A plugin's own tests may run the kit.
		testOnly: []string{module + "/conformance"}},
	"telemetry": {folders: []string{"core", "storekit", "telemetry", "internal"}, outside: true},
	"cmd":       {folders: []string{"core", "storekit", "conformance", "plugins", "cmd", "internal"}, outside: true},
	"examples":  {folders: []string{"core", "storekit", "conformance", "plugins", "telemetry", "examples", "internal"}, outside: true},
	"scripts":   {folders: []string{"internal"}},
	"internal": {folders: []string{"core", "storekit", "internal"}, outside: true,
		testOnly: []string{module + "/conformance", module + "/plugins", module + "/cmd", module + "/examples"}},
}

// importing is one import statement, reduced to what the rules look at.
type importing struct {
	from, to string // import paths
	std      bool   // to is of the standard library
	test     bool   // from a _test.go file
}

// allowed returns nil, or the rule that the import breaks.
func allowed(i importing) error {
	if i.std {
		return nil
	}
	from, _ := strings.CutPrefix(i.from, module+"/")
	folder, rest, _ := strings.Cut(from, "/")
	l, ok := layers[folder]
	if !ok {
		return fmt.Errorf("folder %q has no line in layers: say what it may import", folder)
	}
	under := func(p string) bool { return within(i.to, p) }
	if i.test && slices.ContainsFunc(l.testOnly, under) {
		return nil
	}
	to, inside := strings.CutPrefix(i.to, module+"/")
	if !inside {
		if l.outside {
			return nil
		}
		return fmt.Errorf("%s imports the standard library and itself only", folder)
	}
	if folder == "plugins" {
		plugin, _, _ := strings.Cut(rest, "/")
		if under(module + "/plugins/" + plugin) {
			return nil
		}
	}
	target, _, _ := strings.Cut(to, "/")
	if !slices.Contains(l.folders, target) {
		return fmt.Errorf("%s may import %s of this module, not %s", folder, strings.Join(l.folders, ", "), target)
	}
	return nil
}

// within reports whether path is pkg or lies below it.
func within(path, pkg string) bool { return path == pkg || strings.HasPrefix(path, pkg+"/") }

func TestImportsPointOneWay(t *testing.T) {
	imports := moduleImports(t)
	if len(imports) < 20 {
		t.Fatalf("found %d Go files; the module has more", len(imports))
	}
	for file, ofFile := range imports {
		for _, i := range ofFile {
			if err := allowed(i); err != nil {
				t.Errorf("%s imports %s: %v", file, i.to, err)
			}
		}
	}
}

// TestServiceNeedsNoCgo: a service that embeds core and storekit builds without
// a C compiler; the SQLite driver stays in its plugin.
func TestServiceNeedsNoCgo(t *testing.T) {
	moduleImports(t) // reads every source file, so that a change of one makes a cached result stale
	args := []string{"list", "-deps", "-f", "{{if not .Standard}}{{if .CgoFiles}}{{.ImportPath}}{{end}}{{end}}", module + "/core/...", module + "/storekit/..."}
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1") // else go list hides them
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %v: %v\n%s", args, err, stderr.String())
	}
	for p := range strings.FieldsSeq(string(out)) {
		t.Errorf("core or storekit depends on %s, which needs cgo", p)
	}
}

func TestAllowed(t *testing.T) {
	m := func(p string) string { return module + "/" + p }
	tests := []struct {
		name string
		imp  importing
		want bool
	}{
		{"core → standard library", importing{m("core"), "context", true, false}, true},
		{"core → core", importing{m("core"), m("core/store"), false, false}, true},
		{"core → storekit", importing{m("core/cron"), m("storekit"), false, false}, false},
		{"core → another module", importing{m("core"), "google.golang.org/grpc", false, false}, false},
		{"core's tests → another module", importing{m("core"), "pgregory.net/rapid", false, true}, false},
		{"storekit → core", importing{m("storekit"), m("core/store"), false, false}, true},
		{"storekit → another module", importing{m("storekit"), "google.golang.org/grpc", false, false}, true},
		{"storekit → plugins", importing{m("storekit"), m("plugins/sqlite/sqlitestore"), false, false}, false},
		{"storekit → conformance", importing{m("storekit"), m("conformance"), false, true}, false},
		{"conformance → storekit", importing{m("conformance/faults"), m("storekit"), false, false}, true},
		{"conformance → plugins", importing{m("conformance"), m("plugins/sqlite/sqlitestore"), false, false}, false},
		{"plugin → itself", importing{m("plugins/sqlite"), m("plugins/sqlite/sqlitestore"), false, false}, true},
		{"plugin → neighbour", importing{m("plugins/sqlite"), m("plugins/redis/redisstore"), false, false}, false},
		{"plugin → a neighbour with the same start", importing{m("plugins/sql"), m("plugins/sqlite"), false, false}, false},
		{"plugin → conformance", importing{m("plugins/sqlite"), m("conformance"), false, false}, false},
		{"plugin's tests → conformance", importing{m("plugins/sqlite"), m("conformance"), false, true}, true},
		{"telemetry → core", importing{m("telemetry"), m("core"), false, false}, true},
		{"cmd → telemetry", importing{m("cmd/anarchon"), m("telemetry"), false, false}, false},
		{"example → telemetry", importing{m("examples/telemetry"), m("telemetry"), false, false}, true},
		{"core → telemetry", importing{m("core"), m("telemetry"), false, false}, false},
		{"storekit → telemetry", importing{m("storekit"), m("telemetry"), false, false}, false},
		{"unknown folder", importing{m("newfolder/x"), m("core"), false, false}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := allowed(tt.imp); (err == nil) != tt.want {
				t.Errorf("allowed = %v, want allowed: %v", err, tt.want)
			}
		})
	}
}

// moduleImports returns the imports of every Go file of the module, for every
// platform, by the file's path from the module's root.
func moduleImports(t *testing.T) map[string][]importing {
	t.Helper()
	const root = "../.."
	found := map[string][]importing{}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if p != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || otherModule(p)) {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(p) != ".go" {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			to, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			// A file's folder is its import path, also for its tests in package x_test.
			from := path.Join(module, filepath.ToSlash(filepath.Dir(rel)))
			first, _, _ := strings.Cut(to, "/")
			std := !strings.Contains(first, ".")
			found[rel] = append(found[rel], importing{from, to, std, strings.HasSuffix(p, "_test.go")})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// otherModule reports whether a folder is a module of its own, e.g. tools.
func otherModule(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}
