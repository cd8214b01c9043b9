package checks

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/anarchon-go/anarchon/conformance/kit"
	"github.com/anarchon-go/anarchon/core/store"
)

// names: every job, namespace and slot is itself and no other.
func names() []kit.Check {
	return []kit.Check{{
		ID:       "names/jobs",
		Promises: []string{"R-NAME-1"},
		Says:     "jobs with names that look alike, or that some layer may take for something else, are each granted the same slot, and each has its own history and nothing of another's",
		Causes:   "a separator inside a joined key; wildcards in a topic; a collation that folds case or accents; Unicode normalisation; a name cut short; NUL ends the text",
		Do:       jobNames,
	}, {
		ID:       "names/instances",
		Promises: []string{"R-NAME-1", "R-CLAIM-5"},
		Says:     "instance names of every kind come back as they were, as holder and in the history",
		Causes:   "a separator inside a joined value; a column too short",
		Do:       instanceNames,
	}, {
		ID:       "names/namespaces",
		Promises: []string{"R-NAME-2", "R-RECALL-2"},
		Says:     "the same job and slot is granted once in each of two namespaces, one the beginning of the other; history and recall show a namespace its own runs only",
		Causes:   "a table, stream or script without the namespace; namespaces matched by prefix",
		Do:       namespaces,
	}, {
		ID:       "names/namespace-job",
		Promises: []string{"R-NAME-2"},
		Says:     "namespace n with job a:b and namespace n:a with job b are two jobs, with any of six separators that a namespace may hold",
		Causes:   "namespace and job joined by a separator that both may hold",
		Do:       namespacesJoined,
	}, {
		ID:       "names/near-slots",
		Promises: []string{"R-NAME-3"},
		Says:     "slots one millisecond apart are different runs, and come back to the millisecond",
		Causes:   "slots kept in seconds, or as text with seconds; floating point",
		Do:       nearSlots,
	}, {
		ID:       "names/far-slots",
		Promises: []string{"R-NAME-3", "R-LATE-1", "R-LATE-2"},
		Says:     "slots from 1970 to the year 9999 are judged by their distance from the store's now: late or early by exactly that, as far as it can be said; a claim-only store may grant them instead, each for itself",
		Causes:   "arithmetic that overflows; 0 taken for absent; 32-bit seconds",
		Do:       farSlots,
	}}
}

// nastyNames are names that some layer of some store may confuse.
func nastyNames() []string {
	long := strings.Repeat("x", store.MaxNameBytes-1)
	return []string{
		"a", "A", "b", " ", "a ", " a", "  a", "a:b", "a/b", "a.b", "a|b", "a-b", "a_b", "a,b", "a;b", "a=b", "a b", "a\tb", "a\nb", "a\r\nb", "a\\b", "a\\\\b",
		"a:", ":a", "a::b", "a:b:c", "a.", ".a", "a..b", ".", "..", "/", "//", "a/", "/a", "*", "a*", "a.*", ">", "a.>", "#", "a.#", "$", "$a", "%", "a%", "a%b", "%61", "_", "a?", "[a]", "{a}", "{a", "a}",
		"'", "a'", "a''", "\"", "\"a\"", "`a`", "a--", "a/*", "(a)", "a&b", "a+b", "~", "!", "@", "^",
		"é", "e\u0301", "É", "ß", "ss", "SS", "\u017f", "s", "S", "\u0131", "i", "I", "\u0130", "\ufb01", "fi", "\u00c5", "\u212b", "A\u030a", "\u00b5", "\u03bc", "\u03a9", "\u2126",
		"😀", "😀\u200d", "a\u200bb", "ab", "\ufeffa", "a\u0000", "\u0000a", "a\u0000b", "\u0000", "\u00a0", "\u2028", "日本", "ﾆ", "ニ",
		"null", "NULL", "nil", "0", "00", "1", "01", "-1", "1e3", "1000", "true", "newest", "all",
		long + "a", long + "b", long, strings.Repeat("é", store.MaxNameBytes/2), strings.Repeat("😀", store.MaxNameBytes/4),
	}
}

