package history

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// The lines of a file. They mirror the protocol's types, so that these may change
// without changing files.

type wireOp struct {
	Process    string          `json:"process"`
	Call       wireSpan        `json:"call"`
	Return     wireSpan        `json:"return"`
	Claim      *wireClaim      `json:"claim,omitempty"`
	Heartbeat  *wireHeartbeat  `json:"heartbeat,omitempty"`
	Finish     *wireFinish     `json:"finish,omitempty"`
	Unfinished *wireUnfinished `json:"unfinished,omitempty"`
	History    *wireHistory    `json:"history,omitempty"`
	Class      string          `json:"class"`
	Error      string          `json:"error,omitempty"`
	Claimed    *wireClaimed    `json:"claimed,omitempty"`
	Beaten     *wireBeaten     `json:"beaten,omitempty"`
	Finished   *wireFinished   `json:"finished,omitempty"`
	Listed     *wireListed     `json:"listed,omitempty"`
	Page       *wirePage       `json:"page,omitempty"`
	Unheard    bool            `json:"unheard,omitempty"`
	InFlight   bool            `json:"inFlight,omitempty"`
	Maybe      *[]wireEffect   `json:"maybe,omitempty"`
}

type wireEffect struct {
	At    int64       `json:"at"`
	Token store.Token `json:"token,omitempty"`
}

type wireClaim struct {
	Job         string        `json:"job"`
	Slot        int64         `json:"slot"`
	ID          string        `json:"id"`
	After       int           `json:"after,omitempty"`
	Instance    string        `json:"instance"`
	Reason      store.Reason  `json:"reason,omitempty"`
	Lease       wireSpan      `json:"lease,omitempty"`
	MaxEarly    wireSpan      `json:"maxEarly,omitempty"`
	MaxLate     wireSpan      `json:"maxLate,omitempty"`
	Overlap     store.Overlap `json:"overlap,omitempty"`
	MaxAttempts int           `json:"maxAttempts"`
	HistorySize int           `json:"historySize"`
	Fingerprint string        `json:"fingerprint,omitempty"`
}

type wireClaimed struct {
	Verdict     store.Verdict `json:"verdict,omitempty"`
	Attempt     int           `json:"attempt,omitempty"`
	Token       store.Token   `json:"token,omitempty"`
	Left        wireSpan      `json:"left,omitempty"`
	Holder      string        `json:"holder,omitempty"`
	Slot        int64         `json:"slot,omitempty"`
	Status      store.Status  `json:"status,omitempty"`
	By          wireSpan      `json:"by,omitempty"`
	Fingerprint string        `json:"fingerprint,omitempty"`
	Now         int64         `json:"now,omitempty"`
}

type wireHeartbeat struct {
	Job   string      `json:"job"`
	Slot  int64       `json:"slot"`
	Token store.Token `json:"token"`
	Lease wireSpan    `json:"lease"`
}

type wireBeaten struct {
	Renewed bool  `json:"renewed"`
	Now     int64 `json:"now,omitempty"`
}

type wireFinish struct {
	Job     string        `json:"job"`
	Slot    int64         `json:"slot"`
	Token   store.Token   `json:"token"`
	Outcome store.Outcome `json:"outcome,omitempty"`
	Error   string        `json:"error,omitempty"`
	ID      string        `json:"id"`
}

type wireFinished struct {
	Recorded bool  `json:"recorded"`
	Now      int64 `json:"now,omitempty"`
}

type wireUnfinished struct {
	Jobs []string `json:"jobs"`
}

type wireListed struct {
	Runs []wireRun `json:"runs"`
	Now  int64     `json:"now,omitempty"`
}

type wireRun struct {
	Job     string      `json:"job"`
	Slot    int64       `json:"slot"`
	Attempt int         `json:"attempt"`
	Open    bool        `json:"open,omitempty"`
	Holder  string      `json:"holder"`
	Token   store.Token `json:"token"`
	Left    wireSpan    `json:"left,omitempty"`
	Counted int         `json:"counted,omitempty"`
	Newest  int64       `json:"newest"`
}

type wireHistory struct {
	Job   string `json:"job"`
	Limit int    `json:"limit"`
	Page  string `json:"page,omitempty"`
}

