package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/anarchon-go/anarchon/conformance/jobsfile"
)

// shown is a piece of a document: a fenced block, or the examples of a command's help.
type shown struct{ where, info, text string }

// shownEverywhere collects the fenced blocks of all documents, and every Example.
func shownEverywhere(t *testing.T) (all []shown) {
	t.Helper()
	const root = "../.."
	fence := regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".md" {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range fence.FindAllStringSubmatch(string(b), -1) {
			all = append(all, shown{path, m[1], m[2]})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		if c.Example != "" {
			all = append(all, shown{c.CommandPath() + " --help", "sh", c.Example})
		}
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(rootCommand())
	return all
}

// TestShownCommandsParse: every command line of anarchon that a document or a help
// text shows names a command that exists, with flags and arguments that it takes.
func TestShownCommandsParse(t *testing.T) {
	n := 0
	for _, s := range shownEverywhere(t) {
		if s.info != "sh" {
			continue
		}
		for line := range strings.Lines(strings.ReplaceAll(s.text, "\\\n", " ")) {
			words, ok := commandWords(line)
			if !ok {
				continue
			}
			n++
			if err := parses(words); err != nil {
				t.Errorf("%s: %s: %v", s.where, strings.TrimSpace(line), err)
			}
		}
	}
	if n < 15 {
		t.Errorf("%d command lines were found: are the blocks marked sh?", n)
	}
}

// commandWords returns what comes after "anarchon" in a shell line that runs it, up to
// a pipe or a comment.
func commandWords(line string) ([]string, bool) {
	word := regexp.MustCompile(`'[^']*'|(?:"[^"]*"|[^\s"'])+`)
	words := word.FindAllString(strings.TrimSpace(line), -1)
	for len(words) > 0 && regexp.MustCompile(`^[A-Z_]+=`).MatchString(words[0]) {
		words = words[1:]
	}
	switch {
	case len(words) > 0 && (words[0] == "anarchon" || words[0] == "bin/anarchon" || words[0] == "./bin/anarchon"):
		words = words[1:]
	case len(words) > 2 && words[0] == "go" && words[1] == "run" && strings.HasSuffix(words[2], "/cmd/anarchon"):
		words = words[3:]
	default:
		return nil, false
	}
	var out []string
	for _, w := range words {
		if w == "|" || w == ">" || w == "&" || w == "&&" || strings.HasPrefix(w, "#") {
			break
		}
		out = append(out, strings.Trim(w, `"'`))
	}
	return out, true
}

func parses(words []string) error {
	if len(words) > 0 && words[0] == "completion" {
		return nil // cobra's own
	}
	if len(words) == 1 && words[0] == "--help" {
		return nil // the root runs nothing else
	}
	c, rest, err := rootCommand().Find(longFlags(words))
	if err != nil {
		return err
	}
	if !c.Runnable() {
		return fmt.Errorf("%q is not a command that runs", c.CommandPath())
	}
	if err := c.ParseFlags(rest); err != nil {
		return err
	}
	return c.ValidateArgs(c.Flags().Args())
}

// TestShownJobsAreRead: what a document shows as a file of jobs is one.
func TestShownJobsAreRead(t *testing.T) {
	n := 0
	for _, s := range shownEverywhere(t) {
		if s.info != "yaml" || !strings.Contains(s.text, "\njobs:\n") && !strings.HasPrefix(s.text, "jobs:\n") {
			continue
		}
		n++
		if _, err := jobsfile.Read(strings.NewReader(s.text)); err != nil {
			t.Errorf("%s: %v\n%s", s.where, err, s.text)
		}
	}
	if n == 0 {
		t.Error("no document shows a file of jobs")
	}
	_, inHelp, _ := strings.Cut(aJobsFile, "\n\n")
	if jobs, err := jobsfile.Read(strings.NewReader(inHelp)); err != nil || len(jobs) != 1 {
		t.Errorf("the help: %d jobs, %v\n%s", len(jobs), err, inHelp)
	}
}

// TestShownCommandsRun: command lines that need no server of their own do what they
// should when they are typed as shown, in a directory with a database jobs.db and a
// file jobs.yaml. The others are tried by the tests of their commands.
func TestShownCommandsRun(t *testing.T) {
	plugin, path := filled(t, time.Minute)
	all := shownEverywhere(t) // before the directory changes
	t.Setenv("ANARCHON_PLUGIN_DIR", filepath.Dir(plugin))
	t.Chdir(filepath.Dir(path))
	if err := os.WriteFile("jobs.yaml", []byte("jobs:\n- {name: n, schedule: every 5m}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := os.ReadFile("jobs.db") // it was closed, so it is whole
	if err == nil {
		err = os.WriteFile("quickstart.db", db, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, s := range all {
		if s.info != "sh" {
			continue
		}
		for line := range strings.Lines(strings.ReplaceAll(s.text, "\\\n", " ")) {
			words, ok := commandWords(line)
			if !ok || !runsHere(words) {
				continue
			}
			ran++
			limit := time.Minute
			if slices.Contains(words, "-follow") {
				limit = 5 * time.Second // until it is told to stop
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			code, out, errs := saidUntil(ctx, t, words...)
			cancel()
			if code != exitOK {
				t.Errorf("%s: %s: exit code %d\n%s%s", s.where, strings.TrimSpace(line), code, out, errs)
			}
		}
	}
	if ran < 8 {
		t.Errorf("only %d command lines were run", ran)
	}
}

// runsHere tells the commands that need nothing but jobs.db and jobs.yaml.
func runsHere(words []string) bool {
	switch words[0] {
	case "next", "completion":
		return !strings.Contains(strings.Join(words, " "), "|")
	case "conform":
		return slices.Contains(words, "-explain")
	case "runs", "doctor":
		return slices.Contains(words, "path=jobs.db") || slices.Contains(words, "path=quickstart.db")
	case "plugin":
		return len(words) == 3 && words[1] == "info" && words[2] == "sqlite"
	}
	return false
}
