// Command budgets reads what go test -v says on standard input, passes on what fails,
// and ends with a table of all budgets that were measured (package internal/budget).
// The exit status is 1 if one was missed, a package failed, or none was measured.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/anarchon-go/anarchon/internal/budget"
)

func main() {
	markdown := flag.Bool("markdown", false, "print the table as Markdown, for docs/benchmarks.md")
	flag.Parse()
	rows, failed, err := read(os.Stdin, os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "budgets:", err)
		os.Exit(1)
	}
	if *markdown {
		writeMarkdown(os.Stdout, rows)
	} else {
		writeTable(os.Stdout, rows)
	}
	missed := 0
	for _, r := range rows {
		if !r.Holds {
			missed++
		}
	}
	fmt.Printf("\n%d budgets measured, %d missed\n", len(rows), missed)
	if failed || missed > 0 || len(rows) == 0 {
		os.Exit(1)
	}
}

// read collects the rows; all else goes to the log. It tells whether a package or a
// test failed.
func read(in io.Reader, log io.Writer) (rows []budget.Result, failed bool, err error) {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		_, text, found := strings.Cut(line, budget.Mark+"{")
		if !found {
			if strings.HasPrefix(line, "FAIL") || strings.HasPrefix(line, "--- FAIL") {
				failed = true
			}
			fmt.Fprintln(log, line)
			continue
		}
		var r budget.Result
		if err := json.Unmarshal([]byte("{"+text), &r); err != nil {
			return rows, failed, fmt.Errorf("a row that can't be read: %q: %w", line, err)
		}
		rows = append(rows, r)
	}
	return rows, failed, lines.Err()
}

func verdict(r budget.Result) string {
	if r.Holds {
		return "holds"
	}
	return "MISSED"
}

func writeTable(w io.Writer, rows []budget.Result) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		fmt.Fprintf(t, "%s\t%s\t%.3g %s\t%s\t%s\n", r.Part, r.What, r.Value, r.Unit, r.Rule, verdict(r))
	}
	t.Flush()
}

func writeMarkdown(w io.Writer, rows []budget.Result) {
	fmt.Fprintln(w, "| part | what | measured | budget | | figures |\n|---|---|---|---|---|---|")
	for _, r := range rows {
		fmt.Fprintf(w, "| %s | %s | %.3g %s | %s | %s | %s |\n", r.Part, r.What, r.Value, r.Unit, r.Rule, verdict(r), r.Detail)
	}
}
