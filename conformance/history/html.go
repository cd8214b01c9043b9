package history

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// HTML draws a history as a page of its own, which loads nothing: time runs down,
// each process has a column with its calls, each slot one with its leases as bars,
// and the calls are listed below. It is meant for histories that [Minimise] made
// small: with hundreds of calls it is long.
func HTML(w io.Writer, h *History) error {
	return pageTemplate.Execute(w, newDrawing(h))
}

// drawing is what the page shows; places are in pixels.
type drawing struct {
	About, Legend string
	Kind          store.Kind
	Width, Height int
	Columns       []drawnColumn
	Calls         []drawnCall
	Leases        []drawnLease
}

type drawnColumn struct {
	Name         string
	X, Top, Foot int
}

type drawnCall struct {
	N                      int
	X, Y, Height, Width    int
	TextX, TextY           int
	Mark, Class            string
	Process, What, Outcome string
	Called, Returned       string
}

type drawnLease struct {
	X, Y, Height, Width int
	TextX, TextY        int
	Attempt             int
	Says                string
}

const (
	rowHeight   = 22 // of a moment at which something happened
	columnWidth = 58
	laneWidth   = 76 // of a slot
	barWidth    = 26
	headHeight  = 46
	minCall     = 16
)

func newDrawing(h *History) *drawing {
	ops := slices.Clone(h.Ops)
	slices.SortStableFunc(ops, byCall)
	d := &drawing{About: h.About, Kind: h.Kind}
	if len(ops) == 0 {
		d.Width, d.Height = columnWidth, headHeight
		return d
	}
	d.Legend = legend(ops)
	scale := newScale(ops)
	lanes := slotsOf(ops)
	d.Height = scale.foot() + rowHeight
	x := 4
	laneOf := map[int64]int{}
	for _, slot := range lanes {
		laneOf[slot] = x
		d.Columns = append(d.Columns, drawnColumn{slotText(slot), x + laneWidth/2, headHeight, d.Height})
		x += laneWidth
	}
	columnOf := map[string]int{}
	for _, p := range processes(ops) {
		columnOf[p] = x
		d.Columns = append(d.Columns, drawnColumn{p, x + columnWidth/2, headHeight, d.Height})
		x += columnWidth
	}
	d.Width = x + 4
	for i, o := range ops {
		d.Calls = append(d.Calls, drawCall(i+1, o, ops[0].Call, columnOf[o.Process], scale))
	}
	for _, l := range leasesOf(ops) {
		d.Leases = append(d.Leases, drawLease(l, laneOf[l.slot], scale))
	}
	return d
}

func drawCall(n int, o *Op, begin time.Duration, x int, s scale) drawnCall {
	c := drawnCall{
		N: n, X: x + 4, Width: columnWidth - 8, Y: s.at(o.Call), Mark: o.mark(), Class: o.Class.String(),
		Process: o.Process, What: o.request(), Outcome: o.answer(), Called: fmt.Sprintf("%.2f", millis(o.Call-begin)), Returned: o.returned(begin),
	}
	c.Height = max(minCall, s.at(o.Return)-c.Y)
	if isPending(o) { // it may have taken effect until the end
		c.Class = "pending"
		c.Height = max(minCall, s.foot()-c.Y)
	}
	c.TextX, c.TextY = c.X+c.Width/2, c.Y+12
	return c
}

func drawLease(l leaseBar, x int, s scale) drawnLease {
	from, to := s.at(s.local(l.from)), s.at(s.local(l.to))
	// Attempts take turns between left and right, so that two leases at once show.
	x += laneWidth/2 - barWidth - 1 + (l.attempt+1)%2*(barWidth+2)
	return drawnLease{
		X: x, Width: barWidth, Y: from, Height: max(3, to-from), TextX: x + barWidth/2, TextY: from + 12, Attempt: l.attempt,
		Says: fmt.Sprintf("attempt %d of %s, token %d", l.attempt, clip(l.holder), l.token),
	}
}

func slotsOf(ops []*Op) []int64 {
	m := minimiser{ops: ops}
	return m.slots()
}

// scale gives moments a place: each moment at which a call began or returned has a
// row of its own, and what is between is in proportion.
type scale struct {
	moments []time.Duration
	offset  int64 // the store's clock minus the history's, in milliseconds
}

func newScale(ops []*Op) scale {
	var s scale
	first := true
	for _, o := range ops {
		s.moments = append(s.moments, o.Call)
		if !isPending(o) {
			s.moments = append(s.moments, o.Return)
		}
		if now := o.Now(); now != 0 {
			if off := now - ms(o.Return); first || off > s.offset {
				s.offset, first = off, false
			}
		}
	}
	slices.Sort(s.moments)
	s.moments = slices.Compact(s.moments)
	return s
}

func (s scale) foot() int { return headHeight + len(s.moments)*rowHeight }

func (s scale) at(t time.Duration) int {
	i, found := slices.BinarySearch(s.moments, t)
	switch {
	case found:
		return headHeight + i*rowHeight + rowHeight/2
	case i == 0:
		return headHeight
	case i == len(s.moments):
		return s.foot()
	}
	before, after := s.moments[i-1], s.moments[i]
	return headHeight + (i-1)*rowHeight + rowHeight/2 + int(float64(rowHeight)*float64(t-before)/float64(after-before))
}

// local is when the store's clock stood at a time, about.
func (s scale) local(now int64) time.Duration { return span(now - s.offset) }

// leaseBar is how long an attempt was protected, on the store's clock.
type leaseBar struct {
	slot     int64
	token    store.Token
	attempt  int
	holder   string
	from, to int64
}

// leasesOf follows each grant through its renewals to its end, by the answers.
func leasesOf(ops []*Op) []leaseBar {
	byToken := map[store.Token]*leaseBar{}
	for _, o := range ops {
		switch {
		case o.won() && o.Claimed.Now != 0:
			l, known := byToken[o.Claimed.Token]
			if !known {
				l = &leaseBar{o.Claim.Slot, o.Claimed.Token, o.Claimed.Attempt, o.Claim.Instance, o.Claimed.Now, 0}
				byToken[o.Claimed.Token] = l
			}
			l.from = min(l.from, o.Claimed.Now)
			l.to = max(l.to, o.Claimed.Now+ms(o.Claimed.Left))
		case o.Heartbeat != nil && o.Beaten.Renewed:
			if l := byToken[o.Heartbeat.Token]; l != nil {
				l.to = max(l.to, o.Beaten.Now+ms(o.Heartbeat.Lease))
			}
		}
	}
	for _, o := range ops {
		if o.Finish != nil && o.Finished.Recorded {
			if l := byToken[o.Finish.Token]; l != nil {
				l.to = min(l.to, o.Finished.Now)
			}
		}
	}
	var bars []leaseBar
	for _, l := range byToken {
		if l.to > l.from {
			bars = append(bars, *l)
		}
	}
	slices.SortFunc(bars, func(a, b leaseBar) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.token, b.token)) })
	return bars
}
