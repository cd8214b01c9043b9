package subject

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/anarchon-go/anarchon/conformance/containers"
	"github.com/anarchon-go/anarchon/conformance/kit"
	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/internal/yamlkeys"
)

// SettingsFile, in a plugin's directory or beside its binary, says how the suite
// runs the plugin:
//
//	program: plugin.py       # a plugin that is not in Go: its executable; optional
//	containers:              # the servers that variants may use; optional
//	  cache:
//	    image: redis-8.6     # of conformance/images, or any reference
//	    port: 6379
//	    command: [redis-server, --appendonly, "yes"]
//	    env: {NAME: value}
//	    files: {/etc/cache.conf: "text"}
//	    tmpfs: {/small: "size=16m"}
//	    ready: Ready to accept connections
//	    space:               # how the server is made full, and gets room again; optional
//	      take: [redis-cli, CONFIG, SET, maxmemory, "1"]
//	      give: [redis-cli, CONFIG, SET, maxmemory, "0"]
//	    connections: {idle: 1100} # how its connections are used up; optional
//	variants:
//	  default:
//	    kind: lease          # what the plugin must declare; optional
//	    config:              # the plugin's options
//	      path: ${tmp}/store.db
//	      url: redis://${cache}/0
//	    faults:              # what can't be done to the server, and why; optional
//	      crash: it keeps its data in memory
//	    fresh:               # options of a store that nobody has used; optional
//	      path: ${tmp}/${fresh}.db
//	    tamper: [./tamper]   # a program that changes the store past the plugin; optional
//	    damage: true         # that program can make records unreadable, too; optional
//	    clear: true          # and remove a namespace, or all; optional
//	    small:               # options of a store that lies on a small file system; optional
//	      path: ${small}/store.db
//
// ${tmp} is a fresh directory of each run, gone after it. ${cache} is host:port of
// that container, which is started because the configuration names it; in another
// container's env, ${cache.ip} is its address for containers. An option that the
// user gives replaces the variant's: with -config url=… no container is started.
//
// A server runs out of space or connections by two commands that are run in its
// container, take and give, or by as many idle connections as leave no room for
// others. A store in a file runs out of space on ${small}, a file system of the
// suite's in memory, which only root can make, on Linux.
//
// The faults are link, pause, crash, space and connections. ${fresh} is a new name; without fresh the
// option namespace is one. The program of tamper, a directory with its source in
// Go or a command, is run in the directory of the file; the plugin runs where the suite
// does, and ANARCHON_PLUGIN_WORKDIR names that directory. It is given the plugin's
// options as JSON on its standard input and one argument more: dump, unknown, newer or,
// if the file says so, damage, or clear and drop; see [kit.Tampering]. What the suite wrote into
// a server that it did not start is cleared when it is over.
const SettingsFile = "conformance.yaml"

// Settings are the contents of a [SettingsFile].
type Settings struct {
	Program    string // executable, relative to the file; empty: the directory is built by go build
	Containers map[string]containers.Spec
	Variants   map[string]Variant
}

// Variant is one configuration that the plugin is judged in.
type Variant struct {
	Kind   store.Kind     // what the plugin must declare; 0 if left open
	Config map[string]any // may hold placeholders
	// Faults are those that can't be injected, each with the reason.
	Faults map[string]string
	Fresh  map[string]any // options of a store that nobody has used
	Tamper []string       // the command that changes the store past the plugin
	Damage bool           // and can make what it holds unreadable
	Clear  bool           // and can remove what the suite left in a server that it did not start
	Small  map[string]any // options of a store on a small file system
}

// defaultVariant is chosen if several are there and none is named.
const defaultVariant = "default"

