package scenarios

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/internal/hostprog"
)

// ChaosResult is what a [Stage.Chaos] came to.
type ChaosResult struct {
	Backend string
	Seed    uint64
	Length  time.Duration
	Hosts   int
	Record  *Record
	Err     error // something was left behind

	Acts       map[string]int // what was done, how often
	Slots      int            // that fell due
	Fates      map[string]int // what became of them: "ran", or why not
	Attempts   int
	HandedOver int
	TakenOver  int
	Violations []string
}

// OK reports whether no rule was broken.
func (r *ChaosResult) OK() bool { return r.Err == nil && len(r.Violations) == 0 }

// grantKey is an attempt.
type grantKey struct {
	job     string
	slot    int64
	attempt int
}

func (k grantKey) in(r *Record) string {
	return fmt.Sprintf("%s, slot %s, attempt %d", k.job, r.slot(k.slot), k.attempt)
}

// judge holds the record against the rules. late are the runs that were unfinished
// two leases after the only instance had started.
func (r *ChaosResult) judge(p *Play, late []store.UnfinishedRun) {
	r.Acts, r.Fates = map[string]int{}, map[string]int{}
	for _, a := range r.Record.Acts {
		r.Acts[a.What]++
	}
	for _, attempts := range r.Record.History {
		for _, a := range attempts {
			r.Attempts++
			if a.HandedOver {
				r.HandedOver++
			}
			if a.Reason == store.ReasonTakeover {
				r.TakenOver++
			}
		}
	}
	r.oneWinner()
	r.tokensRise()
	r.outcomesStand()
	if r.Record.Store.Kind == store.KindLease {
		holds := r.Record.holds()
		if err := r.Record.checkNeverEarly(holds); err != nil {
			r.violation("%v", err)
		}
		r.neverTwoLeases(p.jobs, holds)
	}
	r.everySlot(p.jobs, p.zero.Add(r.Length))
	for _, u := range late {
		r.violation("%s, slot %s is still running two leases after the last start, held by %s", u.Job, r.Record.slot(u.Slot), u.Holder)
	}
	for _, dir := range p.sockets() {
		r.violation("a socket was left: %s", dir)
	}
	r.endedByItself()
}

func (r *ChaosResult) violation(format string, args ...any) {
	r.Violations = append(r.Violations, fmt.Sprintf(format, args...))
}

// oneWinner: an attempt is granted to one instance, and the history says the same.
func (r *ChaosResult) oneWinner() {
	won := map[grantKey]hostprog.Line{}
	for _, l := range r.Record.Lines {
		if l.What != "claim" || l.Answer != "won" {
			continue
		}
		k := grantKey{l.Job, l.Slot, l.Attempt}
		if other, twice := won[k]; twice && (other.Instance != l.Instance || other.Token != l.Token) {
			r.violation("%s has two winners, %s and %s", k.in(r.Record), other.Instance, l.Instance)
		}
		won[k] = l
	}
	for job, attempts := range r.Record.History {
		for _, a := range attempts {
			k := grantKey{job, a.Slot, a.Attempt}
			l, told := won[k]
			if name, _, _ := strings.Cut(a.Instance, "-"); told && name != l.Instance {
				r.violation("%s was won by %s; history says %s", k.in(r.Record), l.Instance, a.Instance)
			}
			delete(won, k)
		}
	}
	for k, l := range won {
		r.violation("%s was won by %s; history does not know it", k.in(r.Record), l.Instance)
	}
}

