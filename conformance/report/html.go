package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"strings"

	"github.com/anarchon-go/anarchon/conformance/kit"
	"github.com/anarchon-go/anarchon/conformance/promise"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// page is what the HTML report shows.
type page struct {
	Cert     Certificate
	Bad      []badCheck
	Families []family
	Figures  []figure
	Windows  []window
}

// badCheck is a check that found a fault, or that could not be made.
type badCheck struct {
	Checked
	Rules    []promise.Promise
	Again    string
	Pictures []string // pages that the check drew, as HTML
}

type family struct {
	Name           string
	Passed, Others int
	Seconds        float64
	Width          int // of its bar, per cent of the longest
}

type figure struct {
	ID string
	kit.Figure
}

// HTML is the report for people: one page, which loads nothing, with what went wrong
// first, and the pictures that checks drew of it.
func (r *Report) HTML() ([]byte, error) {
	p := page{Cert: r.Certificate()}
	p.Windows = windows(p.Cert)
	for i, res := range r.Results {
		c := p.Cert.Checks[i]
		for _, f := range c.Figures {
			p.Figures = append(p.Figures, figure{c.ID, f})
		}
		if !c.Bad() {
			continue
		}
		bad := badCheck{Checked: c, Again: fmt.Sprintf("-run '%s$' -seed %d", c.ID, r.Seed)}
		for _, id := range c.Promises {
			if rule, ok := promise.Get(id); ok {
				bad.Rules = append(bad.Rules, rule)
			}
		}
		for _, f := range res.Files {
			if strings.HasSuffix(f.Name, ".html") {
				bad.Pictures = append(bad.Pictures, string(f.Data))
			}
		}
		p.Bad = append(p.Bad, bad)
	}
	longest := 0.0
	for _, f := range r.families() {
		longest = max(longest, f.took.Seconds())
		others := 0
		for o, n := range f.count {
			if o != kit.Pass {
				others += n
			}
		}
		p.Families = append(p.Families, family{Name: f.name, Passed: f.count[kit.Pass], Others: others, Seconds: f.took.Seconds()})
	}
	for i, f := range p.Families {
		if longest > 0 {
			p.Families[i].Width = int(100 * f.Seconds / longest)
		}
	}
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, p); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