// ReadSettings reads a settings file. A missing one means one variant without
// options.
func ReadSettings(path string) (Settings, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Settings{Variants: map[string]Variant{defaultVariant: {}}}, nil
	}
	if err != nil {
		return Settings{}, err
	}
	s, err := ParseSettings(b)
	if err != nil {
		return Settings{}, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// ParseSettings reads the contents of a settings file. Unknown keys are refused.
func ParseSettings(b []byte) (Settings, error) {
	doc, err := yamlkeys.Document(b)
	if err != nil {
		return Settings{}, err
	}
	s := Settings{Variants: map[string]Variant{}}
	if doc == nil {
		return s, errors.New("the file is empty; it must name at least one variant")
	}
	var variants *yaml.Node
	err = yamlkeys.Each(doc, []string{"variants", "containers", "program"}, func(key string, value *yaml.Node) (err error) {
		switch key {
		case "variants":
			variants = value // they may name containers that come after them
		case "containers":
			s.Containers, err = parseContainers(value)
		case "program":
			if s.Program = value.Value; s.Program == "" || !filepath.IsLocal(s.Program) {
				err = fmt.Errorf("line %d: program is %q; it must be the name of a file in this directory or below", value.Line, s.Program)
			}
		}
		return err
	})
	if err == nil && variants != nil {
		err = yamlkeys.Each(variants, nil, func(name string, node *yaml.Node) error {
			v, err := s.parseVariant(node)
			s.Variants[name] = v
			return err
		})
	}
	if err == nil && len(s.Variants) == 0 {
		err = errors.New("there is no variant; name at least one below \"variants\"")
	}
	return s, err
}

func (s Settings) parseVariant(node *yaml.Node) (v Variant, err error) {
	return v, yamlkeys.Each(node, []string{"kind", "config", "faults", "fresh", "tamper", "damage", "clear", "small"}, func(key string, value *yaml.Node) (err error) {
		switch key {
		case "kind":
			if err := v.Kind.UnmarshalText([]byte(value.Value)); err != nil {
				return fmt.Errorf("line %d: %w", value.Line, err)
			}
		case "config":
			v.Config, err = s.parseOptions(value)
		case "fresh":
			v.Fresh, err = s.parseOptions(value, freshName)
		case "small":
			v.Small, err = s.parseOptions(value, smallName)
		case "faults":
			v.Faults, err = parseFaults(value)
		case "damage", "clear":
			into := &v.Damage
			if key == "clear" {
				into = &v.Clear
			}
			if err := value.Decode(into); err != nil {
				return fmt.Errorf("line %d: %s must be true or false", value.Line, key)
			}
		case "tamper":
			if err := value.Decode(&v.Tamper); err != nil || len(v.Tamper) == 0 {
				return fmt.Errorf("line %d: tamper must be a list: a program and its arguments", value.Line)
			}
		}
		return err
	})
}

// parseOptions reads options of the plugin; more are placeholders that they may
// hold.
func (s Settings) parseOptions(node *yaml.Node, more ...string) (map[string]any, error) {
	options := map[string]any{}
	return options, yamlkeys.Each(node, nil, func(option string, value *yaml.Node) error {
		var x any
		if err := value.Decode(&x); err != nil {
			return fmt.Errorf("line %d: option %q: %w", value.Line, option, err)
		}
		options[option] = x
		return s.checkPlaceholders(x, value.Line, more...)
	})
}

// parseFaults reads what can't be done to a server.
func parseFaults(node *yaml.Node) (map[string]string, error) {
	faults := map[string]string{}
	var known []string
	for _, need := range []kit.Needs{kit.NeedLink, kit.NeedPause, kit.NeedCrash, kit.NeedSpace, kit.NeedConnections} {
		known = append(known, need.String())
	}
	return faults, yamlkeys.Each(node, known, func(fault string, value *yaml.Node) error {
		if value.Kind != yaml.ScalarNode || value.Value == "" {
			return fmt.Errorf("line %d: %s must be the reason why the fault can't be injected", value.Line, fault)
		}
		faults[fault] = value.Value
		return nil
	})
}

// Pick returns the variant of that name; without a name the only one, or the one
// called default.
func (s Settings) Pick(name string) (string, Variant, error) {
	if name == "" {
		name = defaultVariant
		if len(s.Variants) == 1 {
			for only := range s.Variants {
				name = only
			}
		}
	}
	v, ok := s.Variants[name]
	if !ok {
		return "", Variant{}, fmt.Errorf("there is no variant %q; known are %q", name, slices.Sorted(maps.Keys(s.Variants)))
	}
	return name, v, nil
}
