package cron_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/cron"
)

func TestNormalForm(t *testing.T) {
	for _, c := range []struct{ expr, want string }{
		{"30 2 * * *", "30 2 * * *"},
		{"  30\t2  *\n* * ", "30 2 * * *"},
		{"05 002 * * *", "5 2 * * *"},
		{"0 30 2 * * *", "30 2 * * *"},
		{"*/15 30 2 * * *", "*/15 30 2 * * *"},
		{"* * * * * *", "* * * * * *"},
		{"0 0 ? jan,MAR-may ?", "0 0 * 1,3-5 *"},
		{"0 0 * * mon-FRI", "0 0 * * 1-5"},
		{"0 0 * * 7", "0 0 * * 0"},
		{"0 0 * * SUN,7,0", "0 0 * * 0"},
		{"0 0 * * 5-7", "0 0 * * 5-0"},
		{"0 0 * * 0-7", "0 0 * * 0-6"},
		{"0 0 * * 0-7/7", "0 0 * * 0-6/7"},
		{"0 0 * * 7-7", "0 0 * * 0"},
		{"0 0 * * 7-3", "0 0 * * 0-3"},
		{"0 0 * * SUN-SAT", "0 0 * * 0-6"},
		{"5,1,3,1 * * * *", "1,3,5 * * * *"},
		{"30,10-20,*/7 * * * *", "*/7,10-20,30 * * * *"},
		{"5-5 * * * *", "5 * * * *"},
		{"5-5/1 * * * *", "5-5/1 * * * *"},
		{"*/60 */24 */31 */12 */7", "*/60 */24 */31 */12 */7"},
		{"55-5/2 22-2 25-5 NOV-FEB FRI-MON", "55-5/2 22-2 25-5 11-2 5-1"},
		{"0 0 l,lw,15w,l-3 * *", "0 0 L,L-3,15W,LW * *"},
		{"0 0 * * fril,7l,5#3,SUN#1", "0 0 * * 0L,5L,0#1,5#3"},
		{"@hourly", "0 * * * *"},
		{" @Daily ", "0 0 * * *"},
		{"@midnight", "0 0 * * *"},
		{"@weekly", "0 0 * * 0"},
		{"@monthly", "0 0 1 * *"},
		{"@yearly", "0 0 1 1 *"},
		{"@annually", "0 0 1 1 *"},
	} {
		s, err := cron.Parse(c.expr, time.UTC)
		if err != nil {
			t.Error(err)
			continue
		}
		if got := s.String(); got != c.want+" UTC" {
			t.Errorf("%q: String is %q, want %q", c.expr, got, c.want+" UTC")
		}
		again, err := cron.Parse(c.want, time.UTC)
		if err != nil {
			t.Error(err)
			continue
		}
		if again.String() != s.String() || again.Fingerprint() != s.Fingerprint() || again.MinGap() != s.MinGap() {
			t.Errorf("%q: the normal form %q parses to another schedule", c.expr, c.want)
		}
	}
}

var update = flag.Bool("cron.update", false, "rewrite the golden file of error messages")

// refused holds what Parse refuses; testdata/errors.golden has the messages.
var refused = []string{
	"", "   ", "30", "30 2 * *", "0 30 2 * * * 2026", "30 2 * * * * ? x",
	"60 * * * *", "* 24 * * *", "* * 0 * *", "* * 32 * *", "* * * 0 *", "* * * 13 *", "* * * * 8", "60 0 0 * * *",
	"-5 * * * *", "5- * * * *", "1-5-7 * * * *", "1--5 * * * *", "+5 * * * *", "1.5 * * * *", "0x5 * * * *", "99999999999999999999 * * * *",
	"1,,2 * * * *", ",1 * * * *", "1, * * * *", ", * * * *", "*,5 * * * *", "0 0 1,? * *",
	"*/0 * * * *", "*/ * * * *", "*/61 * * * *", "*/90 * * * *", "* */25 * * *", "0 0 */32 * *", "0 0 * */13 *", "0 0 * * */8",
	"*/-5 * * * *", "*/5/5 * * * *", "*/x * * * *", "/5 * * * *", "** * * * *", "*5 * * * *",
	"5/15 * * * *", "0 0 * * 1/2", "0 MON/2 * * *", "5/ * * * *", "10-20/12 * * * *", "10-20/0 * * * *",
	"? * * * *", "0 ? * * *", "0 0 * ? *", "0 0 ?/2 * *",
	"0 0 * FOO *", "0 0 * MONDAY *", "0 0 * * MONDAY", "0 0 * * ONT", "MON * * * *", "0 0 * JANFEB *",
	"0 0 L-0 * *", "0 0 L-31 * *", "0 0 L- * *", "0 0 L3 * *", "0 0 LL * *", "0 0 W * *", "0 0 0W * *", "0 0 32W * *", "0 0 1-5W * *", "0 0 L-3W * *",
	"0 0 5L * *", "0 0 5#3 * *", "0 0 L/2 * *", "0 0 * * L", "0 0 * * 8L", "0 0 * * LW", "0 0 * * 15W", "0 0 * * 5#0", "0 0 * * 5#6", "0 0 * * 5#", "0 0 * * #3",
	"0 0 * * 5#3#1", "0 0 * * 1-5L", "0 0 * * 1-5#2", "0 L * * *", "0 0 * L *",
	"@every 5m", "@reboot", "@fortnightly", "@", "@daily 5", "CRON_TZ=Europe/Athens 30 2 * * *", "tz=UTC @daily",
	"30 2 * * *\x00", "30 2 * * * é", "30 2 * * *\u00a0", "30 2 * * \u2013", "H 2 * * *",
	"0 0 30 2 *", "0 0 31 4,6,9,11 *", "0 0 31 APR-APR ?", "0 0 L-29 2 ?", "0 0 30W 2 *", "0 0 L-30 6 *",
	strings.Repeat("0", 1025), strings.Repeat("1,", 300) + "x * * * *",
}