// own opens a process in a namespace of the check's own, so that names can be
// used as they are; where there is none, names are made the check's own.
func own(r *kit.Run) (c *kit.Client, name func(string) string) {
	c, err := r.OpenNamespace(r.Namespace("names"))
	if errors.Is(err, kit.ErrNoNamespace) {
		prefix := fmt.Sprintf("%d ", r.IntN(1_000_000_000))
		return r.Open(1)[0], func(s string) string {
			return strings.ToValidUTF8(prefix+s[:min(len(s), store.MaxNameBytes-len(prefix))], "")
		}
	}
	return c, func(s string) string { return s }
}

func jobNames(r *kit.Run) {
	c, as := own(r)
	var grants []kit.Grant
	seen := map[string]bool{}
	for i, name := range nastyNames() {
		name = as(name)
		if seen[name] {
			continue
		}
		seen[name] = true
		req := r.Ask(name, 0, fmt.Sprintf("i%d", i))
		a := c.Claim(req)
		if a.Verdict != store.VerdictWon {
			r.Fatalf("job %+q (%d bytes) was never claimed, and is answered %v: its name is taken for that of a job before it", name, len(name), a.Verdict)
		}
		grants = append(grants, kit.Grant{Claimed: a, Req: req})
	}
	if r.Leases() {
		if u := c.Unfinished().Runs; len(u) < len(grants) {
			r.Fatalf("%d jobs with nasty names are running; recall without names lists %d", len(grants), len(u))
		}
	}
	for _, g := range grants {
		if r.Leases() {
			if u := c.Unfinished(g.Req.Job).Runs; len(u) != 1 || u[0].Job != g.Req.Job || u[0].Holder != g.Req.Instance {
				r.Fatalf("recall of job %+q must list its one run, held by %s; got %+v", g.Req.Job, g.Req.Instance, u)
			}
			g = c.Renew(g, kit.Long)
		}
		c.Record(g, store.OutcomeSuccess, "")
		if !r.Description().History {
			continue
		}
		if h := c.History(g.Req.Job); len(h) != 1 || h[0].Instance != g.Req.Instance {
			r.Fatalf("the history of job %+q must have its one attempt, of %s; got %+v", g.Req.Job, g.Req.Instance, h)
		}
	}
	r.Figure("names told apart", "%d", len(grants))
}

func instanceNames(r *kit.Run) {
	p := r.Open(2)
	job := r.Job("j")
	for slot, name := range nastyNames() {
		g := p[0].Win(r.Ask(job, slot, name))
		if r.Leases() {
			if a := p[1].Refused(g.Next("asker"), store.VerdictRunning); a.Holder != name {
				r.Fatalf("the holder is %+q; running names %+q", name, a.Holder)
			}
			same(r, g, p[1].Claim(g.Req))
		}
		if r.Description().History {
			wantAttempt(r, p[1], job, g, store.StatusRunning, false)
		}
		p[0].Record(g, store.OutcomeSuccess, "")
	}
}

func namespaces(r *kit.Run) {
	job := "the same job"
	var all []*kit.Client
	for _, name := range []string{"a", "a2", "b"} {
		c, err := r.OpenNamespace(r.Namespace(name))
		if err != nil {
			r.Fatalf("%v", err)
		}
		all = append(all, c)
	}
	var grants []kit.Grant
	for _, c := range all {
		g := c.Win(r.Ask(job, 0, "holder of "+c.Name()))
		c.Refused(another(r, g, "another"), takenAs(r))
		grants = append(grants, g)
	}
	for i, c := range all {
		if r.Leases() {
			if u := c.Unfinished().Runs; len(u) != 1 || u[0].Holder != grants[i].Req.Instance {
				r.Fatalf("namespace %s has one unfinished run, of %q; recall without names lists %+v", c.Name(), grants[i].Req.Instance, u)
			}
		}
		if r.Description().History {
			if h := c.History(job); len(h) != 1 || h[0].Instance != grants[i].Req.Instance {
				r.Fatalf("namespace %s has one attempt, of %q; its history has %+v", c.Name(), grants[i].Req.Instance, h)
			}
		}
		c.Record(grants[i], store.OutcomeSuccess, "")
	}
	// A newer slot in one is not the newest of the others.
	all[0].Win(r.Ask(job, 9, "holder"))
	all[1].Win(r.Ask(job, 1, "holder"))
}

