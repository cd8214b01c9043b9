package model

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/anarchon-go/anarchon/core/store"
)

var update = flag.Bool("update", false, "write the answers that the model gives into testdata")

// A story is a script of calls to an empty store, each followed by its answer
// in indented lines. It says which faults change an answer.
type story struct {
	title  string
	intro  []string // comments and directives
	faults []string
	store  []string // words of the store directive
	calls  []call
}

type call struct {
	line   string
	words  []string
	answer []string
	file   string
	number int
}

func (s *story) kind() store.Kind {
	if slices.Contains(s.store, "claim-only") {
		return store.KindClaimOnly
	}
	return store.KindLease
}

// TestStories plays each story under testdata: the model must answer as written
// there, and differently with each of the faults named there.
func TestStories(t *testing.T) {
	type shown struct {
		fault string
		kind  store.Kind
	}
	seen := map[shown]bool{}
	for _, file := range storyFiles(t) {
		stories := readStories(t, file)
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			for i := range stories {
				s := &stories[i]
				t.Run(s.title, func(t *testing.T) { s.check(t) })
				for _, f := range s.faults {
					seen[shown{f, s.kind()}] = true
				}
			}
			if *update {
				writeStories(t, file, stories)
			}
		})
	}
	for _, kind := range []store.Kind{store.KindLease, store.KindClaimOnly} {
		for _, f := range Faults(kind) {
			needsMany := f == FaultClaimNotAtomic || f == FaultOverlapNotAtomic // see TestNotAtomic
			if !needsMany && !seen[shown{f.String(), kind}] {
				t.Errorf("no story of a %v store shows fault %v: %s", kind, f, f.Doc())
			}
		}
	}
}

func (s *story) check(t *testing.T) {
	got := s.play(t, NoFault)
	for i := range s.calls {
		c := &s.calls[i]
		if *update {
			c.answer = got[i]
		} else if !slices.Equal(got[i], c.answer) {
			t.Errorf("%s:%d: %s\n got: %s\nwant: %s", c.file, c.number, c.line, strings.Join(got[i], "\n      "), strings.Join(c.answer, "\n      "))
		}
	}
	for _, name := range s.faults {
		f, err := ParseFault(name)
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		if !f.appliesTo(s.kind()) {
			t.Errorf("fault %v is not one of %v stores", f, s.kind())
		}
		if slices.EqualFunc(s.play(t, f), got, slices.Equal) {
			t.Errorf("fault %v changes no answer of this story: %s", f, f.Doc())
		}
	}
}

// play returns the lines of each call's answer.
func (s *story) play(t *testing.T, f Fault) [][]string {
	p := newPlayer(t, s.store, f)
	var answers [][]string
	for _, c := range s.calls {
		lines, err := p.do(c.words)
		if err != nil {
			t.Fatalf("%s:%d: %s: %v", c.file, c.number, c.line, err)
		}
		answers = append(answers, lines)
	}
	return answers
}

func storyFiles(t *testing.T) []string {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	return files
}

func readStories(t *testing.T, file string) []story {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var stories []story
	var s *story
	for i, line := range strings.Split(strings.TrimRight(string(data), "\n"), "\n") {
		directive, rest, _ := strings.Cut(line, ":")
		switch {
		case directive == "story":
			stories = append(stories, story{title: strings.TrimSpace(rest)})
			s = &stories[len(stories)-1]
		case s == nil:
			t.Fatalf("%s:%d: a story must begin with \"story: its title\"", file, i+1)
		case strings.HasPrefix(line, "    "):
			c := &s.calls[len(s.calls)-1]
			c.answer = append(c.answer, strings.TrimSpace(line))
		case strings.HasPrefix(line, "at "):
			words, err := splitWords(line)
			if err != nil {
				t.Fatalf("%s:%d: %v", file, i+1, err)
			}
			s.calls = append(s.calls, call{line: line, words: words, file: file, number: i + 1})
		case line == "":
		default:
			s.intro = append(s.intro, line)
			switch directive {
			case "faults":
				s.faults = append(s.faults, strings.Fields(rest)...)
			case "store":
				s.store = strings.Fields(rest)
			default:
				if !strings.HasPrefix(line, "#") {
					t.Fatalf("%s:%d: %q is no call, comment or directive", file, i+1, line)
				}
			}
		}
	}
	return stories
}

func writeStories(t *testing.T, file string, stories []story) {
	var b strings.Builder
	for i, s := range stories {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "story: %s\n", s.title)
		for _, line := range s.intro {
			fmt.Fprintln(&b, line)
		}
		for _, c := range s.calls {
			fmt.Fprintln(&b, c.line)
			for _, line := range c.answer {
				fmt.Fprintf(&b, "    %s\n", line)
			}
		}
	}
	if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