type wirePage struct {
	Attempts []wireAttempt `json:"attempts"`
	Next     string        `json:"next,omitempty"`
	Now      int64         `json:"now,omitempty"`
}

type wireAttempt struct {
	Slot       int64        `json:"slot"`
	Attempt    int          `json:"attempt"`
	Token      store.Token  `json:"token,omitempty"`
	Instance   string       `json:"instance"`
	Reason     store.Reason `json:"reason,omitempty"`
	Status     store.Status `json:"status,omitempty"`
	HandedOver bool         `json:"handedOver,omitempty"`
	StartedAt  int64        `json:"startedAt,omitempty"`
	EndedAt    int64        `json:"endedAt,omitempty"`
	Error      string       `json:"error,omitempty"`
}

// wireSpan is a time.Duration as Go writes it.
type wireSpan time.Duration

func (s wireSpan) MarshalText() ([]byte, error) { return []byte(time.Duration(s).String()), nil }

func (s *wireSpan) UnmarshalText(b []byte) error {
	d, err := time.ParseDuration(string(b))
	*s = wireSpan(d)
	return err
}

func toWire(o *Op) wireOp {
	w := wireOp{
		Process: o.Process, Call: wireSpan(o.Call), Return: wireSpan(o.Return),
		Class: o.Class.String(), Error: o.Error, Unheard: o.Unheard, InFlight: o.InFlight,
	}
	answered := o.Class == Answered
	switch {
	case o.Claim != nil:
		q := o.Claim
		w.Claim = &wireClaim{
			q.Job, q.Slot, q.ID.String(), q.After, q.Instance, q.Reason, wireSpan(q.Lease), wireSpan(q.MaxEarly), wireSpan(q.MaxLate),
			q.Overlap, q.MaxAttempts, q.HistorySize, q.Fingerprint,
		}
		if a := o.Claimed; answered {
			w.Claimed = &wireClaimed{a.Verdict, a.Attempt, a.Token, wireSpan(a.Left), a.Holder, a.Slot, a.Status, wireSpan(a.By), a.Fingerprint, a.Now}
		}
	case o.Heartbeat != nil:
		q := o.Heartbeat
		w.Heartbeat = &wireHeartbeat{q.Job, q.Slot, q.Token, wireSpan(q.Lease)}
		if answered {
			w.Beaten = &wireBeaten{o.Beaten.Renewed, o.Beaten.Now}
		}
	case o.Finish != nil:
		q := o.Finish
		w.Finish = &wireFinish{q.Job, q.Slot, q.Token, q.Outcome, q.Error, q.ID.String()}
		if answered {
			w.Finished = &wireFinished{o.Finished.Recorded, o.Finished.Now}
		}
	case o.Unfinished != nil:
		w.Unfinished = &wireUnfinished{o.Unfinished.Jobs}
		if answered {
			w.Listed = &wireListed{Now: o.Listed.Now}
			for _, r := range o.Listed.Runs {
				w.Listed.Runs = append(w.Listed.Runs, wireRun{r.Job, r.Slot, r.Attempt, r.Open, r.Holder, r.Token, wireSpan(r.Left), r.Counted, r.Newest})
			}
		}
	case o.History != nil:
		w.History = &wireHistory{o.History.Job, o.History.Limit, o.History.Page}
		if answered {
			w.Page = &wirePage{Next: o.Page.Next, Now: o.Page.Now}
			for _, a := range o.Page.Attempts {
				w.Page.Attempts = append(w.Page.Attempts, wireAttempt(a))
			}
		}
	}
	if o.Maybe != nil {
		list := []wireEffect{}
		for _, e := range o.Maybe {
			list = append(list, wireEffect(e))
		}
		w.Maybe = &list
	}
	return w
}

