package scenarios

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/internal/hostprog"
)

// The measures of a picture, in pixels.
const (
	picWidth  = 960.0
	picLeft   = 64.0
	picRight  = 24.0
	picTop    = 66.0
	laneSpace = 30.0 // below each lane
	laneTall  = 26.0 // a lane with one row of runs
	laneMost  = 150.0
)

// picture draws a record: a lane for each instance and one for the store, time to the
// right.
type picture struct {
	*Record
	b        strings.Builder
	from, to time.Time
	lanes    []string
	y        map[string]float64 // top of each lane
	tall     map[string]float64
	rows     map[string]int
	held     []int // the row of each lease in the store's lane, if leases are drawn
}

// Picture draws a result as SVG; it is readable on light and on dark ground.
func Picture(r *Result) string {
	p := &picture{Record: r.Record, y: map[string]float64{}, tall: map[string]float64{}, rows: map[string]int{}}
	p.lanes = append(r.Record.lanes(), "store")
	p.frame()
	runs := p.layout()
	height := p.y["store"] + p.tall["store"] + 74

	fmt.Fprintf(&p.b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" role="img" font-family="system-ui, sans-serif" font-size="11">`, picWidth, height)
	title := fmt.Sprintf("%d. %s: %v backend (%s)", r.Scenario.ID, r.Scenario.Title, r.Kind, r.Backend)
	var words strings.Builder
	r.Record.Timeline(&words)
	fmt.Fprintf(&p.b, "<title>%s</title><desc>%s</desc>%s", html.EscapeString(title), html.EscapeString(words.String()), picStyle)
	fmt.Fprintf(&p.b, `<rect class="ground" width="%.0f" height="%.0f"/>`, picWidth, height)
	p.text(picLeft, 20, "head", title)
	p.axis(height)
	for _, lane := range p.lanes {
		p.lane(lane)
	}
	p.bands()
	p.leases()
	for _, s := range runs {
		p.run(s)
	}
	p.calls()
	p.marks()
	p.legend(height - 14)
	p.b.WriteString("</svg>\n")
	return p.b.String()
}

// frame chooses the time shown: from just before the first thing that matters to the
// end of the script.
func (p *picture) frame() {
	p.from, p.to = p.Zero.Add(-time.Second), p.Done.Add(500*time.Millisecond)
	for _, l := range p.Lines {
		if (l.What == "claim" || l.What == "started") && l.At.Add(-time.Second).Before(p.from) {
			p.from = l.At.Add(-time.Second)
		}
	}
	for _, a := range p.Acts {
		if a.What == "down" && a.At.Add(-time.Second).Before(p.from) {
			p.from = a.At.Add(-time.Second)
		}
	}
}

func (p *picture) x(at time.Time) float64 {
	share := at.Sub(p.from).Seconds() / p.to.Sub(p.from).Seconds()
	return picLeft + min(max(share, 0), 1)*(picWidth-picLeft-picRight)
}

func (p *picture) shown(at time.Time) bool { return !at.Before(p.from) && !at.After(p.to) }

// placed is a run with its row in its lane.
type placed struct {
	run
	row int
}

// layout gives each run a row, so that those that overlap lie below each other, and
// each lane its height.
func (p *picture) layout() []placed {
	var all []placed
	ends := map[string][]time.Time{}
	for _, s := range p.runs("") {
		if s.end.IsZero() || s.end.After(p.to) {
			s.end = p.to
		}
		lane := s.lane()
		all = append(all, placed{s, freeRow(ends, lane, s.At, s.end)})
	}
	if p.drawsLeases() {
		for _, h := range p.holds() {
			p.held = append(p.held, freeRow(ends, "store", h.from, h.to))
		}
	}
	y := picTop
	for _, lane := range p.lanes {
		p.rows[lane] = max(len(ends[lane]), 1)
		p.y[lane], p.tall[lane] = y, min(laneTall*float64(p.rows[lane]), laneMost)
		y += p.tall[lane] + laneSpace
	}
	return all
}

// freeRow finds the first row of a lane that is free from a time on, and takes it.
func freeRow(ends map[string][]time.Time, lane string, from, to time.Time) int {
	row := slices.IndexFunc(ends[lane], func(end time.Time) bool { return !end.After(from.Add(clockGrain)) })
	if row < 0 {
		row = len(ends[lane])
		ends[lane] = append(ends[lane], time.Time{})
	}
	ends[lane][row] = to
	return row
}

// drawsLeases: so many that they can be told apart, and there are any.
func (p *picture) drawsLeases() bool {
	return p.Store.Kind == store.KindLease && len(p.holds()) <= 12
}

func (p *picture) text(x, y float64, class, text string) {
	fmt.Fprintf(&p.b, `<text x="%.1f" y="%.1f" class="%s">%s</text>`, x, y, class, html.EscapeString(text))
}

func (p *picture) rect(x1, x2, y, tall float64, class, tip string) {
	fmt.Fprintf(&p.b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="3" class="%s"><title>%s</title></rect>`, x1, y, max(x2-x1, 2), tall, class, html.EscapeString(tip))
}

func (p *picture) line(x1, y1, x2, y2 float64, class string) {
	fmt.Fprintf(&p.b, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" class="%s"/>`, x1, y1, x2, y2, class)
}

// axis draws seconds and slots.
func (p *picture) axis(height float64) {
	step := 1.0
	for p.to.Sub(p.from).Seconds()/step > 24 {
		step = pick(step == 1, 2, step+3) // 1, 2, 5, 8, ...
	}
	bottom := height - 50
	for s := math.Ceil(p.from.Sub(p.Zero).Seconds()/step) * step; ; s += step {
		at := p.Zero.Add(time.Duration(s * float64(time.Second)))
		if at.After(p.to) {
			break
		}
		p.line(p.x(at), picTop-18, p.x(at), bottom, "grid")
		p.text(p.x(at), picTop-24, "tick", fmt.Sprintf("%+gs", s))
	}
	seen := map[int64]bool{}
	for _, l := range p.Lines {
		if at := time.UnixMilli(l.Slot); l.Slot != 0 && !seen[l.Slot] && p.shown(at) {
			seen[l.Slot] = true
			p.line(p.x(at), picTop-18, p.x(at), bottom, "slot")
		}
	}
}

// lane draws the line on which an instance lives, while its process does.
func (p *picture) lane(lane string) {
	y := p.y[lane] + p.tall[lane] + 4
	p.text(12, p.y[lane]+17, "name", lane)
	if lane == "store" {
		return
	}
	var since time.Time
	for _, a := range p.Acts {
		if a.Lane != lane {
			continue
		}
		if a.What == "start" {
			since = a.At
		} else if a.What == "ended" && !since.IsZero() {
			if a.At.After(p.from) && since.Before(p.to) {
				p.line(p.x(since), y, p.x(a.At), y, "life")
			}
			since = time.Time{}
		}
	}
}

// bands shade the times in which an instance was frozen or cut off, or the store down.
func (p *picture) bands() {
	until := map[string]string{"SIGSTOP": "SIGCONT", "cut": "mended", "down": "up"}
	words := map[string]string{"SIGSTOP": "frozen", "cut": "cut off", "down": "down"}
	for i, a := range p.Acts {
		ends, ok := until[a.What]
		if !ok {
			continue
		}
		end := p.to
		for _, b := range p.Acts[i:] {
			if b.Lane == a.Lane && b.What == ends {
				end = b.At
				break
			}
		}
		p.rect(p.x(a.At), p.x(end), p.y[a.Lane]-6, p.tall[a.Lane]+14, "band", words[a.What])
		p.text(p.x(a.At)+4, p.y[a.Lane]+p.tall[a.Lane]+20, "act", words[a.What])
	}
}

// leases draws on the store's lane how long each attempt was protected; on a
// claim-only backend, who got which slot.
func (p *picture) leases() {
	y, each := p.y["store"], p.tall["store"]/float64(p.rows["store"])
	for i, h := range p.holds() {
		lane := laneOf(h.Instance)
		x := p.x(h.from)
		p.line(x, p.y[lane]+p.tall[lane]/2, x, y, "grant")
		if p.held == nil {
			p.rect(x-2, x+2, y, each, "lease", fmt.Sprintf("%s %s: %s", h.Job, p.slot(h.Slot), lane))
			continue
		}
		top := y + float64(p.held[i])*each
		p.rect(x, p.x(h.to), top, each-3, "lease", fmt.Sprintf("%s %s, attempt %d: lease of %s, %s to %s", h.Job, p.slot(h.Slot), h.Attempt, lane, p.since(h.from), p.since(h.to)))
		if p.x(h.to)-x > 60 {
			p.text(x+5, top+16, "inside", fmt.Sprintf("%s holds #%d", lane, h.Attempt))
		}
	}
}

// run draws a handler's run in its lane.
func (p *picture) run(s placed) {
	lane := s.lane()
	each := p.tall[lane] / float64(p.rows[lane])
	y := p.y[lane] + float64(s.row)*each
	class := "broken"
	switch {
	case s.how == "succeeded":
		class = "good"
	case s.handed:
		class = "handed"
	case s.how == "":
		class = "open"
	}
	p.rect(p.x(s.At), p.x(s.end), y, max(each-4, 1), class, fmt.Sprintf("%s runs %s %s, attempt %d: %s", s.Instance, s.Job, p.slot(s.Slot), s.Attempt, s.how))
	label := fmt.Sprintf("%s #%d", p.slot(s.Slot), s.Attempt)
	if s.Reason != "scheduled" {
		label += " " + s.Reason
	}
	if s.Job != job {
		label = s.Job + " " + label
	}
	if each >= 14 && p.x(s.end)-p.x(s.At) > 6.5*float64(len(label))+8 {
		p.text(p.x(s.At)+6, y+15, "inside", label)
	}
}

// calls draws claims and heartbeats on their lanes.
func (p *picture) calls() {
	for _, l := range p.Lines {
		if !p.shown(l.At) || l.At.After(p.Done) {
			continue
		}
		lane := laneOf(l.Instance)
		x, y := p.x(l.At), p.y[lane]+p.tall[lane]+4
		class := pick(l.Error != "", "mute", pick(l.Answer == "lost", "no", "yes"))
		switch l.What {
		case "heartbeat":
			fmt.Fprintf(&p.b, `<circle cx="%.1f" cy="%.1f" r="2" class="%s"><title>%s</title></circle>`, x, y, class, html.EscapeString(p.callTip(l)))
		case "claim":
			if l.Error == "" && l.Answer != "won" {
				class = "other"
			}
			fmt.Fprintf(&p.b, `<path d="M%.1f %.1fl4 7h-8z" class="%s"><title>%s</title></path>`, x, y, class, html.EscapeString(p.callTip(l)))
		}
	}
}

func (p *picture) callTip(l hostprog.Line) string {
	answer := l.Answer
	if l.Error != "" {
		answer = "no answer"
	}
	return fmt.Sprintf("%s: %s of %s %s: %s, at %s", l.Instance, l.What, l.Job, p.slot(l.Slot), answer, p.since(l.At))
}

// marks names what was done to instances, and what they say that matters.
func (p *picture) marks() {
	for _, a := range p.Acts {
		if !p.shown(a.At) || a.At.After(p.Done) {
			continue
		}
		x, y := p.x(a.At), p.y[a.Lane]
		switch a.What {
		case "kill -9", "kill -9 plugin":
			fmt.Fprintf(&p.b, `<path d="M%.1f %.1fl10 10m0 -10l-10 10" class="kill"/>`, x-5, y+p.tall[a.Lane]-1)
			p.text(x+8, y+p.tall[a.Lane]+20, "act", a.What)
		case "SIGTERM", "start":
			p.line(x, y-4, x, y+p.tall[a.Lane]+8, "mark")
			p.text(x+3, y+p.tall[a.Lane]+20, "act", a.What)
		}
	}
	for _, w := range p.words() {
		p.text(w.x-2, p.y[w.lane]-3, "said", w.text)
	}
}

// word is what an instance says, above its lane.
type word struct {
	lane string
	x    float64
	text string
}

// words are what instances say that matters; what is said at one place is said
// together.
func (p *picture) words() []word {
	var all []word
	last := map[string]int{}
	for _, l := range p.Lines {
		if l.At.After(p.Done) {
			continue
		}
		var text string
		switch l.What {
		case "skipped":
			text = "skips " + p.slot(l.Slot)
		case "lost", "unconfirmed", "stuck":
			text = l.What
		default:
			continue
		}
		w := word{laneOf(l.Instance), p.x(l.At), text}
		i, ok := last[w.lane]
		switch {
		case !ok || w.x > all[i].x+6*float64(len(all[i].text)):
			last[w.lane] = len(all)
			all = append(all, w)
		case !strings.HasSuffix(all[i].text, text):
			all[i].text += ", " + text
		}
	}
	return all
}

func (p *picture) legend(y float64) {
	x := picLeft
	item := func(mark, text string) {
		fmt.Fprintf(&p.b, `<g transform="translate(%.1f %.1f)">%s</g>`, x, y-9, mark)
		p.text(x+18, y, "legend", text)
		x += 30 + 6.2*float64(len(text))
	}
	box := func(class string) string {
		return fmt.Sprintf(`<rect width="13" height="10" rx="2" class="%s"/>`, class)
	}
	item(box("good"), "run, success")
	item(box("broken"), "run, cut short")
	item(box("handed"), "handed over")
	item(box("lease"), "held in the store")
	item(`<path d="M6 1l4 8h-8z" class="yes"/>`, "claim won")
	item(`<path d="M6 1l4 8h-8z" class="other"/>`, "claim refused")
	item(`<circle cx="6" cy="5" r="2.5" class="yes"/>`, "renewed")
	item(`<circle cx="6" cy="5" r="2.5" class="no"/>`, "refused")
}

// picStyle holds the colours for both grounds.
const picStyle = `<style>
.ground{fill:#fff}.head{font-size:14px;font-weight:600;fill:#1f2328}.name{font-weight:600;fill:#1f2328}.tick{fill:#656d76;text-anchor:middle}.legend,.act,.said{fill:#57606a}.act{font-size:10px}.said{font-size:10px;fill:#9a6700}.inside{fill:#1f2328}
.grid{stroke:#eaeef2}.slot{stroke:#8c959f;stroke-dasharray:3 3}.life{stroke:#8c959f;stroke-width:1.5}.mark{stroke:#57606a}.grant{stroke:#8250df;stroke-dasharray:2 3}
.good{fill:#aceebb;stroke:#1a7f37}.broken{fill:#ffcecb;stroke:#cf222e}.handed{fill:#b6e3ff;stroke:#0969da}.open{fill:#fff8c5;stroke:#9a6700}.lease{fill:#d8b9ff;fill-opacity:.6;stroke:#8250df}.band{fill:#8c959f;fill-opacity:.28}
.yes{fill:#1a7f37}.no{fill:#cf222e}.mute{fill:#d29922}.other{fill:#fff;stroke:#57606a}.kill{stroke:#cf222e;stroke-width:3;fill:none}
@media (prefers-color-scheme:dark){
.ground{fill:#0d1117}.head,.name,.inside{fill:#e6edf3}.tick,.legend,.act{fill:#9198a1}.said{fill:#e3b341}
.grid{stroke:#21262d}.slot{stroke:#6e7681}.life{stroke:#6e7681}.mark{stroke:#9198a1}.grant{stroke:#a371f7}
.good{fill:#0f5323;stroke:#3fb950}.broken{fill:#67060c;stroke:#f85149}.handed{fill:#0c2d6b;stroke:#58a6ff}.open{fill:#4b2900;stroke:#d29922}.lease{fill:#3c1e70;stroke:#a371f7}.band{fill:#6e7681;fill-opacity:.4}
.yes{fill:#3fb950}.no{fill:#f85149}.other{fill:#0d1117;stroke:#9198a1}.kill{stroke:#f85149}
}
</style>`
