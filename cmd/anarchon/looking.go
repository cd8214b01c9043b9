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
	if !createIsOurs(config, found) {
		return config
	}
	return with(config, "create", "false")
}

// createIsOurs tells if lookOnly sets the option create: the plugin has it, and the user
// did not give it.
func createIsOurs(config map[string]any, found storekit.Inspection) bool {
	_, given := config["create"]
	return !given && slices.ContainsFunc(found.Options, func(o storekit.Option) bool { return o.Name == "create" })
}

// What commands say of a store that is not there.
const (
	onlyLooks     = "there is no store there, and this command only looks: it makes none"
	doesNotCreate = "this command does not create a store; add -config create=true"
)

// openRemedy adds to why a plugin did not open its store what to change on the command
// line: the required options that config lacks, and what to know, in the words given, of
// a store that create=false forbids to make, if the command said so and not the user.
func openRemedy(err error, config map[string]any, found storekit.Inspection, noStore string) error {
	if err == nil {
		return nil
	}
	var lacking []string
	for _, o := range found.Options {
		if _, given := config[o.Name]; o.Required && !given {
			lacking = append(lacking, "-config "+o.Name+"="+placeholder(o.Name))
		}
	}
	switch {
	case len(lacking) > 0:
		return fmt.Errorf("%w\ngive %s", err, strings.Join(lacking, " "))
	case createIsOurs(config, found) && strings.Contains(err.Error(), "create=false"):
		return fmt.Errorf("%w\n%s", err, noStore)
	}
	return err
}

// placeholder stands for an option's value.
func placeholder(option string) string {
	switch option {
	case "path":
		return "FILE"
	case "url":
		return "URL"
	}
	return "…"
}

// open opens the store to look into it and gives it to use.
func (s *storeFlags) open(ctx context.Context, use func(context.Context, *storekit.Client, store.Description) error) error {
	return withPlugin(ctx, s.plugin, s.config, func(ctx context.Context, p storekit.Plugin) error {
		found, err := storekit.Inspect(ctx, p)
		if err != nil {
			return err
		}
		given := p.Config
		p.Config = lookOnly(given, found)
		plugin, err := storekit.Open(ctx, p)
		if err != nil {
			return openRemedy(err, given, found, onlyLooks)
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