func namespacesJoined(r *kit.Run) {
	short := r.Namespace("j")
	c, err := r.OpenNamespace(short)
	if err != nil {
		r.Fatalf("%v", err)
	}
	tried := 0
	for _, sep := range []string{":", "/", ".", "|", "_", "-"} {
		long, err := r.TryOpenNamespace(short + sep + "a")
		if err != nil {
			continue // no namespace may have it, so it tells the two apart
		}
		tried++
		c.Win(r.Ask("a"+sep+"b", 0, "holder"))
		long.Win(r.Ask("b", 0, "holder"))
		long.Win(r.Ask("a"+sep+"b", 0, "holder"))
		c.Win(r.Ask("b"+sep, 0, "holder"))
	}
	r.Figure("separators tried", "%d", tried)
}

func nearSlots(r *kit.Run) {
	p := r.Open(2)
	job := r.Job("j")
	base := r.Slot(0) + 123
	var want []int64
	for i := range int64(25) {
		req := r.Ask(job, 0, "a")
		req.Slot = base + i
		g := p[i%2].Win(req)
		p[i%2].Refused(another(r, g, "b"), takenAs(r))
		p[1].Record(g, store.OutcomeSuccess, "")
		want = append([]int64{req.Slot}, want...)
	}
	if !r.Description().History {
		return
	}
	h := p[0].History(job)
	if len(h) != len(want) {
		r.Fatalf("%d slots one millisecond apart were granted; the history has %d attempts", len(want), len(h))
	}
	for i, a := range h {
		if a.Slot != want[i] {
			r.Fatalf("slot %d was granted; the history has %d at its place", want[i], a.Slot)
		}
	}
}

func farSlots(r *kit.Run) {
	c := r.Open(1)[0]
	for i, slot := range []int64{0, 1, 999, 1000, math.MaxInt32, math.MaxInt32 + 1, store.MaxSlot, store.MaxSlot - 1, store.MaxSlot - 999} {
		req := r.Ask(r.Job(fmt.Sprintf("j%d", i)), 0, "a")
		req.Slot, req.MaxEarly, req.MaxLate = slot, store.MaxBound, store.MaxBound
		if !r.Leases() {
			if a := c.Refused(req, store.VerdictLate, store.VerdictEarly, store.VerdictWon); a.Verdict == store.VerdictWon {
				c.Refused(another(r, kit.Grant{Claimed: a, Req: req}, "b"), store.VerdictFinished)
				if r.Description().History {
					wantAttempt(r, c, req.Job, kit.Grant{Claimed: a, Req: req}, store.StatusRunning, false)
				}
				continue
			}
		}
		a := c.Refused(req, store.VerdictLate, store.VerdictEarly)
		if a.Now == 0 {
			continue
		}
		by := a.Now - slot
		want := store.VerdictLate
		if by < 0 {
			by, want = -by, store.VerdictEarly
		}
		if a.Verdict != want {
			r.Fatalf("slot %d (%v): by the store's now %d it is %v; got %v", slot, store.Time(slot).Format(time.DateOnly), a.Now, want, a.Verdict)
		}
		// time.Duration ends at 292 years; from there on any long time will do.
		const longest = math.MaxInt64 / int64(time.Millisecond)
		if exact := a.By == msSpan(by); by <= longest && !exact || a.By < msSpan(min(by, longest)) {
			r.Fatalf("slot %d (%v) is %v by %d ms; the answer says %v", slot, store.Time(slot).Format(time.DateOnly), a.Verdict, by, a.By)
		}
	}
}
