package natsstore

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/anarchon-go/anarchon/core/store"
)

func testSettings(t *testing.T) *settings {
	t.Helper()
	s, err := readSettings(config(t, map[string]any{"url": "nats://host", "replicas": 3}))
	if err != nil {
		t.Fatal(err)
	}
	return &s
}

// TestDrift: what is weaker than we make it is named, what is stronger is let be.
func TestDrift(t *testing.T) {
	s := testSettings(t)
	claims, history := func() *jetstream.StreamConfig { return s.claimsConfig(7) }, s.historyConfig
	for name, c := range map[string]struct {
		make   func() *jetstream.StreamConfig
		change func(*jetstream.StreamConfig)
		want   string // empty: it is let be
	}{
		"as made":              {claims, func(*jetstream.StreamConfig) {}, ""},
		"history as made":      {history, func(*jetstream.StreamConfig) {}, ""},
		"subjects":             {claims, func(c *jetstream.StreamConfig) { c.Subjects = append(c.Subjects, "x") }, "subjects"},
		"work queue":           {claims, func(c *jetstream.StreamConfig) { c.Retention = jetstream.WorkQueuePolicy }, "retention"},
		"discard":              {claims, func(c *jetstream.StreamConfig) { c.Discard = jetstream.DiscardOld }, "discard"},
		"count":                {claims, func(c *jetstream.StreamConfig) { c.MaxMsgs = 1000 }, "max_msgs is 1000 and must be -1"},
		"size":                 {claims, func(c *jetstream.StreamConfig) { c.MaxBytes = 1 << 20 }, "max_bytes"},
		"message size":         {claims, func(c *jetstream.StreamConfig) { c.MaxMsgSize = 1000 }, "max_msg_size"},
		"greater message size": {claims, func(c *jetstream.StreamConfig) { c.MaxMsgSize = 1 << 20 }, ""},
		"per subject":          {claims, func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject = 1 }, "max_msgs_per_subject"},
		"per subject, 0":       {claims, func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject = 0 }, ""},
		"history per subject":  {history, func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject = 5 }, "max_msgs_per_subject"},
		"shorter":              {claims, func(c *jetstream.StreamConfig) { c.MaxAge -= time.Second }, "max_age is 5m29s"},
		"longer":               {claims, func(c *jetstream.StreamConfig) { c.MaxAge *= 2 }, ""},
		"for ever":             {claims, func(c *jetstream.StreamConfig) { c.MaxAge = 0 }, ""},
		"history with an age":  {history, func(c *jetstream.StreamConfig) { c.MaxAge = time.Hour }, "max_age"},
		"memory":               {claims, func(c *jetstream.StreamConfig) { c.Storage = jetstream.MemoryStorage }, "storage"},
		"fewer replicas":       {claims, func(c *jetstream.StreamConfig) { c.Replicas = 1 }, "num_replicas"},
		"more replicas":        {claims, func(c *jetstream.StreamConfig) { c.Replicas = 5 }, ""},
		"no answers":           {claims, func(c *jetstream.StreamConfig) { c.NoAck = true }, "no_ack"},
		"sealed":               {claims, func(c *jetstream.StreamConfig) { c.Sealed = true }, "sealed"},
		"new per subject":      {claims, func(c *jetstream.StreamConfig) { c.DiscardNewPerSubject = true }, "discard_new_per_subject"},
		"delete":               {claims, func(c *jetstream.StreamConfig) { c.DenyDelete = false }, "deny_delete"},
		"purge":                {claims, func(c *jetstream.StreamConfig) { c.DenyPurge = false }, "deny_purge"},
		"history not purged":   {history, func(c *jetstream.StreamConfig) { c.DenyPurge = true }, "deny_purge"},
		"rollup":               {claims, func(c *jetstream.StreamConfig) { c.AllowRollup = true }, "allow_rollup_hdrs"},
		"ttl":                  {claims, func(c *jetstream.StreamConfig) { c.AllowMsgTTL = true }, "allow_msg_ttl"},
		"schedules":            {claims, func(c *jetstream.StreamConfig) { c.AllowMsgSchedules = true }, "allow_msg_schedules"},
		"async":                {claims, func(c *jetstream.StreamConfig) { c.PersistMode = jetstream.AsyncPersistMode }, "persist_mode"},
		"transform": {claims, func(c *jetstream.StreamConfig) {
			c.SubjectTransform = &jetstream.SubjectTransformConfig{Destination: "x"}
		}, "subject_transform"},
		"first sequence": {claims, func(c *jetstream.StreamConfig) { c.FirstSeq = 1000 }, "first_seq"},
		"mirror":         {claims, func(c *jetstream.StreamConfig) { c.Mirror = &jetstream.StreamSource{Name: "x"} }, "mirror"},
		"sources":        {claims, func(c *jetstream.StreamConfig) { c.Sources = []*jetstream.StreamSource{{Name: "x"}} }, "sources"},
		"no source":      {history, func(c *jetstream.StreamConfig) { c.Sources = nil }, "sources"},
		"half a source":  {history, func(c *jetstream.StreamConfig) { c.Sources[0].FilterSubject = "x" }, "sources"},
		"description":    {claims, func(c *jetstream.StreamConfig) { c.Description = "mine" }, ""},
		"compression":    {claims, func(c *jetstream.StreamConfig) { c.Compression = jetstream.S2Compression }, ""},
		"direct reads":   {claims, func(c *jetstream.StreamConfig) { c.AllowDirect = true }, ""},
	} {
		have := c.make()
		c.change(have)
		got := strings.Join(drifts(have, c.make()), "; ")
		if (got != "") != (c.want != "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q; want %q", name, got, c.want)
		}
	}
}

