package scenarios

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/internal/hostprog"
)

// Record is what a play left: all that instances said and the store remembers.
type Record struct {
	Store  store.Description
	Timing Timing
	Zero   time.Time // time zero of the play
	Done   time.Time // when the script was done; what follows is clearing up

	Lines   []hostprog.Line // of all instances, by their time
	Acts    []Act           // what was done to them, by time
	Roles   map[string]string
	History map[string][]store.Attempt // by job; by slot and attempt
	Open    []store.UnfinishedRun      // at the end
	Probes  map[string]string          // what the script asked the store itself
}

// Act is something that the script did.
type Act struct {
	At   time.Time
	Lane string // of an instance, or "store"
	What string // "start", "kill -9", "SIGSTOP", "SIGCONT", "SIGTERM", "cut", "mended", "ended", "down", "up", "kill -9 plugin"
}

// since writes a time as seconds from time zero, e.g. "+3.0s".
func (r *Record) since(at time.Time) string {
	return fmt.Sprintf("%+.1fs", at.Sub(r.Zero).Seconds())
}

// slot writes a slot likewise, without a needless fraction: "+3s".
func (r *Record) slot(slot int64) string {
	s := fmt.Sprintf("%+.1f", float64(slot-r.Zero.UnixMilli())/1000)
	return strings.TrimSuffix(s, ".0") + "s"
}

// find returns the lines that match, in order.
func (r *Record) find(match func(hostprog.Line) bool) []hostprog.Line {
	var found []hostprog.Line
	for _, l := range r.Lines {
		if match(l) {
			found = append(found, l)
		}
	}
	return found
}

// of returns the lines of one kind about a job.
func (r *Record) of(what, job string) []hostprog.Line {
	return r.find(func(l hostprog.Line) bool { return l.What == what && l.Job == job })
}

// act returns the first or nth act of a kind; the zero Act if there is none.
func (r *Record) act(what string, nth int) Act {
	for _, a := range r.Acts {
		if a.What == what {
			if nth--; nth <= 0 {
				return a
			}
		}
	}
	return Act{}
}

// run is one execution of a handler, as its instance told it.
type run struct {
	hostprog.Line           // its "started"
	end           time.Time // when its handler returned, or its instance died; zero: it was never told
	how           string    // the event that ended it: "succeeded", "lost", ...; or what was done: "kill -9"
	handed        bool
}

// same reports whether a line is about this execution.
func (r *run) same(l hostprog.Line) bool {
	return r.Instance == l.Instance && r.Job == l.Job && r.Slot == l.Slot && r.Attempt == l.Attempt
}

// lane is where it ran.
func (r run) lane() string { return laneOf(r.Instance) }

// runs returns the executions of all jobs, or of one, by their beginning.
func (r *Record) runs(job string) []run {
	var runs []run
	for _, l := range r.Lines {
		switch l.What {
		case "started":
			if job == "" || l.Job == job {
				runs = append(runs, run{Line: l})
			}
		case "returned":
			for i := range runs {
				if s := &runs[i]; s.same(l) && s.end.IsZero() {
					s.end = l.At
				}
			}
		case "succeeded", "failed", "interrupted", "lost", "unrecorded", "stuck":
			for i := range runs {
				if s := &runs[i]; s.same(l) && s.how == "" {
					s.how, s.handed = l.What, l.Handed
					if s.end.IsZero() {
						s.end = l.At
					}
				}
			}
		}
	}
	for i := range runs { // those that nobody told the end of: their instance died
		s := &runs[i]
		for _, a := range r.Acts {
			if s.how == "" && a.Lane == s.lane() && a.At.After(s.At) && (a.What == "kill -9" || a.What == "ended") {
				s.how = a.What
				if s.end.IsZero() {
					s.end = a.At
				}
			}
		}
	}
	return runs
}

// hold is a time in which the store surely protected an attempt: from the answer to
// its claim until a finish was sent, or until its lease was over, counted from when
// the last accepted renewal was sent.
type hold struct {
	hostprog.Line // the grant
	from, to      time.Time
	released      bool // it may have ended before its lease did
}

// holds returns them by their beginning, from what the instances said. The lines must
// be sorted by time, and the store's clock be that of this machine.
func (r *Record) holds() []hold {
	type key struct {
		job   string
		slot  int64
		token int64
	}
	lease := make(map[key]time.Duration)
	holds := make(map[key]*hold)
	for _, l := range r.Lines {
		k := key{l.Job, l.Slot, l.Token}
		switch {
		case l.What == "claim" && l.Answer == "won":
			if holds[k] == nil {
				sent := l.At.Add(-l.Took)
				holds[k] = &hold{Line: l, from: l.At, to: sent.Add(l.Left)}
				lease[k] = l.Left
			}
		case holds[k] == nil:
		case l.What == "heartbeat" && l.Answer == "renewed":
			if h, to := holds[k], l.At.Add(lease[k]-l.Took); to.After(h.to) && !h.released {
				h.to = to
			}
		case l.What == "finish" && l.Answer != "lost":
			// Without an answer it may have been recorded, too, then or later.
			if h, sent := holds[k], l.At.Add(-l.Took); !h.released && sent.Before(h.to) {
				h.to, h.released = sent, true
			}
		}
	}
	// Who dies or freezes right after its finish can't say that it sent one.
	for job, attempts := range r.History {
		for _, a := range attempts {
			h := holds[key{job, a.Slot, int64(a.Token)}]
			if byHolder := a.HandedOver || a.Status == store.StatusSuccess || a.Status == store.StatusFailed; h == nil || !byHolder {
				continue
			}
			if end := time.UnixMilli(a.EndedAt); a.EndedAt != 0 && end.Before(h.to) {
				h.to, h.released = end, true
			}
		}
	}
	list := make([]hold, 0, len(holds))
	for _, h := range holds {
		list = append(list, *h)
	}
	slices.SortFunc(list, func(a, b hold) int { return cmp.Or(a.from.Compare(b.from), cmp.Compare(a.Token, b.Token)) })
	return list
}

// byToken sorts leases in the order in which the store granted them, job by job. An
// answer may come late, so their beginnings do not tell it.
func byToken(holds []hold) []hold {
	return slices.SortedFunc(slices.Values(holds), func(a, b hold) int {
		return cmp.Or(strings.Compare(a.Job, b.Job), cmp.Compare(a.Token, b.Token))
	})
}

// rows writes a job's history, a line per attempt: "+0s #1 scheduled interrupted".
func (r *Record) rows(job string) []string {
	var rows []string
	for _, a := range r.History[job] {
		status := a.Status.String()
		if a.HandedOver {
			status += ", handed over"
		}
		rows = append(rows, fmt.Sprintf("%s #%d %s %s", r.slot(a.Slot), a.Attempt, a.Reason, status))
	}
	return rows
}

// lanes returns the names of the instances that took part, in order.
func (r *Record) lanes() []string {
	seen := map[string]bool{}
	for _, a := range r.Acts {
		if a.What == "start" {
			seen[a.Lane] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}
