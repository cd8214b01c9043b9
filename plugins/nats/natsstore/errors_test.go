package natsstore

import (
	"errors"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/anarchon-go/anarchon/core/store"
)

func TestFates(t *testing.T) {
	for _, c := range []struct {
		code jetstream.ErrorCode
		text string
		want fate
	}{
		{10071, "wrong last sequence: 7", fateTaken},
		{10164, "wrong last sequence", fateInFlight},
		{10158, "duplicate message id is in process", fateInFlight},
		{10077, "maximum messages per subject exceeded", fateFull},
		{10077, "maximum messages exceeded", fateFull},
		{10077, "maximum bytes exceeded", fateFull},
		{10077, "message too large", fateFull},
		{10077, "write /data/1.blk: no space left on device", fateOpen},
		{10077, "store is closed", fateOpen},
		{10047, "insufficient storage resources available", fateFull},
		{10008, "JetStream system temporarily unavailable", fateFull},
		{10060, "expected stream does not match", fateFull},
		{10999, "a code of a later server", fateOpen},
	} {
		e := &jetstream.APIError{ErrorCode: c.code, Description: c.text}
		if got := fateOf(e); got != c.want {
			t.Errorf("%d %q: %d; want %d", c.code, c.text, got, c.want)
		}
		err := refused(e)
		if errors.Is(err, store.ErrUnknown) != (c.want == fateOpen) || store.IsUnknown(err) != (c.want == fateOpen) {
			t.Errorf("%d %q: %v", c.code, c.text, err)
		}
	}
}

func TestPublishErrors(t *testing.T) {
	for err, sent := range map[error]bool{
		nats.ErrReconnectBufExceeded: false,
		nats.ErrConnectionClosed:     false,
		nats.ErrMaxPayload:           false,
		errors.New("write: broken"):  true,
		nats.ErrTimeout:              true,
	} {
		if got := publishError(err); store.IsUnknown(got) != sent {
			t.Errorf("%v becomes %v", err, got)
		}
	}
}

// The class that stands outside must be the only one.
func TestClassesAreNotMixed(t *testing.T) {
	inner := unknown("no answer")
	if err := asRead(inner); !errors.Is(err, store.ErrNotApplied) || errors.Is(err, store.ErrUnknown) {
		t.Errorf("a read: %v", err)
	}
	if err := asUnknown("doing", notApplied("not sent")); !store.IsUnknown(err) || errors.Is(err, store.ErrNotApplied) {
		t.Errorf("unknown: %v", err)
	}
	if asRead(nil) != nil {
		t.Error("no error became one")
	}
}

func TestCheckServer(t *testing.T) {
	for version, want := range map[string]struct{ refused, warned bool }{
		"2.9.25":        {refused: true},
		"2.10.0":        {refused: true},
		"2.10.15":       {refused: true},
		"2.10.16":       {warned: true},
		"2.10.22":       {warned: true},
		"2.10.23":       {},
		"2.10.27":       {},
		"2.15.1":        {},
		"2.15.0-dev":    {},
		"v2.15.1":       {},
		"3.0.0":         {},
		"":              {warned: true},
		"a later build": {warned: true},
	} {
		warning, err := checkServer(version)
		if (err != nil) != want.refused || (warning != "") != want.warned {
			t.Errorf("%q: %q, %v", version, warning, err)
		}
		if err != nil && (!errors.Is(err, store.ErrNotApplied) || !strings.Contains(err.Error(), oldestServer)) {
			t.Errorf("%q: %v", version, err)
		}
	}
}
