package natsstore

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

var images = []string{"nats-2.15", "nats-2.10"}

var full = flag.Bool("full", false, "TestOneWinnerThroughRestart in full size: 50 processes and 1000 slots")

// TestOneWinnerThroughRestart: many processes claim the same slots, and the server
// is killed in the middle. Every slot has exactly one winner.
func TestOneWinnerThroughRestart(t *testing.T) {
	processes, slots := 8, 200
	if *full {
		processes, slots = 50, 1000
	}
	if testing.Short() {
		t.Skip("starts containers, and eight processes for each")
	}
	for _, image := range images {
		t.Run(image, func(t *testing.T) {
			server := startContainer(t, image)
			namespace := freshNamespace()
			var all []*child
			for i := range processes {
				all = append(all, spawn(t, "nats://"+server.Addr(), namespace, fmt.Sprint("p", i), slots))
			}
			for _, c := range all {
				if got := c.line(); got != "ready" {
					t.Fatalf("child printed %q", got)
				}
			}
			start := time.Now().Add(200 * time.Millisecond)
			for _, c := range all {
				fmt.Fprintln(c.stdin, start.UnixMilli())
			}
			lines := make(chan string)
			for _, c := range all {
				go func() {
					for line := range c.lines {
						lines <- line
					}
					lines <- ""
				}()
			}
			winners := make([][]string, slots)
			tokens := map[int64]int{}
			won, again, unknown, killed := 0, 0, 0, false
			for ended := 0; ended < processes; {
				line := <-lines
				word, rest, _ := strings.Cut(line, " ")
				switch word {
				case "":
					ended++
				case "again":
					again++
					if strings.HasSuffix(rest, "true") {
						unknown++
					}
				case "won":
					var slot int
					var token int64
					var instance string
					if _, err := fmt.Sscan(rest, &slot, &token, &instance); err != nil {
						t.Fatalf("%q: %v", line, err)
					}
					winners[slot] = append(winners[slot], instance)
					tokens[token]++
					won++
				}
				if won == slots/2 && !killed {
					killed = true
					if err := server.Kill(t.Context()); err != nil {
						t.Fatal(err)
					}
					if err := server.Again(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
			}
			for _, c := range all {
				if err := c.cmd.Wait(); err != nil {
					t.Errorf("child: %v: %s", err, c.err.String())
				}
			}
			names := map[string]bool{}
			for slot, w := range winners {
				if len(w) != 1 {
					t.Errorf("slot %d was won by %q", slot, w)
				}
				for _, name := range w {
					names[name] = true
				}
			}
			if len(tokens) != slots {
				t.Errorf("%d different tokens for %d slots", len(tokens), slots)
			}
			// Whether a claim was under way, and is unknown, is up to the moment.
			if !killed || again == 0 {
				t.Errorf("the kill came too late or was not felt: killed %v, %d claims asked again", killed, again)
			}
			t.Logf("%d processes, %d claims in %v, the restart of the server included; %d were asked again, %d of them as unknown; %d processes won something",
				processes, processes*slots, time.Since(start).Round(time.Millisecond), again, unknown, len(names))

			// What the winners were told is what the store says.
			b := open(t, map[string]any{"url": "nats://" + server.Addr(), "namespace": namespace})
			for slot, w := range winners {
				f := b.api.last(t.Context(), []find{{b.settings.layout.claims, b.settings.layout.slot(eraOf(b), "j", noon+int64(slot))}})[0]
				if f.err != nil || f.stored == nil || f.Instance != w[0] || tokens[int64(f.tok)] != 1 {
					t.Fatalf("slot %d was won by %s; the store says %+v, %v", slot, w[0], f.stored, f.err)
				}
			}
		})
	}
}

// TestRecordOutlivesEverything: the record that a claim leaves reaches the history
// though the claimer and the server die right after the claim, and outlives the
// window. So does the memory: not one slot can be won again before.
func TestRecordOutlivesEverything(t *testing.T) {
	if testing.Short() {
		t.Skip("long: starts containers, and waits for the window to pass")
	}
	t.Parallel()
	for _, image := range images {
		t.Run(image, func(t *testing.T) {
			t.Parallel()
			inTime(t, 15*time.Second, func(t *testing.T, window time.Duration) bool { return outlives(t, image, window) })
		})
	}
}

func outlives(t *testing.T, image string, window time.Duration) bool {
	server := startContainer(t, image)
	o := map[string]any{"url": "nats://" + server.Addr(), "duplicateWindow": window.String()}
	b := open(t, o)
	const rounds, batch = 2, 200
	var granted []store.ClaimRequest
	tokens := map[int64]store.Token{}
	start := time.Now()
	for round := range rounds {
		var qs []store.ClaimRequest
		for i := range batch {
			qs = append(qs, claimOf("j", noon+int64(round*batch+i)))
			qs[i].HistorySize = rounds * batch
		}
		awaitClaim(t, b, claimOf("warm up", noon+int64(round)))
		for i, r := range b.ClaimBatch(t.Context(), qs) {
			if r.Err != nil || r.Answer.Verdict != store.VerdictWon {
				t.Fatalf("%+v: %+v", qs[i], r)
			}
			tokens[qs[i].Slot] = r.Answer.Token
		}
		// The moment the last one is acknowledged.
		if err := server.Kill(t.Context()); err != nil {
			t.Fatal(err)
		}
		granted = append(granted, qs...)
		if err := server.Again(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	awaitClaim(t, b, claimOf("warm up", noon-1))
	var others []store.ClaimRequest
	for _, q := range granted {
		q.ID = store.NewClaimID()
		others = append(others, q)
	}
	results := b.ClaimBatch(t.Context(), others)
	if time.Since(start) > window {
		return false
	}
	for i, r := range results {
		if r.Err != nil || r.Answer.Verdict != store.VerdictFinished || r.Answer.Status != store.StatusRunning {
			t.Fatalf("a slot that was granted before the restart: %+v: %+v", others[i], r)
		}
	}
	await(t, "the claims stream has forgotten", window+time.Minute, func() bool {
		slots, err := b.api.slots(t.Context(), b.settings.layout.claims, b.settings.layout.job("j"))
		return err == nil && len(slots) == 0
	})
	h := history(t, b, "j")
	if len(h) != len(granted) {
		t.Errorf("%d runs were granted; the history has %d", len(granted), len(h))
	}
	for _, a := range h {
		if a.Status != store.StatusRunning || a.Token != tokens[a.Slot] || a.Instance != "a" || a.StartedAt == 0 || a.EndedAt != 0 {
			t.Fatalf("slot %d was granted with token %d; the history says %+v", a.Slot, tokens[a.Slot], a)
		}
	}
	// A run may be longer than the window, and than the server's life.
	q := granted[0]
	wrong := finishOf(q, tokens[q.Slot]+1, store.OutcomeFailed)
	mustFinish(t, b, wrong, false)
	f := finishOf(q, tokens[q.Slot], store.OutcomeFailed)
	f.Error = "late"
	mustFinish(t, b, f, true)
	mustFinish(t, b, f, true)
	f.Outcome = store.OutcomeSuccess
	mustFinish(t, b, f, false)
	h = history(t, b, "j")
	if a := h[len(h)-1]; a.Slot != q.Slot || a.Status != store.StatusFailed || a.Error != "late" || a.Token != tokens[q.Slot] || a.StartedAt == 0 || a.EndedAt < a.StartedAt {
		t.Errorf("%+v", a)
	}
	return true
}

// awaitClaim asks until the server serves again.
func awaitClaim(t *testing.T, b *Backend, q store.ClaimRequest) {
	t.Helper()
	await(t, "the server serves", 30*time.Second, func() bool {
		a, err := b.Claim(t.Context(), q)
		return err == nil && a.Verdict == store.VerdictWon
	})
}
