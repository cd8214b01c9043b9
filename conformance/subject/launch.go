package subject

import (
	"maps"
	"slices"
	"strings"

	"github.com/anarchon-go/anarchon/conformance/containers"
	"github.com/anarchon-go/anarchon/storekit"
)

// Launch says how a process of another program opens the plugin, in a namespace.
// In the texts of the configuration, what instead names is replaced: [Plugin.Data]
// by another directory, say, or a container's address by a proxy's.
func (p *Plugin) Launch(namespace string, instead map[string]string) storekit.Plugin {
	if namespace == "" || !p.namespace {
		namespace = p.own
	}
	config := maps.Clone(p.in(namespace))
	for option, value := range config {
		config[option] = replaceIn(value, instead)
	}
	return storekit.Plugin{Name: p.about.Plugin, Path: p.binary, Config: config, Logger: p.logger}
}

func replaceIn(x any, instead map[string]string) any {
	switch x := x.(type) {
	case string:
		for old, by := range instead {
			x = strings.ReplaceAll(x, old, by)
		}
		return x
	case []any:
		list := slices.Clone(x)
		for i := range list {
			list[i] = replaceIn(list[i], instead)
		}
		return list
	}
	return x
}

// Data is the directory that ${tmp} stands for.
func (p *Plugin) Data() string { return p.data }

// Containers are the servers that were started for the plugin, by name.
func (p *Plugin) Containers() map[string]*containers.Container { return maps.Clone(p.servers.running) }