// tokensRise: who asked after another had been answered got a greater token. A claim
// whose answer was lost is asked again with the same id, and counts from the first time.
func (r *ChaosResult) tokensRise() {
	if !r.Record.Store.Fenced {
		return
	}
	type asking struct {
		instance, job string
		slot          int64
	}
	first := map[asking]time.Time{} // of claims that were not answered yet
	type grant struct {
		hostprog.Line
		sent time.Time
	}
	var grants []grant
	// An instance gives up a claim whose answer is long in coming and asks again with the
	// same id; then both answers may come, and tell the same grant.
	type answer struct {
		instance string
		grantKey
		token int64
	}
	told := map[answer]bool{}
	for _, l := range r.Record.Lines {
		if l.What != "claim" {
			continue
		}
		k := asking{l.Instance, l.Job, l.Slot}
		if first[k].IsZero() {
			first[k] = l.At.Add(-l.Took)
		}
		if l.Error != "" {
			continue
		}
		if a := (answer{l.Instance, grantKey{l.Job, l.Slot, l.Attempt}, l.Token}); l.Answer == "won" && !told[a] {
			told[a] = true
			grants = append(grants, grant{l, first[k]})
		}
		delete(first, k)
	}
	newest := map[string]hostprog.Line{} // by job: the answered grant with the greatest token
	answered := 0
	for _, g := range slices.SortedFunc(slices.Values(grants), func(a, b grant) int { return a.sent.Compare(b.sent) }) {
		for answered < len(grants) && grants[answered].At.Before(g.sent) {
			if l := grants[answered].Line; l.Token > newest[l.Job].Token {
				newest[l.Job] = l
			}
			answered++
		}
		if n := newest[g.Job]; g.Token <= n.Token {
			r.violation("%s got token %d, after %s had got %d", grantKey{g.Job, g.Slot, g.Attempt}.in(r.Record), g.Token, grantKey{n.Job, n.Slot, n.Attempt}.in(r.Record), n.Token)
		}
	}
}

// outcomesStand: what an instance says was recorded is in the history.
func (r *ChaosResult) outcomesStand() {
	status := map[grantKey]store.Status{}
	for job, attempts := range r.Record.History {
		for _, a := range attempts {
			k := grantKey{job, a.Slot, a.Attempt}
			status[k] = a.Status
			if a.Status == store.StatusRunning && r.Record.Store.Kind == store.KindLease {
				r.violation("%s is still running at the end", k.in(r.Record))
			}
		}
	}
	for _, l := range r.Record.Lines {
		k := grantKey{l.Job, l.Slot, l.Attempt}
		if l.What == "succeeded" && !l.Unproven && status[k] != store.StatusSuccess {
			r.violation("%s succeeded and was recorded, says %s; history says %v", k.in(r.Record), l.Instance, status[k])
		}
	}
}

// neverTwoLeases: no two runs of a skip job are protected at once.
func (r *ChaosResult) neverTwoLeases(jobs []hostprog.Job, holds []hold) {
	skips := map[string]bool{}
	for _, j := range jobs {
		skips[j.Name] = j.Overlap == "skip"
	}
	last := map[string]hold{} // by job: the one that ends last
	for _, h := range byToken(holds) {
		if !skips[h.Job] {
			continue
		}
		if before, ok := last[h.Job]; ok && h.from.Before(before.to.Add(-clockGrain)) {
			r.violation("%s, slot %s was granted to %s while %s held slot %s for another %v", h.Job, r.Record.slot(h.Slot), h.Instance, before.Instance, r.Record.slot(before.Slot), before.to.Sub(h.from))
		}
		if h.to.After(last[h.Job].to) {
			last[h.Job] = h
		}
	}
}

// everySlot: each slot that fell due was run, or an instance said why not, or no
// instance was up long enough to say anything.
func (r *ChaosResult) everySlot(jobs []hostprog.Job, end time.Time) {
	type key struct {
		job  string
		slot int64
	}
	fate := map[key]string{}
	for job, attempts := range r.Record.History {
		for _, a := range attempts {
			fate[key{job, a.Slot}] = "ran"
		}
	}
	every := map[string]int64{}
	for _, j := range jobs {
		every[j.Name] = j.Every.Milliseconds()
	}
	for _, l := range r.Record.Lines {
		if l.What != "skipped" {
			continue
		}
		for slot := l.Slot; slot <= max(l.Last, l.Slot); slot += every[l.Job] {
			if k := (key{l.Job, slot}); fate[k] == "" {
				fate[k] = l.Reason
			}
		}
	}
	up := r.Record.upTimes()
	for _, j := range jobs {
		for n := range j.Count {
			slot := j.First + int64(n)*j.Every.Milliseconds()
			due := time.UnixMilli(slot)
			if due.After(end) {
				break
			}
			r.Slots++
			f := fate[key{j.Name, slot}]
			if f == "" {
				// It is named by the time the next one is due, and the store has been asked.
				f = "nobody was up"
				until := due.Add(j.Every + 3*time.Second)
				if i := slices.IndexFunc(up, func(u upTime) bool { return u.from.Before(due.Add(-100*time.Millisecond)) && u.to.After(until) }); i >= 0 {
					r.violation("%s, slot %s did not run, and nobody said why, though %s was up from %s to %s", j.Name, r.Record.slot(slot), up[i].instance, r.Record.since(up[i].from), r.Record.since(up[i].to))
				}
			}
			r.Fates[f]++
		}
	}
}

