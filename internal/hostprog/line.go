package hostprog

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/anarchon-go/anarchon/core"
	"github.com/anarchon-go/anarchon/storekit"
)

// Line is one thing that an instance says. What says which fields are set.
type Line struct {
	At       time.Time     `json:"at"`
	Instance string        `json:"instance"`
	What     string        `json:"what"` // a core event such as "started", or "claim", "heartbeat", "finish", "cancelled", "returned", "plugin", "ready", "stopped"
	Job      string        `json:"job,omitempty"`
	Slot     int64         `json:"slot,omitempty"`
	Last     int64         `json:"last,omitempty"` // of the slots skipped together, from Slot on
	Attempt  int           `json:"attempt,omitempty"`
	Token    int64         `json:"token,omitempty"`
	Reason   string        `json:"reason,omitempty"` // of a run, or of a skip
	Answer   string        `json:"answer,omitempty"` // of the store
	Holder   string        `json:"holder,omitempty"`
	Left     time.Duration `json:"left,omitempty"` // of a lease
	Took     time.Duration `json:"took,omitempty"` // a call to the store: it was sent at At − Took
	PID      int           `json:"pid,omitempty"`  // of a plugin that is ready; 0: it is down
	Handed   bool          `json:"handed_over,omitempty"`
	Unproven bool          `json:"unproven,omitempty"` // of an outcome; see core.Succeeded
	Error    string        `json:"error,omitempty"`
}

// ParseLine reads what an instance wrote.
func ParseLine(b []byte) (Line, error) {
	var l Line
	if err := json.Unmarshal(b, &l); err != nil {
		return l, fmt.Errorf("an instance wrote %q: %w", b, err)
	}
	return l, nil
}

// writer writes lines; it is safe for concurrent use.
type writer struct {
	mu       sync.Mutex
	out      io.Writer
	instance string
}

func (w *writer) write(l Line) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if l.Instance = w.instance; l.At.IsZero() {
		l.At = time.Now()
	}
	b, err := json.Marshal(l)
	if err != nil {
		return // a Line has nothing that JSON can't hold
	}
	// Whoever reads may be gone; the instance goes on all the same.
	_, _ = w.out.Write(append(b, '\n'))
}

// event tells a core event.
func (w *writer) event(e core.Event) {
	l := Line{What: strings.ToLower(reflect.TypeOf(e).Name())}
	switch e := e.(type) {
	case core.Started:
		l.of(e.Run)
	case core.Succeeded:
		l.of(e.Run)
		l.Unproven = e.Unproven
	case core.Failed:
		l.of(e.Run)
		l.failed(e.Err)
		l.Unproven = e.Unproven
	case core.Interrupted:
		l.of(e.Run)
		l.failed(e.Err)
		l.Handed, l.Unproven = e.HandedOver, e.Unproven
	case core.Lost:
		l.of(e.Run)
		l.Answer = e.During
	case core.Unconfirmed:
		l.of(e.Run)
		l.failed(e.Err)
	case core.Confirmed:
		l.of(e.Run)
	case core.Unrecorded:
		l.of(e.Run)
		l.failed(e.Err)
	case core.Stuck:
		l.of(e.Run)
	case core.Backup:
		l.Job, l.Slot, l.Holder, l.Left = e.Job, e.Slot, e.Holder, e.Left
	case core.Skipped:
		l.Job, l.Slot, l.Last, l.Reason, l.Holder = e.Job, e.Slot, e.Last, string(e.Reason), e.Holder
		l.failed(e.Err)
	case core.StoreError:
		l.failed(e.Err)
	case core.ScheduleBroken:
		l.Job, l.Error = e.Job, e.Panic
	case core.Warning:
		l.Job, l.Error = e.Job, e.Text
	case core.ClockJump:
		l.Left = e.By
	case core.ClockSkew:
		l.Left = e.By
	case core.Paused:
		l.Left = e.For
	}
	w.write(l)
}

func (l *Line) of(r core.Run) {
	l.Job, l.Slot, l.Attempt, l.Token, l.Reason = r.Job, r.Slot, r.Attempt, int64(r.Token), r.Reason.String()
}

func (l *Line) failed(err error) {
	if err != nil {
		l.Error = err.Error()
	}
}

// plugin tells that the plugin came or went.
func (w *writer) plugin(e storekit.Event) {
	switch e := e.(type) {
	case storekit.Ready:
		w.write(Line{What: "plugin", PID: e.PID})
	case storekit.Down:
		l := Line{What: "plugin"}
		l.failed(e.Err)
		w.write(l)
	}
}
