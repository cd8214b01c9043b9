package doctest

import (
	"fmt"
	"net/url"
	"os"
	"path"
	"strings"
	"testing"
)

func TestLinksLeadSomewhere(t *testing.T) {
	docs := documents(t)
	links := 0
	for _, d := range docs {
		for _, l := range d.links {
			links++
			if err := follow(docs, d, l.target); err != nil {
				t.Errorf("%s:%d: link %s: %v", d.path, l.line, l.target, err)
			}
		}
	}
	if links == 0 {
		t.Error("no link found in any document")
	}
}

// follow returns nil if a relative link leads to a file or folder of the
// repository and, if it names one, to an anchor there. Other links it takes as
// they are: nothing outside is contacted.
func follow(docs map[string]document, from document, target string) error {
	u, err := url.Parse(target)
	if err != nil {
		return err
	}
	if u.Scheme != "" || u.Host != "" {
		return nil
	}
	to := from.path
	if u.Path != "" {
		if path.IsAbs(u.Path) {
			return fmt.Errorf("is absolute; make it relative to %s", path.Dir(from.path))
		}
		to = path.Join(path.Dir(from.path), u.Path)
		if to == ".." || strings.HasPrefix(to, "../") {
			return fmt.Errorf("leads out of the repository")
		}
		if _, err := os.Stat(at(to)); err != nil {
			return fmt.Errorf("no file or folder %s", to)
		}
	}
	if u.Fragment == "" {
		return nil
	}
	d, ok := docs[to]
	if !ok {
		return fmt.Errorf("%s is no document, so it has no anchors", to)
	}
	if !d.anchors[u.Fragment] {
		return fmt.Errorf("%s has no heading or anchor %q", to, u.Fragment)
	}
	return nil
}

func TestFollow(t *testing.T) {
	const text = "# One `code` & two\n\n## Same\n\n## Same\n\n<a id=\"R-CLAIM-1\"></a>\n" +
		"[a](b.md#x) and `[no](link)`\n\n```sh\n[no](link)\n```\n\n[ref]: c.md\n"
	d := parse("docs/a.md", text)
	if len(d.links) != 2 || d.links[0] != (link{"b.md#x", 8}) || d.links[1] != (link{"c.md", 14}) {
		t.Errorf("links = %v", d.links)
	}
	docs := map[string]document{"docs/a.md": d, "README.md": parse("README.md", "# Top\n")}
	tests := []struct {
		target string
		want   string // of the error; empty: fine
	}{
		{"https://example.org/x#y", ""},
		{"mailto:someone@example.org", ""},
		{"#one-code--two", ""},
		{"#same", ""},
		{"#same-1", ""},
		{"#same-2", "no heading"},
		{"#R-CLAIM-1", ""},
		{"../README.md#top", ""},
		{"../README.md#bottom", "no heading"},
		{"../go.mod", ""},
		{"../go.mod#L1", "no document"},
		{"../no-such-file.md", "no file"},
		{"../../elsewhere.md", "leads out"},
		{"/go.mod", "absolute"},
	}
	for _, tt := range tests {
		err := follow(docs, d, tt.target)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("follow(%q) = %v, want an error with %q", tt.target, err, tt.want)
		}
	}
}
