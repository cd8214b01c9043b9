package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/anarchon-go/anarchon/conformance/jobsfile"
	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/storekit"
)

// storeFlags are those of the commands that look into a store.
type storeFlags struct {
	plugin string
	config []string
}

func (s *storeFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.plugin, "plugin", "sqlite", "the plugin: a name or a path")
	f.StringArrayVar(&s.config, "config", nil, "an option of the plugin, key=value, or key=@file; repeatable")
}

// lookOnly is the configuration with which a plugin does not make a store that is not
// there, where it has the option to (create) and the user does not say otherwise: a
// slip in a path must not make a database.
func lookOnly(config map[string]any, found storekit.Inspection) map[string]any {
	_, given := config["create"]
	if given || !slices.ContainsFunc(found.Options, func(o storekit.Option) bool { return o.Name == "create" }) {
		return config
	}
	return with(config, "create", "false")
}

// open opens the store to look into it and gives it to use.
func (s *storeFlags) open(ctx context.Context, use func(context.Context, *storekit.Client, store.Description) error) error {
	return withPlugin(ctx, s.plugin, s.config, func(ctx context.Context, p storekit.Plugin) error {
		found, err := storekit.Inspect(ctx, p)
		if err != nil {
			return err
		}
		p.Config = lookOnly(p.Config, found)
		plugin, err := storekit.Open(ctx, p)
		if err != nil {
			return err
		}
		defer plugin.Close()
		desc, err := plugin.Describe(ctx)
		if err != nil {
			return err
		}
		return use(ctx, plugin, desc)
	})
}

// zoneFlag is the time zone in which times are shown.
type zoneFlag struct{ name string }

func (z *zoneFlag) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&z.name, "tz", "", "the time zone in which times are shown, e.g. Europe/Athens or UTC; default: this machine's")
}

func (z *zoneFlag) location() (*time.Location, error) {
	if z.name == "" {
		return time.Local, nil
	}
	loc, err := jobsfile.Zone(z.name)
	if err != nil {
		return nil, usageError{fmt.Errorf("-tz: %w", err)}
	}
	return loc, nil
}

// zoneName is a zone's name, for this machine's what it is called now.
func zoneName(loc *time.Location) string {
	if loc == time.Local {
		name, _ := time.Now().Zone()
		return name
	}
	return loc.String()
}

// plain makes a text that somebody else wrote fit for a terminal and for one cell of
// a table: what can't be printed as it is gets quoted.
func plain(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0 {
		return s
	}
	return strconv.QuoteToGraphic(s)
}

// cell is plain, shortened.
func cell(s string, most int) string {
	r := []rune(s)
	if len(r) <= most {
		return plain(s)
	}
	return plain(string(r[:most-1])) + "…"
}

// when shows a time of the store, Unix milliseconds, 0 for none. Milliseconds are
// shown where there are some.
func when(ms int64, loc *time.Location) string {
	switch {
	case ms == 0:
		return ""
	case ms%1000 != 0:
		return time.UnixMilli(ms).In(loc).Format("2006-01-02 15:04:05.000")
	}
	return time.UnixMilli(ms).In(loc).Format(time.DateTime)
}
