package postgresstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/anarchon-go/anarchon/core/store"
)

// safe is an error of the driver from before anything was sent.
type safe struct{}

func (safe) Error() string     { return "not sent" }
func (safe) SafeToRetry() bool { return true }

func TestRemedyOfCrowdedPooler(t *testing.T) {
	for message, want := range map[string]string{
		"no more connections allowed (max_client_conn)": "max_client_conn",
		"unsupported startup parameter: x":              "parameter",
	} {
		if got := remedy(&pgconn.PgError{Code: "08P01", Message: message}); !strings.Contains(got, want) {
			t.Errorf("%s: the remedy is %q; want one with %q", message, got, want)
		}
	}
}

func TestClassify(t *testing.T) {
	server := func(severity, code string) error {
		return fmt.Errorf("wrapped: %w", &pgconn.PgError{Severity: "FEHLER", SeverityUnlocalized: severity, Code: code})
	}
	for name, test := range map[string]struct {
		err  error
		want error
	}{
		"not sent":                    {safe{}, store.ErrNotApplied},
		"cut":                         {io.ErrUnexpectedEOF, store.ErrUnknown},
		"deadline":                    {context.DeadlineExceeded, store.ErrUnknown},
		"statement timeout":           {server("ERROR", "57014"), store.ErrNotApplied},
		"serialization":               {server("ERROR", "40001"), store.ErrNotApplied},
		"deadlock":                    {server("ERROR", "40P01"), store.ErrNotApplied},
		"constraint":                  {server("ERROR", "23505"), store.ErrNotApplied},
		"disk full":                   {server("ERROR", "53100"), store.ErrNotApplied},
		"read-only":                   {server("ERROR", "25006"), store.ErrNotApplied},
		"terminated":                  {server("FATAL", "57P01"), store.ErrUnknown},
		"crash of another process":    {server("FATAL", "57P02"), store.ErrUnknown},
		"pooler lost the server":      {server("FATAL", "08P01"), store.ErrUnknown},
		"pooler's error":              {server("ERROR", "08P01"), store.ErrUnknown},
		"completion unknown":          {server("ERROR", "40003"), store.ErrUnknown},
		"panic":                       {server("PANIC", "XX000"), store.ErrUnknown},
		"severity that nobody knows":  {server("", "57014"), store.ErrUnknown},
		"COMMIT answered by ROLLBACK": {errors.New("COMMIT was answered ROLLBACK"), store.ErrUnknown},
	} {
		err := classify(test.err)
		if !errors.Is(err, test.want) || !errors.Is(err, test.err) {
			t.Errorf("%s: got %v; want %v", name, err, test.want)
		}
		for _, other := range []error{store.ErrInvalid, store.ErrNotApplied, store.ErrUnknown} {
			if other != test.want && errors.Is(err, other) {
				t.Errorf("%s: %v is %v too", name, err, other)
			}
		}
	}
}

func TestConcernsItem(t *testing.T) {
	for code, want := range map[string]bool{
		"22003": true, "23514": true, "54000": true, "P0001": true, "XX001": true,
		"57014": false, "40001": false, "40P01": false, "53100": false, "25006": false, "42501": false, "42883": false, "55P03": false,
	} {
		err := classify(&pgconn.PgError{SeverityUnlocalized: "ERROR", Code: code})
		if got := concernsItem(err); got != want {
			t.Errorf("%s: %v; want %v", code, got, want)
		}
	}
	if concernsItem(classify(io.EOF)) || concernsItem(classify(&pgconn.PgError{SeverityUnlocalized: "FATAL", Code: "XX000"})) {
		t.Error("what may have been applied is asked again")
	}
}

// TestJudgeHalves: who is refused is found by asking for halves, in order, and
// nothing is asked twice once it was answered.
func TestJudgeHalves(t *testing.T) {
	bad := map[int]bool{3: true, 4: true, 9: true}
	answered := map[int]int{}
	var order []int
	calls := 0
	ask := func(_ context.Context, qs []int) ([]store.Result[int], error) {
		calls++
		for _, q := range qs {
			if bad[q] {
				return nil, classify(&pgconn.PgError{SeverityUnlocalized: "ERROR", Code: "23514"})
			}
		}
		var rs []store.Result[int]
		for _, q := range qs {
			answered[q]++
			order = append(order, q)
			rs = append(rs, store.Result[int]{Answer: 10 * q})
		}
		return rs, nil
	}
	var qs []int
	for i := range 12 {
		qs = append(qs, i)
	}
	results := judge(t.Context(), qs, ask)
	if len(results) != len(qs) {
		t.Fatalf("%d results", len(results))
	}
	for i, r := range results {
		if bad[i] != errors.Is(r.Err, store.ErrNotApplied) || !bad[i] && (r.Answer != 10*i || answered[i] != 1) {
			t.Errorf("item %d: %+v, asked %d times", i, r, answered[i])
		}
	}
	for i := 1; i < len(order); i++ {
		if order[i] < order[i-1] {
			t.Errorf("answered in the order %v", order)
		}
	}
	if calls > 20 {
		t.Errorf("%d calls", calls)
	}
}
