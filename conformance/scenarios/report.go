package scenarios

import (
	"bytes"
	"fmt"
	"html/template"
	"os"
	"path/filepath"
	"strings"

	_ "embed"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Funcs(template.FuncMap{"verdict": verdict, "times": func() string { return Times }}).Parse(pageText))

// Report writes a page with all results, side by side, and their pictures as files of
// their own: index.html and ID-NAME-BACKEND.svg.
func Report(dir string, results []*Result) error {
	if err := Pictures(dir, results); err != nil {
		return err
	}
	type cell struct {
		*Result
		SVG      template.HTML
		Timeline string
	}
	type row struct {
		*Scenario
		Cells []cell
	}
	var rows []row
	for _, s := range scenariosOf(results) {
		r := row{Scenario: s}
		for _, res := range byScenario(results) {
			if res.Scenario.ID != s.ID {
				continue
			}
			c := cell{Result: res}
			if res.Record != nil {
				var b strings.Builder
				res.Record.Timeline(&b)
				c.SVG, c.Timeline = template.HTML(Picture(res)), b.String() // Picture escapes
			}
			r.Cells = append(r.Cells, c)
		}
		rows = append(rows, r)
	}
	var b bytes.Buffer
	if err := page.Execute(&b, rows); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "index.html"), b.Bytes(), 0o644)
}

// Pictures writes a picture of each result that was played.
func Pictures(dir string, results []*Result) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, r := range results {
		if r.Record == nil {
			continue
		}
		name := fmt.Sprintf("%02d-%s-%s.svg", r.Scenario.ID, r.Scenario.Name, strings.ReplaceAll(r.Backend, " ", "-"))
		if err := os.WriteFile(filepath.Join(dir, name), []byte(Picture(r)), 0o644); err != nil {
			return err
		}
	}
	return nil
}