func TestErrors(t *testing.T) {
	var got strings.Builder
	for _, expr := range refused {
		s, err := cron.Parse(expr, time.UTC)
		var parseErr *cron.ParseError
		switch {
		case err == nil:
			t.Errorf("%q is accepted as %q", expr, s)
		case !errors.As(err, &parseErr):
			t.Errorf("%q: %T is no *ParseError", expr, err)
		case s != nil:
			t.Errorf("%q: a schedule with an error", expr)
		case parseErr.Column < 1 || parseErr.Column > len(parseErr.Expr)+1 || parseErr.Msg == "" || parseErr.Hint == "":
			t.Errorf("%q: incomplete error %#v", expr, parseErr)
		}
		fmt.Fprintln(&got, err)
	}
	const file = "testdata/errors.golden"
	if *update {
		if err := os.WriteFile(file, []byte(got.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	gotLines, wantLines := strings.Split(got.String(), "\n"), strings.Split(string(want), "\n")
	for i := range max(len(gotLines), len(wantLines)) {
		if i >= len(gotLines) || i >= len(wantLines) || gotLines[i] != wantLines[i] {
			t.Fatalf("line %d of %s differs (-cron.update rewrites it); got\n%s", i+1, file, strings.Join(gotLines[i:min(i+1, len(gotLines))], ""))
		}
	}
}

func TestNilLocation(t *testing.T) {
	var parseErr *cron.ParseError
	if _, err := cron.Parse("30 2 * * *", nil); !errors.As(err, &parseErr) || !strings.Contains(err.Error(), "location") {
		t.Errorf("got %v", err)
	}
}

func TestMustParse(t *testing.T) {
	defer func() {
		if err, ok := recover().(error); !ok || !strings.Contains(err.Error(), `"60 * * * *", column 1`) {
			t.Errorf("panicked with %v", err)
		}
	}()
	cron.MustParse("60 * * * *", time.UTC)
}

func TestNever(t *testing.T) {
	for _, expr := range []string{"0 0 30 2 *", "0 0 31 2,4 *", "0 0 L-30 2,4 *", "0 0 31W 9 *"} {
		if _, err := cron.Parse(expr, time.UTC); !errors.Is(err, cron.ErrNever) {
			t.Errorf("%q: %v", expr, err)
		}
	}
	for _, expr := range []string{"0 0 29 2 *", "0 0 L-28 2 *", "0 0 29W 2 *", "0 0 30 2 MON", "0 0 * 2 5#5", "0 0 31 2,3 *", "0 0 L-30 1,2 *"} {
		if _, err := cron.Parse(expr, time.UTC); err != nil {
			t.Errorf("%q: %v", expr, err)
		}
	}
}

// TestZeroSchedule: the zero value is of no use, but harmless.
func TestZeroSchedule(t *testing.T) {
	var s cron.Schedule
	if !s.Next(time.Now()).IsZero() || !s.Prev(time.Now()).IsZero() || s.MinGap() != 0 || s.String() == "" || s.Fingerprint() != "" {
		t.Error("the zero schedule answers")
	}
}
