package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/storekit"
)

func pluginCommand() *cobra.Command {
	cmd := group(&cobra.Command{
		Use:   "plugin",
		Short: "Look at a plugin: what it is, what it found in its store, how fast it is",
	})
	cmd.AddCommand(pluginInfoCommand(), pluginBenchCommand())
	return cmd
}

func pluginInfoCommand() *cobra.Command {
	var (
		config []string
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "info NAME|PATH",
		Short: "What a plugin is, its options, and with -config what it found in the store",
		Example: `  anarchon plugin info sqlite
  anarchon plugin info ./bin/anarchon-plugin-redis -config url=redis://localhost:6379`,
		Args: onePlugin,
		RunE: func(cmd *cobra.Command, args []string) error {
			return withPlugin(cmd.Context(), args[0], config, func(ctx context.Context, p storekit.Plugin) error {
				r, err := inspect(ctx, p)
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(cmd.OutOrStdout(), r)
				}
				return r.print(cmd.OutOrStdout())
			})
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&config, "config", nil, "an option of the plugin, key=value; repeatable; with it the store is opened")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// onePlugin wants the name or the path of a plugin as the one argument.
func onePlugin(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usageError{fmt.Errorf("%d arguments; name one plugin, or give its path", len(args))}
	}
	return nil
}

// withPlugin finds the plugin that a user named, builds it if need be, and gives it
// with its configuration to use.
func withPlugin(ctx context.Context, named string, config []string, use func(context.Context, storekit.Plugin) error) error {
	values, err := parseConfig(config)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "anarchon-plugin-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	p, err := choosePlugin(ctx, named, dir)
	if err != nil {
		return err
	}
	p.Config = values
	p.Logger = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	return use(ctx, p)
}

// pluginReport is what plugin info tells.
type pluginReport struct {
	storekit.Inspection
	SHA256 string       `json:"sha256"` // of the file
	Size   int64        `json:"size"`   // bytes
	Store  *storeReport `json:"store"`  // null if it was not opened
}

// storeReport is what a plugin found in its store.
type storeReport struct {
	Kind       store.Kind     `json:"kind"`
	Strategy   string         `json:"strategy"`
	Memory     string         `json:"memory"` // how long a granted slot is remembered
	Clock      store.Clock    `json:"clock"`
	Fenced     bool           `json:"fenced"`
	History    bool           `json:"history"`
	Product    string         `json:"product"`
	Format     int            `json:"format"`
	Settings   []storeSetting `json:"settings"`
	Warnings   []string       `json:"warnings"`
	Unfinished *int           `json:"unfinished"` // runs; null where they are not known
}

func reportOf(d store.Description) storeReport {
	r := storeReport{
		Kind: d.Kind, Strategy: d.Strategy, Memory: d.Memory.String(), Clock: d.Clock, Fenced: d.Fenced, History: d.History,
		Product: d.Product, Format: d.Format, Settings: []storeSetting{}, Warnings: append([]string{}, d.Warnings...),
	}
	for _, s := range d.Settings {
		r.Settings = append(r.Settings, storeSetting(s))
	}
	return r
}

type storeSetting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// inspect asks a plugin what it is. If it got a configuration, or needs none, its
// store is opened as well.
func inspect(ctx context.Context, p storekit.Plugin) (*pluginReport, error) {
	found, err := storekit.Inspect(ctx, p)
	if err != nil {
		return nil, err
	}
	r := &pluginReport{Inspection: found}
	if r.SHA256, r.Size, err = fileSum(found.Path); err != nil {
		return nil, err
	}
	if len(p.Config) == 0 && len(found.Options) > 0 {
		return r, nil
	}
	given := p.Config
	p.Config = lookOnly(given, found)
	plugin, err := storekit.Open(ctx, p)
	if err != nil {
		return nil, openRemedy(err, given, found, onlyLooks)
	}
	defer plugin.Close()
	d, err := plugin.Describe(ctx)
	if err != nil {
		return nil, err
	}
	report := reportOf(d)
	r.Store = &report
	if d.Kind == store.KindLease {
		runs, err := plugin.Unfinished(ctx, store.UnfinishedRequest{})
		if err != nil {
			return nil, err
		}
		n := len(runs.Runs)
		r.Store.Unfinished = &n
	}
	return r, nil
}

func fileSum(path string) (sum string, size int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	h := sha256.New()
	if size, err = io.Copy(h, f); err != nil {
		return "", 0, err
	}
	return hex.EncodeToString(h.Sum(nil)), size, nil
}

func printJSON(out io.Writer, v any) error {
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

func (r *pluginReport) print(out io.Writer) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "%s %s\tplugin protocol %s\n", r.Name, r.Version, strings.Trim(fmt.Sprint(r.Protocols), "[]"))
	fmt.Fprintf(t, "file\t%s\n", r.Path)
	fmt.Fprintf(t, "SHA-256\t%s\n", r.SHA256)
	fmt.Fprintf(t, "size\t%.1f MB\n", float64(r.Size)/1e6)
	if len(r.Strategies) > 0 {
		fmt.Fprintf(t, "strategies\t%s\n", strings.Join(r.Strategies, ", "))
	}
	fmt.Fprintln(t)
	r.printOptions(t)
	if r.Store == nil {
		fmt.Fprintln(t, "The store was not opened: give -config key=value.")
	} else {
		r.Store.print(t)
	}
	return t.Flush()
}

func (r *pluginReport) printOptions(t io.Writer) {
	if len(r.Options) == 0 {
		fmt.Fprint(t, "It has no options.\n\n")
		return
	}
	fmt.Fprintln(t, "option\ttype\tdefault\t")
	for _, o := range r.Options {
		kind, byDefault := string(o.Type), o.Default
		if o.Secret {
			kind += ", secret"
		}
		if o.Required {
			byDefault = "(required)"
		}
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\n", o.Name, kind, byDefault, o.Help)
	}
	fmt.Fprintln(t)
}

func (r *storeReport) print(t io.Writer) {
	fmt.Fprintf(t, "store\t%s\n", r.Product)
	kind := r.Kind.String()
	if r.Strategy != "" {
		kind += ", strategy " + r.Strategy
	}
	fmt.Fprintf(t, "  kind\t%s\n", kind)
	fmt.Fprintf(t, "  remembers a slot\t%s\n", r.Memory)
	fmt.Fprintf(t, "  clock\t%s\n", r.Clock)
	fmt.Fprintf(t, "  fences stale runners\t%s\n", yesNo(r.Fenced))
	fmt.Fprintf(t, "  keeps history\t%s\n", yesNo(r.History))
	fmt.Fprintf(t, "  format\t%d\n", r.Format)
	for _, s := range r.Settings {
		fmt.Fprintf(t, "  %s\t%s\n", s.Name, s.Value)
	}
	if r.Unfinished != nil {
		fmt.Fprintf(t, "  unfinished runs\t%d\n", *r.Unfinished)
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(t, "  warning\t%s\n", w)
	}
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
