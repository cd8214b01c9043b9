package subject

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/anarchon-go/anarchon/conformance/containers"
	"github.com/anarchon-go/anarchon/internal/yamlkeys"
)

// parseContainers reads the servers of a settings file.
func parseContainers(node *yaml.Node) (map[string]containers.Spec, error) {
	specs := map[string]containers.Spec{}
	err := yamlkeys.Each(node, nil, func(name string, node *yaml.Node) error {
		if name == tmpName || strings.ContainsAny(name, ".${}") {
			return fmt.Errorf("line %d: a container can't be called %q", node.Line, name)
		}
		spec, err := parseContainer(node)
		specs[name] = spec
		return err
	})
	if err != nil {
		return nil, err
	}
	for name, spec := range specs {
		for _, value := range spec.Env {
			for _, p := range placeholders(value) {
				other, ok := strings.CutSuffix(p, ipSuffix)
				if _, there := specs[other]; !ok || !there || other == name {
					return nil, fmt.Errorf("container %q: unknown placeholder in %q; write ${NAME.ip} for another container's address", name, value)
				}
			}
		}
	}
	return specs, nil
}

const ipSuffix = ".ip"

func parseContainer(node *yaml.Node) (spec containers.Spec, err error) {
	err = yamlkeys.Each(node, []string{"image", "port", "command", "env", "files", "tmpfs", "ready", "space", "connections"}, func(key string, value *yaml.Node) error {
		var into any
		switch key {
		case "image":
			into = &spec.Image
		case "port":
			into = &spec.Port
		case "command":
			into = &spec.Command
		case "env":
			into = &spec.Env
		case "files":
			into = &spec.Files
		case "tmpfs":
			into = &spec.Tmpfs
		case "ready":
			into = &spec.Ready
		case "space", "connections":
			shortage, err := parseShortage(value)
			if key == "space" {
				spec.Space = shortage
			} else {
				spec.Connections = shortage
			}
			return err
		}
		if err := value.Decode(into); err != nil {
			return fmt.Errorf("line %d: %s: %w", value.Line, key, err)
		}
		return nil
	})
	if err == nil && (spec.Image == "" || spec.Port < 1 || spec.Port > 65535) {
		err = fmt.Errorf("line %d: a container needs an image and a port from 1 to 65535", node.Line)
	}
	return spec, err
}

// parseShortage reads how a server is made to run out of something.
func parseShortage(node *yaml.Node) (s containers.Shortage, err error) {
	err = yamlkeys.Each(node, []string{"take", "give", "idle"}, func(key string, value *yaml.Node) error {
		into := any(&s.Take)
		switch key {
		case "give":
			into = &s.Give
		case "idle":
			into = &s.Idle
		}
		if err := value.Decode(into); err != nil {
			return fmt.Errorf("line %d: %s: %w", value.Line, key, err)
		}
		return nil
	})
	commands := len(s.Take) > 0 && len(s.Give) > 0
	if err == nil && (commands == (s.Idle > 0) || !commands && len(s.Take)+len(s.Give) > 0) {
		err = fmt.Errorf("line %d: a shortage needs the commands take and give, or a number of idle connections", node.Line)
	}
	return s, err
}

// servers are the containers of one run.
type servers struct {
	specs   map[string]containers.Spec
	running map[string]*containers.Container
}

// start starts the containers that a configuration names, and those that they
// name. It returns what the placeholders stand for.
func (s *servers) start(ctx context.Context, config map[string]any) (map[string]string, error) {
	values := map[string]string{}
	for _, option := range slices.Sorted(maps.Keys(config)) {
		for _, name := range placeholders(config[option]) {
			if name == tmpName {
				continue
			}
			c, err := s.one(ctx, name, nil)
			if err != nil {
				return nil, err
			}
			values[name] = c.Addr()
		}
	}
	return values, nil
}

// one starts a container after those that its environment names. above are the
// containers that wait for it.
func (s *servers) one(ctx context.Context, name string, above []string) (*containers.Container, error) {
	if c := s.running[name]; c != nil {
		return c, nil
	}
	if slices.Contains(above, name) {
		return nil, fmt.Errorf("containers %q need each other", append(above, name))
	}
	spec, ok := s.specs[name]
	if !ok {
		return nil, fmt.Errorf("there is no container %q", name)
	}
	env := make(map[string]string, len(spec.Env))
	for key, value := range spec.Env {
		ips := map[string]string{}
		for _, p := range placeholders(value) {
			other, err := s.one(ctx, strings.TrimSuffix(p, ipSuffix), append(above, name))
			if err != nil {
				return nil, err
			}
			if ips[p], err = other.IP(ctx); err != nil {
				return nil, err
			}
		}
		env[key] = expand(value, ips).(string)
	}
	spec.Env = env
	c, err := containers.Start(ctx, spec)
	if err != nil {
		return nil, fmt.Errorf("container %q: %w", name, err)
	}
	s.running[name] = c
	return c, nil
}

// remove ends all of them.
func (s *servers) remove() error {
	var errs []error
	for _, c := range s.running {
		errs = append(errs, c.Remove())
	}
	return errors.Join(errs...)
}
