package storekit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// The plugin processes of these tests are this test binary itself, which becomes
// what the variable says.
const envActAs = "STOREKIT_TEST_ACT_AS"

func TestMain(m *testing.M) {
	if as := os.Getenv(envActAs); as != "" {
		actAs(as)
		return
	}
	os.Exit(m.Run())
}

// testPlugin is a plugin that runs this binary.
func testPlugin(t testing.TB, as string, config map[string]any) Plugin {
	t.Helper()
	return Plugin{
		Name:   "fake",
		Path:   selfPath(t),
		Config: config,
		// A program built with -race sleeps a second before it exits, unless told not to.
		Env:    []string{envActAs + "=" + as, "GORACE=atexit_sleep_ms=0"},
		Logger: testLogger(t),
	}
}

func selfPath(t testing.TB) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return self
}

// open opens a plugin and closes it at the end of the test.
func open(t testing.TB, p Plugin) *Client {
	t.Helper()
	c, err := Open(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// current is the process that runs, or ran last.
func (c *Client) current() *generation {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.gen
}

// realStderr is the stderr that the process was started with.
var realStderr = os.Stderr

// fake is a backend in memory that does as its option "do" says.
type fake struct {
	Unimplemented
	env Env
	cfg Config

	mu      sync.Mutex
	granted map[string]store.ClaimID
}

func newFake(env Env) Backend { return &fake{env: env, granted: map[string]store.ClaimID{}} }

func (f *fake) Info() Info {
	if os.Getenv("STOREKIT_TEST_INFO_PANICS") != "" {
		panic("info is broken")
	}
	low, high := int64(1), int64(10)
	return Info{
		Name:       "fake",
		Version:    "1.2.3",
		Strategies: []string{"plain"},
		Options: []Option{
			{Name: "do", Type: TypeString, Default: "right", Help: "What to do wrong."},
			{Name: "password", Type: TypeString, Secret: true, Help: "Secret."},
			{Name: "poolSize", Type: TypeInt, Default: "2", Min: &low, Max: &high, Help: "Connections."},
			{Name: "timeout", Type: TypeDuration, Default: "5s", Help: "Of a statement."},
		},
	}
}

func (f *fake) Configure(ctx context.Context, cfg Config) error {
	f.cfg = cfg
	f.env.Logger.Info("configured", "poolSize", cfg.Int("poolSize"), "password", cfg.String("password"))
	if file, ok := strings.CutPrefix(cfg.String("do"), "exit if there is "); ok {
		if _, err := os.Stat(file); err == nil {
			fmt.Fprintln(os.Stderr, "the disk is on fire")
			os.Exit(5)
		}
	}
	if file, ok := strings.CutPrefix(cfg.String("do"), "panic if there is "); ok {
		if _, err := os.Stat(file); err == nil {
			go panic("the disk is on fire") // where nobody recovers it
			select {}
		}
	}
	switch cfg.String("do") {
	case "refuse":
		return fmt.Errorf("%w: cannot log in with %q", store.ErrNotApplied, cfg.String("password"))
	case "newer format":
		return fmt.Errorf("%w: the store has format 7, this plugin knows format 3", store.ErrStoreFormat)
	case "hang in configure":
		<-ctx.Done()
		return ctx.Err()
	case "panic in configure":
		panic("no store today")
	}
	return nil
}

func (f *fake) Describe(context.Context) (store.Description, error) {
	return store.Description{
		Kind:     store.KindClaimOnly,
		Strategy: "plain",
		Memory:   store.Memory{Window: 90 * time.Second, Runs: 7},
		Clock:    store.ClockStore,
		Product:  "fake 1",
		Settings: []store.Setting{{Name: "fsync", Value: "off"}},
		Warnings: []string{"nothing is kept"},
		Format:   1,
	}, nil
}

func (f *fake) Claim(ctx context.Context, r store.ClaimRequest) (store.ClaimAnswer, error) {
	switch do, arg, _ := strings.Cut(r.Job, ":"); do {
	case "panic":
		panic("as asked")
	case "exit":
		fmt.Fprintln(os.Stderr, "I am leaving: "+arg)
		os.Exit(3)
	case "go deaf":
		stopServing()
		<-ctx.Done()
		return store.ClaimAnswer{}, ctx.Err()
	case "hang":
		<-ctx.Done()
		return store.ClaimAnswer{}, ctx.Err()
	case "child", "child in its own session":
		child := exec.Command("sleep", "60")
		child.Stdout, child.Stderr = realStderr, realStderr
		child.SysProcAttr = &syscall.SysProcAttr{Setsid: do != "child"}
		if err := child.Start(); err != nil {
			return store.ClaimAnswer{}, err
		}
	case "print":
		fmt.Println("printed " + arg)
		fmt.Fprintln(os.Stderr, "complained "+arg)
	case "flood", "flood and panic", "flood stdout":
		n, _ := strconv.Atoi(arg)
		flood(n, do == "flood stdout")
		if do == "flood and panic" {
			go panic("I am drowning")
			select {}
		}
	case "huge error":
		return store.ClaimAnswer{}, errors.New(strings.Repeat("x", 1_000_000))
	case "slow":
		time.Sleep(300 * time.Millisecond)
	case "error":
		return store.ClaimAnswer{}, errors.New("the store said " + arg + " and " + f.cfg.String("password"))
	case "not applied":
		return store.ClaimAnswer{}, fmt.Errorf("%w: the store is away", store.ErrNotApplied)
	case "invalid":
		return store.ClaimAnswer{}, &store.InvalidError{Field: "job", Value: "x", Rule: "y"}
	case "bad utf8":
		return store.ClaimAnswer{}, errors.New("bytes \xff\xfe here")
	case "no verdict":
		return store.ClaimAnswer{}, nil
	case "attempt 0":
		return store.ClaimAnswer{Verdict: store.VerdictWon}, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now().UnixMilli()
	run := fmt.Sprintf("%s/%d", r.Job, r.Slot)
	if id, ok := f.granted[run]; ok && id != r.ID {
		return store.ClaimAnswer{Verdict: store.VerdictFinished, Now: now}, nil
	}
	f.granted[run] = r.ID
	return store.ClaimAnswer{Verdict: store.VerdictWon, Attempt: 1, Left: r.Lease, Now: now}, nil
}

// flood writes lines of a thousand bytes.
func flood(lines int, toStdout bool) {
	out := realStderr
	if toStdout {
		out = os.Stdout
	}
	rest := strings.Repeat("x", 1000-len("flooding\n"))
	for range lines {
		fmt.Fprintf(out, "flooding %s\n", rest)
	}
}

func (f *fake) History(_ context.Context, r store.HistoryRequest) (store.HistoryAnswer, error) {
	if r.Job != "huge answer" {
		return store.HistoryAnswer{}, store.ErrUnsupported
	}
	return store.HistoryAnswer{Next: strings.Repeat("n", maxMessage)}, nil
}

func (f *fake) Close(ctx context.Context) error {
	switch f.cfg.String("do") {
	case "hang in close":
		select {}
	case "fail in close":
		return errors.New("could not flush")
	}
	return nil
}

// claim is a valid claim of a job.
func claim(job string) store.ClaimRequest {
	return store.ClaimRequest{
		Job: job, Slot: 1_700_000_000_000, ID: store.NewClaimID(), Instance: "me",
		Reason: store.ReasonScheduled, Overlap: store.OverlapSkip,
		Lease: 30 * time.Second, MaxEarly: 10 * time.Second, MaxLate: time.Minute,
		MaxAttempts: 3, HistorySize: 100,
	}
}
