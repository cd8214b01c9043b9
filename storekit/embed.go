package storekit

import (
	"fmt"
	"log/slog"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// Embed makes this program carry a plugin: a service and its plugin can then be
// deployed as one file. [Open] starts the program itself once more, which becomes
// the plugin; so it is still a process of its own, with all that this is good for.
//
//	func main() {
//		storekit.Embed(sqlitestore.New)
//		…
//		plugin, err := storekit.Open(ctx, storekit.Plugin{Name: "sqlite", …})
//
// Call it first thing in main, before flags are read, files are opened or
// anything is printed: all that comes before it, package initialization included,
// happens in the plugin's process too. In that process it serves the plugin and
// does not return. The plugin's process has no arguments, and the environment
// that every plugin has.
//
// The name is that of the factory's Info. An embedded plugin is found before all
// others of its name; a [Plugin.Path] with a slash overrides it. A program may embed several
// plugins; Embed panics if two have the same name.
//
// What it costs: the driver and its dependencies are linked into the service, so a
// plugin that needs cgo makes the service need it.
func Embed(factory Factory) {
	name := factory(Env{Logger: slog.New(slog.DiscardHandler)}).Info().Name
	if isEmbedded() == name {
		Serve(factory)
		os.Exit(0)
	}
	embedded.Lock()
	defer embedded.Unlock()
	if embedded.names[name] {
		panic(fmt.Sprintf("storekit: two embedded plugins have the name %q", name))
	}
	if embedded.names == nil {
		embedded.names = map[string]bool{}
	}
	embedded.names[name] = true
}

// embeddedWords says which plugins this program carries, for whoever looks for one that
// it does not.
func embeddedWords() string {
	embedded.Lock()
	defer embedded.Unlock()
	if len(embedded.names) == 0 {
		return "this program carries no plugin itself (storekit.Embed)"
	}
	return fmt.Sprintf("this program carries %s (storekit.Embed)", strings.Join(slices.Sorted(maps.Keys(embedded.names)), ", "))
}

// embedded are the plugins that this program carries.
var embedded struct {
	sync.Mutex
	names map[string]bool
}

// isEmbedded returns the name of the plugin that this process was started to be,
// "" if it is none that is embedded.
func isEmbedded() string {
	if os.Getenv(cookieKey) != cookieValue {
		return ""
	}
	return os.Getenv(envEmbedded)
}

// findEmbedded returns the file of the program if it carries the plugin.
func findEmbedded(p Plugin) (path string, found bool, err error) {
	if name := isEmbedded(); name != "" {
		// Starting plugins from here would go on and on.
		return "", false, fmt.Errorf("this process was started as the embedded plugin %q and must not open one: call storekit.Embed first thing in main, whatever the arguments", name)
	}
	embedded.Lock()
	defer embedded.Unlock()
	if !embedded.names[p.target()] {
		return "", false, nil
	}
	if runtime.GOOS == "linux" {
		// The file that runs, also after another one was put in its place.
		return "/proc/self/exe", true, nil
	}
	path, err = os.Executable()
	return path, true, err
}