// A stream that an operator changed is refused and not changed back.
func TestDriftIsRefused(t *testing.T) {
	js := admin(t, sharedURL(t))
	for name, change := range map[string]func(*jetstream.StreamConfig){
		"max_msgs":             func(c *jetstream.StreamConfig) { c.MaxMsgs = 100 },
		"max_age":              func(c *jetstream.StreamConfig) { c.MaxAge, c.Duplicates = time.Minute, time.Minute },
		"max_msgs_per_subject": func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject = 2 },
		"allow_rollup_hdrs":    func(c *jetstream.StreamConfig) { c.DenyPurge = false; c.AllowRollup = true },
	} {
		t.Run(name, func(t *testing.T) {
			o := options(t)
			b := open(t, o)
			stream := b.settings.layout.claims
			if name == "allow_rollup_hdrs" {
				stream = b.settings.layout.history // deny_purge can't be taken back
			}
			edit(t, js, stream, change)
			before := streamState(t, js, stream)
			refusedWith(t, o, store.ErrNotApplied, stream, name, "nats stream edit")
			if after := streamState(t, js, stream); after != before {
				t.Errorf("the stream was\n%s\nand is\n%s", before, after)
			}
		})
	}
}

// An instance that wants a longer window is refused; one that wants a shorter one
// is let in, and changes nothing.
func TestWindowsThatDiffer(t *testing.T) {
	js := admin(t, sharedURL(t))
	o := options(t)
	b := open(t, o)
	before := streamState(t, js, b.settings.layout.claims)
	o["duplicateWindow"] = "1m"
	d, err := open(t, o).Describe(t.Context())
	if err != nil || d.Memory.Window != time.Minute {
		t.Errorf("%+v, %v", d.Memory, err)
	}
	o["duplicateWindow"] = "10m"
	refusedWith(t, o, store.ErrNotApplied, "max_age is 5m30s", "10m30s", "wait")
	if after := streamState(t, js, b.settings.layout.claims); after != before {
		t.Errorf("the stream was\n%s\nand is\n%s", before, after)
	}
}
