package rabbitmqstore

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
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
// running tests. Its value is the JSON of a role.
const roleEnv = "RABBITMQSTORE_TEST_ROLE"

var full = flag.Bool("full", false, "TestOneWinnerThroughRestart in full size: 50 processes and 1000 slots")

// role is what a process does: it claims so many slots of one job.
type role struct {
	Options options
	Slots   int
}

// playRole claims all slots, asking again with the same claim id until it is
// answered, and prints what it won.
func playRole(text string) error {
	var r role
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return err
	}
	raw, err := json.Marshal(r.Options)
	if err != nil {
		return err
	}
	ctx := context.Background()
	cfg, err := storekit.ParseConfig(Info().Options, raw)
	if err != nil {
		return err
	}
	b := New(storekit.Env{Logger: slog.New(slog.DiscardHandler)}).(*Backend)
	if err := b.Configure(ctx, cfg); err != nil {
		return err
	}
	fmt.Println("ready")
	bufio.NewReader(os.Stdin).ReadByte() // until the parent closes it
	return errors.Join(claimAll(ctx, b, fmt.Sprint(os.Getpid()), r.Slots), b.Close(ctx))
}

func claimAll(ctx context.Context, b *Backend, name string, slots int) error {
	again := 0
	for slot := range slots {
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
		time.Sleep(rand.N(5 * time.Millisecond)) // or the one who is ahead wins them all
	}
	fmt.Println("again", again)
	return nil
}

// TestOneWinnerThroughRestart: many processes ask for the same slots, and the
// broker is killed in the middle. Each slot has one winner, and the log agrees.
func TestOneWinnerThroughRestart(t *testing.T) {
	processes, slots := 8, 200
	if *full {
		processes, slots = 50, 1000
	}
	c := mortal(t)
	o := fresh(t, urlOf(c))
	raw, err := json.Marshal(role{o, slots})
	if err != nil {
		t.Fatal(err)
	}
	wins := make(chan string, processes*slots)
	var starts []func()
	var wg sync.WaitGroup
	for range processes {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), roleEnv+"="+string(raw))
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
		t.Cleanup(func() { _ = cmd.Process.Kill() }) // it ended already, if all is well
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
	begin := time.Now()
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
		if len(winner) == slots/2 && !killed {
			killed = true
			if err := errors.Join(c.Kill(t.Context()), c.Again(t.Context())); err != nil {
				t.Fatal(err)
			}
		}
	}
	took := time.Since(begin)
	if len(winner) != slots {
		t.Errorf("%d of %d slots have a winner", len(winner), slots)
	}
	if again == 0 {
		t.Error("no claim was asked again: the kill hit nothing")
	}
	winners := map[string]int{}
	for _, name := range holders {
		winners[name]++
	}
	t.Logf("%d processes, %d claims in %v, the restart of the broker included; %d were asked again; %d processes won something",
		processes, processes*slots, took.Round(time.Millisecond), again, len(winners))
	b := open(t, o)
	for slot, name := range holders {
		q := claimOf("race", int64(slot))
		mustClaim(t, b, q, store.VerdictFinished)
		if _, r := b.link.book.run("race", int64(slot)); r == nil || r.Instance != name {
			t.Fatalf("the log says of slot %d: %+v; %s won it", slot, r, name)
		}
	}
}
