// Package tamper is the frame of the programs that change a store past its plugin,
// for the conformance suite: see tamper in package conformance/subject.
package tamper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// Store is what such a program changes. Each method returns the lines that the
// suite reads.
type Store interface {
	// Dump lists all that the store holds, and for a [Dropper] the store itself too: it
	// lists nothing only if there is nothing that Drop would remove.
	Dump(ctx context.Context) ([]string, error)
	// Unknown puts fields that no version knows into everything that the store holds,
	// and returns parts of the lines of Dump that say so.
	Unknown(ctx context.Context) ([]string, error)
	// Newer makes the store say that it has the format after the plugin's.
	Newer(ctx context.Context) error
	Close() error
}

// Damager is a [Store] whose records can be made unreadable.
type Damager interface {
	// Damage puts what a stranger might write in the place of everything that is known
	// of jobs and runs, and says what it changed.
	Damage(ctx context.Context) ([]string, error)
}

// Clearer is a [Store] from which a namespace can be removed.
type Clearer interface {
	// Clear removes what the store holds of the namespace that the options name. There
	// may be nothing.
	Clear(ctx context.Context) error
}

// Dropper is a [Clearer] that holds several namespaces, and can be removed whole.
type Dropper interface {
	// Drop removes the store, and with it whatever others may have put into it. It is
	// asked for only if Dump listed nothing before the suite came.
	Drop(ctx context.Context) error
}

// limit bounds what a program does.
const limit = 30 * time.Second

// workDir is the variable that names the directory in which the plugin runs, to which
// paths among its options refer.
const workDir = "ANARCHON_PLUGIN_WORKDIR"

// Main is the main function of a program: it opens the store that the options on
// standard input name, and does what the last argument says.
func Main[Options any](open func(context.Context, Options) (Store, error)) {
	if dir := os.Getenv(workDir); dir != "" {
		if err := os.Chdir(dir); err != nil {
			fmt.Fprintln(os.Stderr, "tamper:", err)
			os.Exit(1)
		}
	}
	if err := run(os.Args[len(os.Args)-1], os.Stdin, os.Stdout, open); err != nil {
		fmt.Fprintln(os.Stderr, "tamper:", err)
		os.Exit(1)
	}
}

func run[Options any](what string, in io.Reader, out io.Writer, open func(context.Context, Options) (Store, error)) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	var options Options
	if err := json.NewDecoder(in).Decode(&options); err != nil {
		return fmt.Errorf("the plugin's options, as JSON on standard input: %w", err)
	}
	s, err := open(ctx, options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	lines, err := do(ctx, s, what)
	for _, l := range lines {
		fmt.Fprintln(out, l)
	}
	return err
}

func do(ctx context.Context, s Store, what string) ([]string, error) {
	d, damages := s.(Damager)
	c, clears := s.(Clearer)
	whole, drops := s.(Dropper)
	switch {
	case what == "dump":
		return s.Dump(ctx)
	case what == "unknown":
		return s.Unknown(ctx)
	case what == "newer":
		return nil, s.Newer(ctx)
	case what == "damage" && damages:
		return d.Damage(ctx)
	case what == "clear" && clears:
		return nil, c.Clear(ctx)
	case what == "drop" && drops:
		return nil, whole.Drop(ctx)
	}
	return nil, fmt.Errorf("%q is none of dump, unknown, newer, and damage, clear and drop where the store has them", what)
}
