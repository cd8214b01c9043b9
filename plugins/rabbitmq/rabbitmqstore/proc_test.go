package rabbitmqstore

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/storekit"
)

// roleEnv makes the test binary claim slots in another process instead of
// running tests. Its value is the JSON of the options.
const roleEnv = "RABBITMQSTORE_TEST_ROLE"

const (
	raceProcesses  = 10
	raceGoroutines = 5
	raceSlots      = 1000
)

// playRole claims all slots with several goroutines, each asking again with the
// same claim id until it is answered, and prints what it won.
func playRole(options string) error {
	ctx := context.Background()
	cfg, err := storekit.ParseConfig(Info().Options, []byte(options))
	if err != nil {
		return err
	}
	b := New(storekit.Env{Logger: slog.New(slog.DiscardHandler)}).(*Backend)
	if err := b.Configure(ctx, cfg); err != nil {
		return err
	}
	fmt.Println("ready")
	bufio.NewReader(os.Stdin).ReadByte() // until the parent closes it
	var wg sync.WaitGroup
	errs := make([]error, raceGoroutines)
	for g := range raceGoroutines {
		wg.Go(func() { errs[g] = claimAll(ctx, b, fmt.Sprint(os.Getpid(), "-", g)) })
	}
	wg.Wait()
	return errors.Join(append(errs, b.Close(ctx))...)
}

func claimAll(ctx context.Context, b *Backend, name string) error {
	again := 0
	for slot := range raceSlots {
		q := claimOf("race", int64(slot))
		q.Instance = name
		for deadline := time.Now().Add(2 * time.Minute); ; again++ {
			a, err := b.Claim(ctx, q)
			if err == nil {
				if a.Verdict == store.VerdictWon {
					fmt.Println("won", slot, q.ID, name)
				} else if a.Verdict != store.VerdictFinished {
					return fmt.Errorf("slot %d is answered %+v", slot, a)
				}
				break
			}
			if errors.Is(err, store.ErrInvalid) || time.Now().After(deadline) {
				return err
			}
		}
		time.Sleep(rand.N(2 * time.Millisecond))
	}
	fmt.Println("again", again)
	return nil
}

// TestFiftyClaimers: fifty claimers in ten processes ask for a thousand slots,
// and the broker is killed in the middle. Each slot has one winner, and the
// history agrees.
func TestFiftyClaimers(t *testing.T) {
	c := ownBroker(t)
	o := fresh(t, urlOf(c))
	o["callTimeout"] = "5s"
	raw := fmt.Sprintf(`{"url":%q,"namespace":%q,"callTimeout":"5s"}`, o["url"], o["namespace"])
	wins := make(chan string, raceProcesses*raceSlots)
	var starts []func()
	var wg sync.WaitGroup
	for range raceProcesses {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), roleEnv+"="+raw)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		stdin, err1 := cmd.StdinPipe()
		stdout, err2 := cmd.StdoutPipe()
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill() })
		lines := bufio.NewScanner(stdout)
		if !lines.Scan() || lines.Text() != "ready" {
			t.Fatalf("a process is not ready: %q, %v: %s", lines.Text(), cmd.Wait(), &stderr)
		}
		starts = append(starts, func() { stdin.Close() })
		wg.Go(func() {
			for lines.Scan() {
				wins <- lines.Text()
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("a process: %v: %s", err, &stderr)
			}
		})
	}
	for _, start := range starts {
		start()
	}
	go func() {
		wg.Wait()
		close(wins)
	}()

	winner := map[int]string{}
	holders := map[int]string{}
	again, killed := 0, false
	for line := range wins {
		var slot, n int
		var id, name string
		if _, err := fmt.Sscanf(line, "again %d", &n); err == nil {
			again += n
			continue
		}
		if _, err := fmt.Sscanf(line, "won %d %s %s", &slot, &id, &name); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if other, ok := winner[slot]; ok {
			t.Errorf("slot %d was won by %s and %s", slot, other, id)
		}
		winner[slot], holders[slot] = id, name
		if len(winner) == raceSlots/3 && !killed {
			killed = true
			if err := errors.Join(c.Kill(t.Context()), c.Again(t.Context())); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(winner) != raceSlots {
		t.Errorf("%d of %d slots have a winner", len(winner), raceSlots)
	}
	if again == 0 {
		t.Error("no claim was asked again: the kill hit nothing")
	}
	t.Logf("%d claims were asked again", again)
	b := open(t, o)
	for slot, name := range holders {
		q := claimOf("race", int64(slot))
		mustClaim(t, b, q, store.VerdictFinished)
		if _, r := b.link.book.run("race", int64(slot)); r == nil || r.Instance != name {
			t.Fatalf("the log says of slot %d: %+v; %s won it", slot, r, name)
		}
	}
}
