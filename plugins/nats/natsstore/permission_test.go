package natsstore

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// needed is what docs/nats.md says that a user must be allowed to publish, for the
// default namespace and prefixes.
var needed = []string{
	"anarchon.default.*.*.*",
	"$JS.API.STREAM.INFO.anarchon_default_claims", "$JS.API.STREAM.INFO.anarchon_default_history",
	"$JS.API.STREAM.NAMES", "$JS.API.STREAM.CREATE.anarchon_default_claims", "$JS.API.STREAM.CREATE.anarchon_default_history",
	"$JS.API.STREAM.MSG.GET.anarchon_default_claims", "$JS.API.STREAM.MSG.GET.anarchon_default_history",
	"$JS.API.STREAM.PURGE.anarchon_default_history",
}

// TestPermissions: with what is needed it works; with one of it missing the start
// fails, soon, and names it.
func TestPermissions(t *testing.T) {
	user := func(name string, publish []string, subscribe string) string {
		return fmt.Sprintf(`{user: %s, password: p, permissions: {publish: ["%s"], subscribe: ["%s"]}}`, name, strings.Join(publish, `", "`), subscribe)
	}
	users := []string{user("enough", needed, "_INBOX.>"), user("deaf", needed, "nothing"), user("own", needed, "_INBOX_own.>")}
	for i := range needed {
		users = append(users, user(fmt.Sprint("less", i), slices.Delete(slices.Clone(needed), i, i+1), "_INBOX.>"))
	}
	conf := "jetstream: enabled\nauthorization: {users: [\n" + strings.Join(users, "\n") + "\n]}"

	as := func(url, name string) map[string]any {
		return map[string]any{"url": url, "user": name, "password": "p"}
	}
	t.Run("enough", func(t *testing.T) {
		s := configured(t, conf)
		b := open(t, as(s.ClientURL(), "enough"))
		q := claimOf("j", noon)
		w := mustClaim(t, b, q, store.VerdictWon)
		mustClaim(t, b, claimOf("j", noon), store.VerdictFinished)
		mustFinish(t, b, finishOf(q, w.Token, store.OutcomeSuccess), true)
		if h := history(t, b, "j"); len(h) != 1 {
			t.Errorf("%+v", h)
		}
		// Once the streams are there, nobody needs to make them.
		for _, n := range []string{"less3", "less4", "less5"} {
			open(t, as(s.ClientURL(), n))
		}
	})
	for i, subject := range needed {
		t.Run("without "+subject, func(t *testing.T) {
			t.Parallel()
			s := configured(t, conf)
			start := time.Now()
			refusedWith(t, as(s.ClientURL(), fmt.Sprint("less", i)), store.ErrNotApplied, "may not publish", strings.TrimSuffix(subject, "*.*.*"))
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
	t.Run("inbox", func(t *testing.T) {
		s := configured(t, conf)
		start := time.Now()
		refusedWith(t, as(s.ClientURL(), "deaf"), store.ErrNotApplied, "may not subscribe", "inboxPrefix")
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("it took %v", took)
		}
		o := as(s.ClientURL(), "own")
		refusedWith(t, o, store.ErrNotApplied, "may not subscribe")
		o["inboxPrefix"] = "_INBOX_own"
		open(t, o)
	})
}

// Permissions that change while we run are named too, at once, and of the call
// that needs them only.
func TestPermissionsTakenWhileRunning(t *testing.T) {
	p, b, _ := throughProxy(t, func(o map[string]any) { o["callTimeout"] = "20s" })
	p.mute.Store(true)
	result := make(chan error, 1)
	go func() {
		_, err := b.Claim(t.Context(), claimOf("j", noon))
		result <- err
	}()
	subject := b.settings.layout.slot(eraOf(b), "j", noon)
	awaitWaiting(t, b, subject)
	p.say(t, fmt.Sprintf("-ERR 'Permissions Violation for Publish to %q'\r\n", "another.subject"))
	p.say(t, fmt.Sprintf("-ERR 'Permissions Violation for Publish to %q'\r\n", subject))
	select {
	case err := <-result:
		if !errors.Is(err, store.ErrNotApplied) || !strings.Contains(err.Error(), subject) {
			t.Errorf("%v; want not applied, and the subject", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("the claim waits for its answer")
	}
}

// awaitWaiting waits until a request on the subject waits for its answer.
func awaitWaiting(t *testing.T, b *Backend, subject string) {
	t.Helper()
	await(t, "a request on "+subject, 10*time.Second, func() bool {
		b.link.mu.Lock()
		defer b.link.mu.Unlock()
		for _, p := range b.link.waiting {
			if p.requests[p.i].subject == subject {
				return true
			}
		}
		return false
	})
}
