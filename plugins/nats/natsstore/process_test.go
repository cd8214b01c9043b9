package natsstore

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/storekit"
)

// roleEnv makes the test binary claim slots in another process instead of
// running tests.
const roleEnv = "NATSSTORE_TEST_CLAIMER"

// serversOwn is a goroutine of the embedded server, which outlives its shutdown by the
// time in which a stream waits for its source.
var serversOwn = goleak.IgnoreAnyFunction("github.com/nats-io/nats-server/v2/server.(*stream).trySetupSourceConsumer.func3")

func TestMain(m *testing.M) {
	if os.Getenv(roleEnv) != "" {
		if err := claimer(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	code := m.Run()
	if shared.stop != nil {
		shared.stop()
	}
	if code == 0 {
		if err := goleak.Find(serversOwn); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// pace is the time between two slots. All claimers keep it, so that they ask for
// a slot at the same time.
const pace = 20 * time.Millisecond

// claimer asks for all slots of one job, one after the other. It prints what was
// won. What has no answer is asked again, with the same claim id.
func claimer(args []string) error {
	var url, namespace, name string
	var slots int
	if _, err := fmt.Sscan(strings.Join(args, " "), &url, &namespace, &name, &slots); err != nil {
		return err
	}
	cfg, err := storekit.ParseConfig(Info().Options, fmt.Appendf(nil, `{"url": %q, "namespace": %q}`, url, namespace))
	if err != nil {
		return err
	}
	ctx := context.Background()
	b := New(storekit.Env{Logger: slog.New(slog.DiscardHandler)}).(*Backend)
	if err := b.Configure(ctx, cfg); err != nil {
		return err
	}
	fmt.Println("ready")
	var first int64 // when the first slot is claimed
	if _, err := fmt.Scan(&first); err != nil {
		return err
	}
	return errors.Join(claimAll(ctx, b, name, slots, time.UnixMilli(first)), b.Close(ctx))
}

func claimAll(ctx context.Context, b *Backend, instance string, slots int, first time.Time) error {
	for i := range slots {
		time.Sleep(time.Until(first.Add(time.Duration(i) * pace)))
		q := claimOf("j", noon+int64(i))
		q.Instance = instance
		for end := time.Now().Add(2 * time.Minute); ; {
			a, err := b.Claim(ctx, q)
			if err == nil {
				if a.Verdict == store.VerdictWon {
					fmt.Println("won", i, a.Token, instance)
					time.Sleep(2 * pace) // or the one who is ahead wins them all
				}
				break
			}
			if time.Now().After(end) {
				return err
			}
			fmt.Println("again", i, store.IsUnknown(err))
			time.Sleep(50 * time.Millisecond)
		}
	}
	return nil
}

// child is a process that claims.
type child struct {
	t     testing.TB
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines chan string // what it prints; closed at its end
	err   strings.Builder
}

// spawn starts a child, which is killed with the test.
func spawn(t testing.TB, args ...any) *child {
	t.Helper()
	c := &child{t: t, lines: make(chan string, 1<<16)}
	c.cmd = exec.Command(os.Args[0], strings.Fields(fmt.Sprintln(args...))...)
	c.cmd.Env = append(os.Environ(), roleEnv+"=1")
	c.cmd.Stderr = &c.err
	stdin, err1 := c.cmd.StdinPipe()
	stdout, err2 := c.cmd.StdoutPipe()
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	c.stdin = stdin
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(c.lines)
		for s := bufio.NewScanner(stdout); s.Scan(); {
			c.lines <- s.Text()
		}
	}()
	t.Cleanup(func() {
		if c.cmd.ProcessState == nil {
			_ = c.cmd.Process.Kill()
			_ = c.cmd.Wait()
		}
	})
	return c
}

// line is the next line, within a generous bound for a busy machine; "" at the
// end, which must be a good one.
func (c *child) line() string {
	c.t.Helper()
	select {
	case line, ok := <-c.lines:
		if !ok {
			if err := c.cmd.Wait(); err != nil {
				c.t.Fatalf("child: %v: %s", err, c.err.String())
			}
		}
		return line
	case <-time.After(3 * time.Minute):
		c.t.Fatal("child is silent for three minutes")
		return ""
	}
}
