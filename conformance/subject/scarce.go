package subject

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"github.com/anarchon-go/anarchon/conformance/kit"
)

// smallName stands, in the options of a store that is to be filled, for a directory
// on a small file system.
const smallName = "small"

// smallSize is enough for a store with some hundred runs, in bytes.
const smallSize = 8 << 20

// makeSmall makes the small file system. It is gone when the plugin is closed.
func (p *Plugin) makeSmall() (string, error) {
	dir := filepath.Join(p.tmp, smallName)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	if err := mountMemory(dir, smallSize); err != nil {
		return "", fmt.Errorf("mounting %s: %w", dir, err)
	}
	p.mounted = dir
	return dir, nil
}

// OpenSmall starts one more process, on the store that can be filled: the server's,
// or one on a small file system.
func (p *Plugin) OpenSmall(ctx context.Context) (kit.Process, error) {
	if len(p.variant.Small) == 0 {
		return p.Open(ctx, "")
	}
	dir, err := p.small()
	if err != nil {
		return nil, err
	}
	config := p.in(p.own)
	for option, value := range expandAll(p.variant.Small, map[string]string{smallName: dir, tmpName: p.data}) {
		config = with(config, option, value)
	}
	c, err := p.open(ctx, config)
	if err != nil {
		return nil, err
	}
	return process{c}, nil
}

// Exhaust uses up the server's space or connections, or what is left of the small
// file system.
func (p *Plugin) Exhaust(ctx context.Context, what kit.Needs) (func(context.Context) error, error) {
	switch {
	case what == kit.NeedConnections:
		return p.named[0].Exhaust(ctx, p.named[0].Spec().Connections)
	case len(p.variant.Small) == 0:
		return p.named[0].Exhaust(ctx, p.named[0].Spec().Space)
	}
	dir, err := p.small()
	if err != nil {
		return nil, err
	}
	return fill(filepath.Join(dir, "fill"))
}

// fill makes a file that leaves nothing of its file system's space. The function
// returned removes it.
func fill(path string) (func(context.Context) error, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(f, zeros{})
	if err = errors.Join(err, f.Close()); !errors.Is(err, syscall.ENOSPC) {
		return nil, errors.Join(fmt.Errorf("filling a small file system ended with: %w", err), os.Remove(path))
	}
	return func(context.Context) error { return os.Remove(path) }, nil
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}
