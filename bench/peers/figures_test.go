package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	// A name may hold spaces and parentheses.
	got, err := parseStat("42 (a (b) c) S 1 42 42 0 -1 4194560 9 8 7 6 150 50 30 20 20 0 12 0 777 99999 256 18446744073709551615\n", 4096)
	if want := (usage{2 * time.Second, 1 << 20}); err != nil || got != want {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	for _, bad := range []string{"", "42 (a) S 1 2 3", "42 (a) S 1 42 42 0 -1 4194560 9 8 7 6 x 50 30 20 20 0 12 0 777 99999 256 1"} {
		if got, err := parseStat(bad, 4096); err == nil {
			t.Errorf("%q is taken for %+v", bad, got)
		}
	}
	if u, err := used(os.Getpid()); err != nil || u.rss < 1<<20 {
		t.Errorf("this process takes %+v, %v; want a megabyte at least", u, err)
	}
}

func TestParseCommands(t *testing.T) {
	calls, reads, err := parseCommands("# Stats\r\ntotal_connections_received:1\r\ntotal_commands_processed:70\r\ntotal_reads_processed:7\r\n")
	if err != nil || calls != 70 || reads != 7 {
		t.Errorf("%d, %d, %v; want 70, 7", calls, reads, err)
	}
	for _, bad := range []string{"", "total_commands_processed:70\r\n", "total_commands_processed:x\r\ntotal_reads_processed:7\r\n"} {
		if _, _, err := parseCommands(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestParseCPU(t *testing.T) {
	if got, err := parseCPU("123456789\n"); err != nil || got != 123456789 {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"", "none", "1 2"} {
		if got, err := parseCPU(bad); err == nil {
			t.Errorf("%q is taken for %v", bad, got)
		}
	}
}

func TestTables(t *testing.T) {
	var out strings.Builder
	r := result{
		subject:   subject{name: "some", store: "redis"},
		counts:    counts{runs: 10, busiest: 4, once: 7, more: 1, lost: 2, median: 3 * time.Millisecond, p99: 40 * time.Millisecond, longest: 1500 * time.Millisecond},
		store:     load{calls: 25, trips: 5, cpu: time.Millisecond},
		instances: usage{cpu: 20 * time.Millisecond, rss: 64 << 20},
	}
	table(&out, runsHead, [][]string{r.row()})
	table(&out, waitsHead, [][]string{waits{Bytes: 200.4, Goroutines: 2, Add: 0.126}.row("some")})
	const want = `| scheduler | store | once | several times | never | busiest instance | start: median | p99 | longest | store, per run: commands | round trips | CPU | instances: CPU per run | memory of one |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|
| some | redis | 7 | 1 | 2 | 40 % | 3 ms | 40 ms | 1500 ms | 2.50 | 0.50 | 100 µs | 2000 µs | 64 MB |

| scheduler | memory per job | goroutines | to add all |
|---|---|---|---|
| some | 200 B | 2 | 0.13 s |

`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
	if got := (result{}).row(); len(got) != strings.Count(runsHead, "|")+1 {
		t.Errorf("the row of one that never ran is %q", got)
	}
}

// TestWait: what waits without a store is measured in this very process.
func TestWait(t *testing.T) {
	for _, s := range waiters {
		if s.store != "" {
			continue
		}
		var out bytes.Buffer
		if err := wait(s, instance{Jobs: 2000}, &out); err != nil {
			t.Fatal(err)
		}
		var w waits
		if err := json.Unmarshal(out.Bytes(), &w); err != nil {
			t.Fatal(err)
		}
		if w.Bytes < 50 || w.Bytes > 100_000 {
			t.Errorf("%s: %v bytes per job; want something between 50 and 100 000", s.name, w.Bytes)
		}
	}
}
