package doctest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestLogLinesAreExplained: docs/operations.md has a row for every line that the
// scheduler logs, and for every reason to skip a slot.
func TestLogLinesAreExplained(t *testing.T) {
	page, err := os.ReadFile(at("docs/operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	lines, reasons := 0, 0
	for _, path := range []string{"core/eventlog.go", "core/event.go"} {
		file, err := parser.ParseFile(token.NewFileSet(), at(path), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				return n.Name.Name == "line"
			case *ast.ReturnStmt:
				if text, ok := literal(n.Results[0]); ok {
					lines++
					if !strings.Contains(string(page), "| `"+text+"` |") {
						t.Errorf("docs/operations.md does not explain the line %q", text)
					}
				}
			case *ast.ValueSpec:
				if kind, ok := n.Type.(*ast.Ident); ok && kind.Name == "SkipReason" {
					reasons++
					if text, _ := literal(n.Values[0]); !strings.Contains(string(page), "\n| "+text+" |") {
						t.Errorf("docs/operations.md does not explain the reason %q", text)
					}
				}
			}
			return true
		})
	}
	if lines < 15 || reasons < 8 {
		t.Errorf("found %d lines and %d reasons: did the source move?", lines, reasons)
	}
}

func literal(e ast.Expr) (string, bool) {
	l, ok := e.(*ast.BasicLit)
	if !ok || l.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(l.Value)
	return text, err == nil
}
