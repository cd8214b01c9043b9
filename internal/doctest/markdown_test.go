// Package doctest proves that the documents agree with the tree: links and
// anchors lead somewhere, commands name what exists, and code that a document
// shows is the code of the file that it names.
package doctest

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

const root = "../.."

// document is one Markdown file, taken apart as far as the tests need it.
type document struct {
	path    string // from the module's root, with slashes
	links   []link
	anchors map[string]bool
	blocks  []block
}

type link struct {
	target string
	line   int
}

// block is a fenced code block.
type block struct {
	info string // what follows the opening fence, e.g. "go"
	text string // with the last line's end
	line int    // of the opening fence
	file string // what a marker <!-- file: PATH --> above the fence names
}

var (
	fencePattern   = regexp.MustCompile("^ {0,3}(```+|~~~+) *([^`]*)$")
	headingPattern = regexp.MustCompile(`^ {0,3}#{1,6} +(.*?)(?: +#+)? *$`)
	linkPattern    = regexp.MustCompile(`\]\(<?([^()\s<>]+(?:\([^()\s]*\)[^()\s]*)?)>?(?: +"[^"]*")?\)`)
	refPattern     = regexp.MustCompile(`^ {0,3}\[[^\]]+\]: +(\S+)`)
	htmlPattern    = regexp.MustCompile(`(?:href|src)="([^"]+)"`)
	anchorPattern  = regexp.MustCompile(`<a (?:id|name)="([^"]+)"`)
	codePattern    = regexp.MustCompile("`[^`]*`")
	markerPattern  = regexp.MustCompile(`^<!-- file: (\S+) -->$`)
	textPattern    = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
)

func parse(name, text string) document {
	d := document{path: name, anchors: map[string]bool{}}
	var open *block // the fenced block that we are in
	var fence, marker string
	seen := map[string]int{}
	for i, line := range strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
		if open != nil {
			if closes(line, fence) {
				d.blocks = append(d.blocks, *open)
				open = nil
			} else {
				open.text += line + "\n"
			}
			continue
		}
		if m := fencePattern.FindStringSubmatch(line); m != nil {
			fence = m[1]
			open = &block{info: strings.TrimSpace(m[2]), line: i + 1, file: marker}
			marker = ""
			continue
		}
		if m := markerPattern.FindStringSubmatch(line); m != nil {
			marker = m[1]
			continue
		}
		if m := headingPattern.FindStringSubmatch(line); m != nil {
			slug := slug(m[1])
			if n := seen[slug]; n > 0 {
				d.anchors[slug+"-"+strconv.Itoa(n)] = true
			} else {
				d.anchors[slug] = true
			}
			seen[slug]++
		}
		for _, m := range anchorPattern.FindAllStringSubmatch(line, -1) {
			d.anchors[m[1]] = true
		}
		line = codePattern.ReplaceAllString(line, "``")
		for _, p := range []*regexp.Regexp{linkPattern, refPattern, htmlPattern} {
			for _, m := range p.FindAllStringSubmatch(line, -1) {
				d.links = append(d.links, link{m[1], i + 1})
			}
		}
	}
	return d
}

// closes reports whether a line ends a block that fence opened.
func closes(line, fence string) bool {
	line = strings.TrimSpace(line)
	return strings.HasPrefix(line, fence) && strings.Trim(line, fence[:1]) == ""
}

// slug is the anchor that GitHub gives to a heading.
func slug(heading string) string {
	heading = textPattern.ReplaceAllString(heading, "$1")
	var b strings.Builder
	for _, r := range strings.ToLower(strings.TrimSpace(heading)) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			b.WriteRune(r)
		}
	}
	return b.String()
}

// documents returns every Markdown file of the repository, by path.
func documents(t *testing.T) map[string]document {
	t.Helper()
	found := map[string]document{}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && p != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "bin" || d.Name() == "report" || d.Name() == "testdata" || d.Name() == "node_modules") {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(p) != ".md" {
			return nil
		}
		text, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(rel)
		found[name] = parse(name, string(text))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"README.md", "docs/protocol.md"} {
		if _, ok := found[name]; !ok {
			t.Fatalf("%s is missing", name)
		}
	}
	return found
}

// at returns where a path of the repository lies from the test's folder.
func at(name string) string { return filepath.Join(root, filepath.FromSlash(path.Clean(name))) }
