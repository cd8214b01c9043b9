package storekit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// handshakeError says what was seen of a plugin that did not come up.
func (g *generation) handshakeError(ctx context.Context, err error) error {
	var failed *os.PathError
	if errors.As(err, &failed) {
		return execError(failed)
	}
	line := g.proc.firstLine()
	if served, ok := servedVersion(line); ok && served != ProtocolVersion {
		return fmt.Errorf("it serves version %d of the plugin protocol, and this program speaks version %d: use a plugin and a program of the same anarchon major version", served, ProtocolVersion)
	}
	if err := ctx.Err(); err != nil {
		text := "printed nothing to stdout"
		if line != "" {
			text = fmt.Sprintf("printed %q to stdout", clip(line))
		}
		return g.withWords(fmt.Errorf("no handshake in time (%w); it runs and %s: is it an anarchon plugin, built for this system?", context.Cause(ctx), text))
	}
	if strings.Contains(err.Error(), "it listens on") { // from PluginToHost
		return err
	}
	if line != "" {
		why := "it is not an anarchon plugin, or it prints before it calls storekit.Serve"
		if g.embedded {
			why = embedFirst
		}
		return g.withWords(fmt.Errorf("it printed %q to stdout where the handshake must be: %s", clip(line), why))
	}
	select {
	case <-g.proc.done:
		why := "is it an anarchon plugin?"
		if g.embedded {
			why = embedFirst
		}
		return g.withWords(fmt.Errorf("it ended before the handshake (%s): %s", g.proc.exitText, why))
	case <-time.After(outputGrace):
		return g.withWords(err)
	}
}

// embedFirst is what the author of a service that carries its plugin must know.
const embedFirst = "call storekit.Embed first thing in main, whatever the arguments, and before anything is printed: " +
	"this program is started a second time to be the plugin, without its arguments and without its environment"

func (g *generation) withWords(err error) error {
	if words := g.log.lastWords(); words != "" {
		return fmt.Errorf("%w; it said:\n\t%s", err, words)
	}
	return err
}

func execError(err *os.PathError) error {
	switch {
	case errors.Is(err, syscall.ENOEXEC):
		return fmt.Errorf("%w: the file is no program for this system, or a script without a \"#!\" line", err)
	case errors.Is(err, os.ErrNotExist): // the file was there a moment ago
		return fmt.Errorf("%w: the interpreter or the dynamic loader that the file names is missing", err)
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("%w: the file, or one of its directories, can't be executed by this user, or the file system is mounted noexec", err)
	}
	return err
}

// servedVersion reads the plugin's protocol version from a handshake line.
func servedVersion(line string) (int, bool) {
	parts := strings.Split(line, "|")
	if len(parts) < 4 {
		return 0, false
	}
	v, err := strconv.Atoi(parts[1])
	return v, err == nil
}

// offersTLS reports whether a handshake line has a certificate.
func offersTLS(line string) bool {
	parts := strings.Split(line, "|")
	return len(parts) > 5 && parts[5] != ""
}
