package tamper

import (
	"context"
	"errors"
	"strings"
	"testing"
)

type book struct{ closed *bool }

func (book) Dump(context.Context) ([]string, error)    { return []string{"a", "b"}, nil }
func (book) Unknown(context.Context) ([]string, error) { return []string{"later"}, nil }
func (book) Newer(context.Context) error               { return errors.New("read only") }
func (b book) Close() error                            { *b.closed = true; return nil }

func TestRun(t *testing.T) {
	for _, tc := range []struct{ what, in, out, fault string }{
		{"dump", `{"path": "x"}`, "a\nb\n", ""},
		{"unknown", `{"path": "x"}`, "later\n", ""},
		{"newer", `{"path": "x"}`, "", "read only"},
		{"damage", `{"path": "x"}`, "", `"damage" is none of dump`},
		{"dump", `{"path": 3}`, "", "as JSON on standard input"},
		{"dump", `{}`, "", "no path"},
	} {
		closed := false
		var out strings.Builder
		err := run(tc.what, strings.NewReader(tc.in), &out, func(_ context.Context, o struct{ Path string }) (Store, error) {
			if o.Path == "" {
				return nil, errors.New("no path")
			}
			return book{&closed}, nil
		})
		if out.String() != tc.out || (err == nil) != (tc.fault == "") || err != nil && !strings.Contains(err.Error(), tc.fault) {
			t.Errorf("%s of %s: %q, %v; want %q, %q", tc.what, tc.in, out.String(), err, tc.out, tc.fault)
		}
		if opened := strings.Contains(tc.in, `"x"`); closed != opened {
			t.Errorf("%s of %s: closed %v; want %v", tc.what, tc.in, closed, opened)
		}
	}
}
