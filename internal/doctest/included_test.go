package doctest

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"
)

// TestShownCodeIsTheFile: a code block below <!-- file: PATH --> is that file, and one
// below <!-- file: PATH#NAME --> the declaration of that name in it, with its comment.
// Both are compiled and tested there.
func TestShownCodeIsTheFile(t *testing.T) {
	shown := 0
	for _, d := range documents(t) {
		for _, b := range d.blocks {
			if b.file == "" {
				continue
			}
			shown++
			text, err := source(b.file)
			if err != nil {
				t.Errorf("%s:%d: %v", d.path, b.line, err)
				continue
			}
			if b.text == text {
				continue
			}
			if !*update {
				t.Errorf("%s:%d: the block differs from %s; go test ./internal/doctest -update copies it", d.path, b.line, b.file)
				continue
			}
			if err := replace(d.path, b, text); err != nil {
				t.Error(err)
			}
		}
	}
	if shown == 0 {
		t.Error("no document shows a file")
	}
}

var update = flag.Bool("update", false, "copy the code that documents show into them")

// replace puts a text into a block of a document.
func replace(path string, b block, text string) error {
	old, err := os.ReadFile(at(path))
	if err != nil {
		return err
	}
	head := fmt.Sprintf("<!-- file: %s -->\n```%s\n", b.file, b.info)
	if strings.Count(string(old), head) != 1 {
		return fmt.Errorf("%s shows %s not once, so it can't be told which block is meant", path, b.file)
	}
	return os.WriteFile(at(path), []byte(strings.Replace(string(old), head+b.text, head+text, 1)), 0o644)
}

// source is the text of PATH, or of a declaration in it.
func source(named string) (string, error) {
	path, name, part := strings.Cut(named, "#")
	text, err := os.ReadFile(at(path))
	if err != nil || !part {
		return string(text), err
	}
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, text, parser.ParseComments)
	if err != nil {
		return "", err
	}
	for _, decl := range file.Decls {
		doc, found := declares(decl, name)
		if !found {
			continue
		}
		from := decl.Pos()
		if doc != nil {
			from = doc.Pos()
		}
		return string(text[set.Position(from).Offset:set.Position(decl.End()).Offset]) + "\n", nil
	}
	return "", fmt.Errorf("%s declares no %s", path, name)
}

func declares(decl ast.Decl, name string) (doc *ast.CommentGroup, found bool) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		return d.Doc, d.Recv == nil && d.Name.Name == name
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				found = found || s.Name.Name == name
			case *ast.ValueSpec:
				for _, n := range s.Names {
					found = found || n.Name == name
				}
			}
		}
		return d.Doc, found
	}
	return nil, false
}

func TestSourceOfADeclaration(t *testing.T) {
	got, err := source("internal/doctest/included_test.go#answer")
	if want := fmt.Sprintf("// answer is shown by the test above.\nconst answer = %d\n", answer); err != nil || got != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	if _, err := source("internal/doctest/included_test.go#nothing"); err == nil {
		t.Error("a declaration that is not there was found")
	}
}

// answer is shown by the test above.
const answer = 42