func (w *wireOp) op() (*Op, error) {
	class := slices.Index(classNames, w.Class)
	if class < 1 {
		return nil, fmt.Errorf("unknown class %.40q; known are %q", w.Class, classNames[1:])
	}
	o := &Op{
		Process: w.Process, Call: time.Duration(w.Call), Return: time.Duration(w.Return),
		Class: Class(class), Error: w.Error, Unheard: w.Unheard, InFlight: w.InFlight,
	}
	if w.Maybe != nil {
		o.Maybe = []Effect{}
		for _, e := range *w.Maybe {
			o.Maybe = append(o.Maybe, Effect(e))
		}
	}
	requests := count(w.Claim != nil, w.Heartbeat != nil, w.Finish != nil, w.Unfinished != nil, w.History != nil)
	if requests != 1 {
		return nil, fmt.Errorf("it has %d requests; it must have one of claim, heartbeat, finish, unfinished and history", requests)
	}
	fits := w.Claim != nil && w.Claimed != nil || w.Heartbeat != nil && w.Beaten != nil || w.Finish != nil && w.Finished != nil ||
		w.Unfinished != nil && w.Listed != nil || w.History != nil && w.Page != nil
	answers := count(w.Claimed != nil, w.Beaten != nil, w.Finished != nil, w.Listed != nil, w.Page != nil)
	if answered := o.Class == Answered; answers > 1 || (answers == 1) != answered || fits != answered {
		return nil, errors.New("a call that was answered has the answer to its request, any other has none")
	}
	return o, w.fill(o)
}

// fill copies the request and its answer.
func (w *wireOp) fill(o *Op) (err error) {
	switch {
	case w.Claim != nil:
		q := w.Claim
		o.Claim = &store.ClaimRequest{
			Job: q.Job, Slot: q.Slot, After: q.After, Instance: q.Instance, Reason: q.Reason, Lease: time.Duration(q.Lease),
			MaxEarly: time.Duration(q.MaxEarly), MaxLate: time.Duration(q.MaxLate), Overlap: q.Overlap, MaxAttempts: q.MaxAttempts,
			HistorySize: q.HistorySize, Fingerprint: q.Fingerprint,
		}
		o.Claim.ID, err = store.ParseClaimID(q.ID)
		if a := w.Claimed; a != nil {
			o.Claimed = store.ClaimAnswer{
				Verdict: a.Verdict, Attempt: a.Attempt, Token: a.Token, Left: time.Duration(a.Left), Holder: a.Holder, Slot: a.Slot,
				Status: a.Status, By: time.Duration(a.By), Fingerprint: a.Fingerprint, Now: a.Now,
			}
		}
	case w.Heartbeat != nil:
		q := w.Heartbeat
		o.Heartbeat = &store.HeartbeatRequest{Job: q.Job, Slot: q.Slot, Token: q.Token, Lease: time.Duration(q.Lease)}
		if w.Beaten != nil {
			o.Beaten = store.HeartbeatAnswer(*w.Beaten)
		}
	case w.Finish != nil:
		q := w.Finish
		o.Finish = &store.FinishRequest{Job: q.Job, Slot: q.Slot, Token: q.Token, Outcome: q.Outcome, Error: q.Error}
		o.Finish.ID, err = store.ParseClaimID(q.ID)
		if w.Finished != nil {
			o.Finished = store.FinishAnswer(*w.Finished)
		}
	case w.Unfinished != nil:
		o.Unfinished = &store.UnfinishedRequest{Jobs: w.Unfinished.Jobs}
		if w.Listed != nil {
			o.Listed.Now = w.Listed.Now
			for _, r := range w.Listed.Runs {
				o.Listed.Runs = append(o.Listed.Runs, store.UnfinishedRun{
					Job: r.Job, Slot: r.Slot, Attempt: r.Attempt, Open: r.Open, Holder: r.Holder, Token: r.Token,
					Left: time.Duration(r.Left), Counted: r.Counted, Newest: r.Newest,
				})
			}
		}
	default:
		o.History = &store.HistoryRequest{Job: w.History.Job, Limit: w.History.Limit, Page: w.History.Page}
		if w.Page != nil {
			o.Page.Next, o.Page.Now = w.Page.Next, w.Page.Now
			for _, a := range w.Page.Attempts {
				o.Page.Attempts = append(o.Page.Attempts, store.Attempt(a))
			}
		}
	}
	return err
}

func count(conditions ...bool) (n int) {
	for _, c := range conditions {
		if c {
			n++
		}
	}
	return n
}
