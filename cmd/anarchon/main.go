// Command anarchon shows, inspects and proves what the anarchon packages do.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/anarchon-go/anarchon/conformance/report"
	"github.com/anarchon-go/anarchon/internal/nearest"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // the command ran and its answer is no, or it failed on the way
	exitUsage  = 2 // the command line is wrong
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	os.Exit(run(ctx, os.Args[1:]))
}

func run(ctx context.Context, args []string) int { return runTo(ctx, args, os.Stdout, os.Stderr) }

// rootCommand is the command with all that are below it.
func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "anarchon",
		Short: "A leaderless distributed scheduler: see it, look into its stores, prove its plugins",
		Long: `anarchon runs jobs on many machines without a leader: for each slot of a job
every instance asks a shared store, and the store grants the run to exactly one.

Flags may have one dash or two. Exit codes: 0 yes, 1 no or failed, 2 the command line
is wrong.`,
		Version:       report.Version(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(demoCommand(), scenariosCommand(), runsCommand(), nextCommand(), doctorCommand(), certifyCommand(), conformCommand(), pluginCommand(), storeCommand())
	root.AddCommand(&cobra.Command{
		Use: "version", Hidden: true,
		RunE: func(*cobra.Command, []string) error {
			return usageError{errors.New("version is a flag: anarchon --version")}
		},
	})
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "completion":
			group(c)
		case "help":
			strictHelp(c)
		}
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w; see: %s --help", err, c.CommandPath())}
	})
	return root
}

// runTo runs a command line, writes to out and errs, and returns the exit code.
func runTo(ctx context.Context, args []string, out, errs io.Writer) int {
	root := rootCommand()
	root.SetArgs(longFlags(args))
	root.SetOut(out)
	root.SetErr(errs)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	fmt.Fprintln(errs, "anarchon:", err)
	var usage usageError
	if errors.As(err, &usage) || strings.HasPrefix(err.Error(), "unknown command") {
		return exitUsage
	}
	return exitFailed
}

// strictHelp lets the help command fail for what is no command.
func strictHelp(help *cobra.Command) {
	help.Run = nil
	help.RunE = func(cmd *cobra.Command, args []string) error {
		about, rest, err := cmd.Root().Find(args)
		switch {
		case err != nil:
			return err
		case len(rest) > 0:
			return usageError{fmt.Errorf("unknown command %q for %q", rest[0], about.CommandPath())}
		}
		return about.Help()
	}
}

// group makes a command that only holds others: without a word it shows its help, with
// one that it does not know it fails.
func group(cmd *cobra.Command) *cobra.Command {
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		var known []string
		for _, c := range cmd.Commands() {
			known = append(known, c.Name())
		}
		if near := nearest.Word(args[0], known); near != "" {
			return usageError{fmt.Errorf("unknown command %q for %q; did you mean %q?", args[0], cmd.CommandPath(), near)}
		}
		return usageError{fmt.Errorf("unknown command %q for %q; known are %q", args[0], cmd.CommandPath(), known)}
	}
	return cmd
}

// usageError is a fault of the command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// numbered tells a short flag with its number, such as -n5 or -n=5.
func numbered(flag string) bool {
	_, err := strconv.Atoi(strings.TrimPrefix(flag[2:], "="))
	return err == nil
}

// longFlags lets a long flag be written with one dash, as Go's own tools have
// it: -for 30s. There are no combined short flags.
func longFlags(args []string) []string {
	out := make([]string, len(args))
	for i, a := range args {
		if a == "--" {
			copy(out[i:], args[i:])
			break
		}
		if len(a) > 2 && a[0] == '-' && (a[1] >= 'a' && a[1] <= 'z') && !numbered(a) {
			a = "-" + a
		}
		out[i] = a
	}
	return out
}
