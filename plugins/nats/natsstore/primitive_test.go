package natsstore

import (
	"fmt"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
)

// TestWhyNotMessageIDs keeps the reasons for the primitive that claims use. The
// other candidate, the server's table of message ids, is rebuilt after a restart
// from the messages that are still there, and it does not say whose the message
// is. If this fails, the server became better at it, and docs/nats.md is to be
// changed.
func TestWhyNotMessageIDs(t *testing.T) {
	dir := t.TempDir()
	start := func() (*server.Server, jetstream.JetStream) {
		s, err := startServer(&server.Options{JetStream: true, StoreDir: dir})
		if err != nil {
			t.Fatal(err)
		}
		return s, admin(t, s.ClientURL())
	}
	s, js := start()
	// A history limit on the stream, as one would have with one stream for both.
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "ids", Subjects: []string{"ids"}, MaxMsgs: 3}); err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "subjects", Subjects: []string{"subjects.*"}}); err != nil {
		t.Fatal(err)
	}
	byID := func(js jetstream.JetStream, slot int, who string) bool {
		a, err := js.Publish(t.Context(), "ids", []byte(who), jetstream.WithMsgID(fmt.Sprint(slot)))
		if err != nil {
			t.Fatal(err)
		}
		return !a.Duplicate
	}
	bySubject := func(js jetstream.JetStream, slot int, who string) bool {
		_, err := js.Publish(t.Context(), fmt.Sprint("subjects.", slot), []byte(who), jetstream.WithExpectLastSequencePerSubject(0))
		return err == nil
	}
	for slot := range 10 {
		for _, claim := range []func(jetstream.JetStream, int, string) bool{byID, bySubject} {
			if !claim(js, slot, "a") || claim(js, slot, "b") {
				t.Fatalf("slot %d does not have exactly one winner", slot)
			}
		}
	}
	// Whose it is: by id only the sequence is known, and its message may be gone.
	a, err := js.Publish(t.Context(), "ids", []byte("b"), jetstream.WithMsgID("0"))
	if err != nil {
		t.Fatal(err)
	}
	if st, err := js.Stream(t.Context(), "ids"); err != nil {
		t.Fatal(err)
	} else if _, err := st.GetMsg(t.Context(), a.Sequence); err == nil {
		t.Error("the message that won is there after all")
	}

	s.Shutdown()
	s.WaitForShutdown()
	s, js = start()
	defer func() { s.Shutdown(); s.WaitForShutdown() }()
	if !byID(js, 0, "b") {
		t.Error("by message id the slot is still taken after a restart")
	}
	for slot := range 10 {
		if bySubject(js, slot, "b") {
			t.Errorf("by subject, slot %d is won again after a restart", slot)
		}
	}
}
