package storekit

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Plugin says which plugin to run, and how. Name or Path is required; the zero
// value of everything else is its default.
type Plugin struct {
	// Name of the plugin, e.g. "sqlite". The one that the program carries is taken
	// ([Embed]); else the file anarchon-plugin-sqlite (or sqlite) is looked for in
	// Dirs, in the directories of $ANARCHON_PLUGIN_DIR, in the directory of the running
	// program, and, with SearchPATH, in $PATH.
	Name string
	// Path of the plugin's file, instead of looking for Name. A relative one counts
	// from the working directory.
	Path string
	// Config holds the plugin's options by name; see `anarchon-plugin-NAME describe`.
	// A string that begins with "@" names a file that holds the value, without its
	// last line break: for secrets. "@@" stands for a plain "@".
	Config map[string]any

	// Logger gets the plugin's log and the host's own lines about it, on a goroutine
	// of its own: one that blocks delays nothing. Of what a plugin writes 2 000 lines
	// and 2 MiB a second are passed on; the rest is dropped and counted. Default:
	// slog.Default().
	Logger *slog.Logger
	// OnEvent is called for each event of the plugin's life, one at a time and in
	// order, on a goroutine of its own: a callback that blocks delays later events
	// only.
	OnEvent func(Event)
	// Dirs are searched first for Name.
	Dirs []string
	// SearchPATH also looks into $PATH: whoever can write there can replace the
	// plugin.
	SearchPATH bool
	// Env are more variables of the plugin, "NAME=value", or "NAME" to hand on the
	// host's. A plugin gets PATH, HOME, locale, time zone, TLS roots and the Go
	// runtime's variables only. Secrets belong in Config: the environment can be read
	// from outside.
	Env []string

	// SHA256 is the sum that the plugin's file must have, in hexadecimal. It is
	// checked before each start. Empty: any.
	SHA256 string
	// MinVersion is the least version that the plugin may have, e.g. "1.2.0". It is
	// checked before the plugin gets its configuration. Empty: any.
	MinVersion string
	// MutualTLS encrypts the connection, with certificates made for each start. The
	// socket lies in a directory that only this user can enter, so this adds little
	// and makes each start slower: see docs/security.md.
	MutualTLS bool
	// Debug is for a plugin under a debugger: a plugin that does not answer is not
	// killed, and the three timeouts are an hour by default. See the package's text.
	Debug bool

	// StartTimeout bounds launch, handshake and configuration together. Default
	// 30 s.
	StartTimeout time.Duration
	// CallTimeout bounds a call whose context has no earlier deadline. Default 10 s.
	CallTimeout time.Duration
	// CloseTimeout bounds [Client.Close] altogether. Default 5 s.
	CloseTimeout time.Duration
}

// Open finds, starts and configures a plugin. ctx bounds the launch only; the
// plugin then lives until [Client.Close], or until this process ends, however it
// ends. An error says what was tried, what was seen and what to do; it never
// holds the value of a secret option.
func Open(ctx context.Context, p Plugin) (*Client, error) {
	name := p.shownName()
	l, err := newLauncher(name, p)
	if err != nil {
		return nil, fmt.Errorf("plugin %s: %w", name, err)
	}
	c := newClient(name, p, l)
	if err := c.open(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// Inspect finds and starts a plugin, asks what it is, and stops it. It is not
// configured, so it opens no store; Config is not looked at, and OnEvent not called.
// ctx and [Plugin.StartTimeout] bound it.
func Inspect(ctx context.Context, p Plugin) (Inspection, error) {
	name := p.shownName()
	p.Config, p.OnEvent = nil, nil
	l, err := newLauncher(name, p)
	if err != nil {
		return Inspection{}, fmt.Errorf("plugin %s: %w", name, err)
	}
	c := newClient(name, p, l)
	defer c.end(nil)
	ctx, cancel := c.startContext(ctx)
	defer cancel()
	g, err := c.launch.meet(ctx)
	if err != nil {
		return Inspection{}, fmt.Errorf("plugin %s (%s): %w", name, l.shown, err)
	}
	_ = g.close(time.Now().Add(p.closeTimeout())) // nothing was opened
	path := l.path
	if l.shown != path {
		path, _ = os.Executable()
	}
	return Inspection{Info: g.info, Path: path}, nil
}

// Inspection is what [Inspect] finds.
type Inspection struct {
	Info
	Path string `json:"path"` // of the plugin's file
}

// newLauncher checks what can be checked before a process is started.
func newLauncher(name string, p Plugin) (launcher, error) {
	l := launcher{name: name, sum: p.SHA256, minVersion: p.MinVersion, mutualTLS: p.MutualTLS}
	if err := p.checkPins(); err != nil {
		return l, err
	}
	path, carried, err := findEmbedded(p)
	if err == nil && !carried {
		path, err = find(p)
	}
	if err != nil {
		return l, err
	}
	l.path, l.shown, l.env = path, path, pluginEnv(p.Env, levelOf(p.Logger))
	if carried {
		l.embedded, l.shown, l.env = true, "embedded", append(l.env, envEmbedded+"="+p.target())
	}
	l.config, err = encodeConfig(p.Config)
	return l, err
}

// shownName is what messages call the plugin.
func (p Plugin) shownName() string {
	if p.Name != "" {
		return p.Name
	}
	return strings.TrimPrefix(filepath.Base(p.Path), BinaryPrefix)
}

// target is what is looked for: a path, if it has a slash in it, or a name.
func (p Plugin) target() string { return cmp.Or(p.Path, p.Name) }

func (p Plugin) startTimeout() time.Duration { return p.timeout(p.StartTimeout, 30*time.Second) }
func (p Plugin) callTimeout() time.Duration  { return p.timeout(p.CallTimeout, 10*time.Second) }
func (p Plugin) closeTimeout() time.Duration { return p.timeout(p.CloseTimeout, 5*time.Second) }

func (p Plugin) timeout(d, byDefault time.Duration) time.Duration {
	switch {
	case d > 0:
		return d
	case p.Debug:
		return time.Hour
	}
	return byDefault
}

// encodeConfig makes the JSON that the plugin gets, with the contents of files in
// place of their names.
func encodeConfig(config map[string]any) (json.RawMessage, error) {
	values := make(map[string]any, len(config))
	var faults []error
	for name, v := range config {
		switch v := v.(type) {
		case time.Duration:
			values[name] = v.String()
		case string:
			s, err := resolveFile(v)
			if err != nil {
				faults = append(faults, fmt.Errorf("option %q: %w", name, err))
				continue
			}
			values[name] = s
		default:
			values[name] = v
		}
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	raw, err := json.Marshal(values)
	if err != nil {
		// The encoder's error is not passed on: it may quote a value.
		return nil, errors.New("the configuration has a value that JSON can't hold; use strings, numbers, booleans, durations and lists of strings")
	}
	return raw, nil
}

// levelOf is the least level that a logger takes, as a plugin's environment
// spells it.
func levelOf(logger *slog.Logger) string {
	logger = cmp.Or(logger, slog.Default())
	for _, l := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn} {
		if logger.Enabled(context.Background(), l) {
			return strings.ToLower(l.String())
		}
	}
	return "error"
}
