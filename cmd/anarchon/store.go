package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/anarchon-go/anarchon/plugins/postgres/postgresstore"
	"github.com/anarchon-go/anarchon/storekit"
)

func storeCommand() *cobra.Command {
	cmd := group(&cobra.Command{
		Use:   "store",
		Short: "Prepare a store before a service uses it",
	})
	cmd.AddCommand(storeSetupCommand())
	return cmd
}

func storeSetupCommand() *cobra.Command {
	var (
		config    []string
		role      string
		run, echo bool
	)
	cmd := &cobra.Command{
		Use:   "setup PLUGIN",
		Short: "Print or run the SQL that makes a schema in a database, for a service whose role must not",
		Long: `setup prints the SQL that makes the schema of the plugin postgres and everything in
it, for psql; with -run it connects as -config says, makes what is missing, and brings
an older schema up to date. With -role it also grants that role what a service needs
to use the schema: none of it is a right to change the schema. Without, it says which
rights those are.

Only postgres has something to set up. The other plugins make what they need at their
first start.`,
		Example: `  anarchon store setup postgres -role billing | psql -v ON_ERROR_STOP=1 "$OWNER_URL"
  anarchon store setup postgres -run -role billing -config url=@owner-url.txt`,
		Args: onePlugin,
		RunE: func(cmd *cobra.Command, args []string) error {
			if run && echo {
				return usageError{errors.New("-print and -run exclude each other")}
			}
			if args[0] != postgresPlugin {
				return nothingToSetUp(args[0])
			}
			values, err := parseConfig(config)
			if err != nil {
				return err
			}
			cfg, err := storekit.ReadConfig(postgresstore.Info().Options, values)
			if err != nil {
				return err
			}
			if run {
				return runSetup(cmd.Context(), cmd.OutOrStdout(), cfg, role)
			}
			script, err := postgresstore.SetupSQL(cfg.String("schema"), role)
			if err != nil {
				return err
			}
			_, err = io.WriteString(cmd.OutOrStdout(), script)
			return err
		},
	}
	f := cmd.Flags()
	f.BoolVar(&echo, "print", false, "print the SQL (the default); of -config only schema counts")
	f.BoolVar(&run, "run", false, "run it")
	f.StringVar(&role, "role", "", "a role that shall be able to use the schema; it must exist")
	f.StringArrayVar(&config, "config", nil, "an option of the plugin, key=value; repeatable; @FILE as the value reads it from a file")
	return cmd
}

const postgresPlugin = "postgres"

// selfMade are the plugins that need no rights for their set-up other than those
// for their work.
var selfMade = []string{"nats", "rabbitmq", "redis", "sqlite"}

// nothingToSetUp refuses a plugin other than postgres.
func nothingToSetUp(plugin string) error {
	if slices.Contains(selfMade, plugin) {
		return usageError{fmt.Errorf("plugin %s has nothing to set up: it makes what it needs at its first start", plugin)}
	}
	return usageError{fmt.Errorf("store setup knows no plugin %q; it is for postgres", plugin)}
}

// runSetup makes the schema and says what the roles that use it may or must be
// granted.
func runSetup(ctx context.Context, out io.Writer, cfg storekit.Config, role string) error {
	if err := postgresstore.Setup(ctx, cfg, role); err != nil {
		return err
	}
	schema := cfg.String("schema")
	fmt.Fprintf(out, "Schema %q is set up: plugin %s %s, format %d.\n", schema, postgresPlugin, postgresstore.Version, postgresstore.Format)
	heading := fmt.Sprintf("Granted to %q:", role)
	if role == "" {
		heading = "A role that does not own it needs (-role NAME grants it):"
		role = "NAME"
	}
	grants, err := postgresstore.GrantsSQL(schema, role)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s\n  %s\n", heading, strings.ReplaceAll(strings.TrimSpace(grants), "\n", "\n  "))
	return err
}
