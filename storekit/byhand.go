package storekit

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"text/tabwriter"
)

// byHand answers a user who started a plugin in a shell; it returns the exit
// code.
func byHand(factory Factory, args []string, stdout, stderr io.Writer) int {
	info := factory(Env{Logger: slog.New(slog.DiscardHandler)}).Info()
	info.Protocols = []int{ProtocolVersion}
	if info.Strategies == nil { // [] rather than null
		info.Strategies = []string{}
	}
	if info.Options == nil {
		info.Options = []Option{}
	}
	verb := ""
	if len(args) == 2 {
		verb = strings.TrimLeft(args[1], "-")
	}
	switch verb {
	case "describe":
		out, err := json.MarshalIndent(info, "", "  ")
		if err != nil {
			fmt.Fprintln(stderr, err)
			return 1
		}
		fmt.Fprintf(stdout, "%s\n", out)
		return 0
	case "version":
		fmt.Fprintf(stdout, "%s%s %s (plugin protocol %d)\n", BinaryPrefix, info.Name, info.Version, ProtocolVersion)
		return 0
	case "help", "h":
		explain(info, args[0], stdout)
		return 0
	}
	if len(args) > 1 {
		fmt.Fprintf(stderr, "unknown arguments %q\n\n", args[1:])
	}
	explain(info, args[0], stderr)
	return 2
}

func explain(info Info, arg0 string, w io.Writer) {
	program := filepath.Base(arg0)
	fmt.Fprintf(w, `This is %s %s, a store plugin of anarchon. A program that embeds anarchon starts
it; it does nothing by itself. In that program:

	plugin, err := storekit.Open(ctx, storekit.Plugin{Name: %q})

By hand:

	%s describe     what it is and which options it has, as JSON
	%s --version

`, info.Name, info.Version, info.Name, program, program)
	if len(info.Options) == 0 {
		fmt.Fprintln(w, "It has no options.")
		return
	}
	fmt.Fprintln(w, "Options:")
	fmt.Fprintln(w)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, o := range info.Options {
		kind := string(o.Type)
		switch {
		case o.Required:
			kind += ", required"
		case o.Default != "":
			kind += ", default " + o.Default
		}
		fmt.Fprintf(table, "\t%s\t%s\t%s\n", o.Name, kind, o.Help)
	}
	table.Flush()
}
