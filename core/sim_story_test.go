package core

import (
	"fmt"
	"strings"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// simEntry is something that happened. It is written down as it is and put into
// words only if somebody wants to read it.
type simEntry struct {
	at   int64
	who  string
	what string // {d}, {n}, {id}, {text} and {err} stand for the fields
	job  string
	slot int64
	n    int64
	d    time.Duration
	id   store.ClaimID
	text string
	err  error

	aside bool // seldom worth telling
}

// simTrace remembers the latest entries and a hash of all.
type simTrace struct {
	ring [1 << 13]simEntry
	n    uint64
	hash uint64
}

func (w *simWorld) note(e simEntry) {
	e.at = w.now
	t := &w.trace
	t.ring[t.n%uint64(len(t.ring))] = e
	t.n++
	h := t.hash
	for _, x := range [...]uint64{uint64(e.at), uint64(e.slot), uint64(e.n), uint64(e.d), uint64(e.id[0])<<8 | uint64(e.id[15]), hashText(e.who), hashText(e.what)} {
		h = (h ^ x) * 0x9E3779B97F4A7C15
		h ^= h >> 29
	}
	t.hash = h
}

// hashText mixes a text's length and ends: enough to tell apart what is noted.
func hashText(s string) uint64 {
	h := uint64(len(s))
	for i := 0; i < len(s); i += 1 + len(s)/4 {
		h = h<<8 ^ h>>56 ^ uint64(s[i])
	}
	return h
}

// story tells what led to the broken invariant: what concerns its run in the
// time that matters, what the store decided of other slots of the job, and what
// befell the machines and the store.
func (w *simWorld) story() string {
	v := w.broken
	from := v.from - int64(5*time.Second)
	if *simLong {
		from -= int64(time.Hour)
	}
	var told []*simEntry
	seen := map[simEntry]int{}
	t := &w.trace
	for i := t.n - min(t.n, uint64(len(t.ring))); i < t.n; i++ {
		e := &t.ring[i%uint64(len(t.ring))]
		if v.concerns(e, w.now, from) || *simLong {
			told = append(told, e)
			seen[e.kind()]++
		}
	}
	var lines []string
	shown := map[simEntry]int{}
	for _, e := range told {
		// What is done again and again is told twice, and for the last time.
		k := e.kind()
		shown[k]++
		switch n := seen[k]; {
		case shown[k] < 3 || *simLong:
			lines = append(lines, e.String())
		case shown[k] == n:
			lines = append(lines, fmt.Sprintf("%v (the last of %d times)", e, n))
		}
	}
	most := 80
	if *simLong {
		most = 100_000
	}
	if cut := len(lines) - most; cut > 0 {
		lines = append([]string{fmt.Sprintf("  … %d lines before", cut)}, lines[cut:]...)
	}
	return fmt.Sprintf("%s\n%s\n=> %s: %s", w.plan.describe(v.job), strings.Join(lines, "\n"), v.rule, v.text)
}

// concerns reports whether an entry belongs to a violation's story, which is told
// from the given time on.
func (v *simViolation) concerns(e *simEntry, now, from int64) bool {
	switch {
	case e.aside:
		return false
	case e.job == "":
		return e.at >= from-int64(10*time.Minute)
	case e.job != v.job || e.at < from:
		return false
	case e.slot == v.slot || v.slot == 0:
		return true
	}
	return e.at >= now-int64(10*time.Second) || e.who == "store" && e.at >= now-int64(2*time.Minute)
}

// kind is what an entry has in common with its repetitions.
func (e *simEntry) kind() simEntry {
	return simEntry{who: e.who, what: e.what, job: e.job, slot: e.slot, id: e.id, text: e.text, d: e.d}
}

// String puts an entry into words.
func (e *simEntry) String() string {
	what := strings.NewReplacer("{d}", e.d.Round(time.Millisecond).String(), "{n}", fmt.Sprint(e.n),
		"{id}", e.id.String()[:6], "{text}", e.text, "{err}", fmt.Sprint(e.err)).Replace(e.what)
	line := fmt.Sprintf("%s %-6s ", simClock(e.at), e.who)
	if e.job != "" {
		line += e.job + " "
	}
	if e.slot != 0 {
		line += simSlot(e.slot) + " "
	}
	return line + what
}

// simClock prints a true time; simSlot prints a slot the same way.
func simClock(at int64) string {
	d := time.Duration(at)
	return fmt.Sprintf("%d:%02d:%06.3f", int(d.Hours()), int(d.Minutes())%60, (d % time.Minute).Seconds())
}

func simSlot(slot int64) string {
	return strings.TrimSuffix(simClock(slot*int64(time.Millisecond)-simEpoch), ".000")
}
