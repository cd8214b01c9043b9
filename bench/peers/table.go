package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"
)

// table prints a table of Markdown.
func table(out io.Writer, head string, rows [][]string) {
	columns := strings.Split(head, "|")
	fmt.Fprintf(out, "| %s |\n|%s\n", strings.Join(columns, " | "), strings.Repeat("---|", len(columns)))
	for _, r := range rows {
		fmt.Fprintf(out, "| %s |\n", strings.Join(r, " | "))
	}
	fmt.Fprintln(out)
}

const runsHead = "scheduler|store|once|several times|never|busiest instance|start: median|p99|longest|store, per run: commands|round trips|CPU|instances: CPU per run|memory of one"

func (r result) row() []string {
	per := func(n int64) string { return fmt.Sprintf("%.2f", float64(n)/float64(max(r.runs, 1))) }
	cpu := func(d time.Duration) string { return fmt.Sprintf("%d µs", d.Microseconds()/int64(max(r.runs, 1))) }
	ms := func(d time.Duration) string { return fmt.Sprintf("%d ms", d.Milliseconds()) }
	return []string{
		r.name, r.subject.store, fmt.Sprint(r.once), fmt.Sprint(r.more), fmt.Sprint(r.lost), fmt.Sprintf("%d %%", 100*r.busiest/max(r.runs, 1)), ms(r.median), ms(r.p99), ms(r.longest),
		per(r.store.calls), per(r.store.trips), cpu(r.store.cpu), cpu(r.instances.cpu), fmt.Sprintf("%d MB", r.instances.rss>>20),
	}
}

const waitsHead = "scheduler|memory per job|goroutines|to add all"

func (w waits) row(name string) []string {
	return []string{name, fmt.Sprintf("%.0f B", w.Bytes), fmt.Sprint(w.Goroutines), fmt.Sprintf("%.2f s", w.Add)}
}

// machine says where and when the figures were taken.
func machine() string {
	return fmt.Sprintf("%s, %d CPUs, %s", time.Now().UTC().Format("2 January 2006 15:04 MST"), runtime.NumCPU(), runtime.Version())
}

// loadAverage is that of the last minute: whoever else wants the machine.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	minute, _, _ := strings.Cut(string(text), " ")
	return minute
}