// upTime is a time in which an instance was up and nothing was done to it.
type upTime struct {
	instance string
	from, to time.Time
}

func (r *Record) upTimes() []upTime {
	var all []upTime
	for _, l := range r.Lines {
		if l.What != "ready" {
			continue
		}
		lane, from := laneOf(l.Instance), l.At
		for _, a := range r.Acts { // by time
			if a.Lane != lane || a.At.Before(from) {
				continue
			}
			all = append(all, upTime{l.Instance, from, a.At})
			if from = a.At; a.What == "kill -9" || a.What == "SIGTERM" || a.What == "ended" {
				break
			}
		}
	}
	// While it was frozen it was not up.
	return slices.DeleteFunc(all, func(u upTime) bool {
		return slices.ContainsFunc(r.Acts, func(a Act) bool {
			return a.Lane == laneOf(u.instance) && a.What == "SIGSTOP" && a.At.Equal(u.from)
		})
	})
}

// endedByItself: an instance that was up ends only when it is killed or stopped.
func (r *ChaosResult) endedByItself() {
	asked := map[string]bool{}
	started := map[string]int{}
	for _, a := range r.Record.Acts {
		switch a.What {
		case "start":
			started[a.Lane]++
			asked[a.Lane] = false
		case "kill -9", "SIGTERM":
			asked[a.Lane] = true
		case "ended":
			name := a.Lane
			if n := started[a.Lane]; n > 1 {
				name = fmt.Sprintf("%s.%d", a.Lane, n)
			}
			wasUp := slices.ContainsFunc(r.Record.Lines, func(l hostprog.Line) bool { return l.What == "ready" && l.Instance == name })
			if wasUp && !asked[a.Lane] {
				r.violation("%s ended by itself at %s", name, r.Record.since(a.At))
			}
		}
	}
}

// Tell writes the figures, and each violation.
func (r *ChaosResult) Tell(w io.Writer) {
	fmt.Fprintf(w, "%s: %v of chaos with seed %d, %d instances, %d jobs\n", r.Backend, r.Length, r.Seed, r.Hosts, chaosJobs)
	fmt.Fprintf(w, "  done: %s\n", counts(r.Acts))
	fmt.Fprintf(w, "  %d slots were due: %s\n", r.Slots, counts(r.Fates))
	fmt.Fprintf(w, "  %d attempts, %d taken over, %d handed over\n", r.Attempts, r.TakenOver, r.HandedOver)
	if r.Err != nil {
		fmt.Fprintf(w, "  FAULT %v\n", r.Err)
	}
	for _, v := range r.Violations {
		fmt.Fprintf(w, "  VIOLATION %s\n", v)
	}
	fmt.Fprintf(w, "  %d violations\n", len(r.Violations))
}

// TellJobs writes all that was said of the jobs whose rules were broken.
func (r *ChaosResult) TellJobs(w io.Writer) {
	for job := range r.Record.History {
		if !slices.ContainsFunc(r.Violations, func(v string) bool { return strings.HasPrefix(v, job) }) {
			continue
		}
		fmt.Fprintf(w, "%s:\n", job)
		for _, l := range r.Record.Lines {
			if l.Job == job {
				fmt.Fprintf(w, "%10s  %-5s %-10s %7s #%d token %d %s %s %s took %v\n", r.Record.since(l.At), l.Instance, l.What, r.Record.slot(l.Slot), l.Attempt, l.Token, l.Reason, l.Answer, l.Error, l.Took.Round(time.Millisecond))
			}
		}
	}
}

// counts writes a map of counts, the largest first.
func counts(m map[string]int) string {
	keys := slices.SortedFunc(maps.Keys(m), func(a, b string) int { return cmp.Or(m[b]-m[a], strings.Compare(a, b)) })
	var parts []string
	for _, k := range keys {
		parts = append(parts, fmt.Sprintf("%s %d", k, m[k]))
	}
	return strings.Join(parts, ", ")
}
