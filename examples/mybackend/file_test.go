package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/storekit"
)

// opened is a backend on a folder, in this process.
func opened(t *testing.T, root string) *Backend {
	t.Helper()
	b := New(storekit.Env{}).(*Backend)
	if err := b.Configure(t.Context(), config(t, b, root)); err != nil {
		t.Fatal(err)
	}
	return b
}

func config(t *testing.T, b *Backend, root string) storekit.Config {
	t.Helper()
	raw, err := json.Marshal(map[string]string{"folder": root})
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := storekit.ParseConfig(b.Info().Options, raw)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func ask(slot int64) store.ClaimRequest {
	return store.ClaimRequest{
		Job: "j", Slot: slot, ID: store.NewClaimID(), Instance: "i", Reason: store.ReasonScheduled, Lease: time.Minute,
		MaxEarly: time.Hour, MaxLate: time.Hour, Overlap: store.OverlapAllow, MaxAttempts: 3, HistorySize: 2,
	}
}

// R-FORMAT-1: a newer format is refused, and nothing is touched.
func TestNewerFormat(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(root, "format")
	for text, want := range map[string]error{"2\n": store.ErrStoreFormat, "a shopping list": store.ErrNotApplied, "": store.ErrNotApplied} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		b := New(storekit.Env{}).(*Backend)
		if err := b.Configure(t.Context(), config(t, b, root)); !errors.Is(err, want) {
			t.Errorf("format %q: %v; want %v", text, err, want)
		}
		if found, err := os.ReadDir(root); err != nil || len(found) != 1 {
			t.Errorf("format %q: the folder has %v, %v; want the format only", text, found, err)
		}
	}
}

// R-FORMAT-3: many set the store up at once.
func TestSetUpAtOnce(t *testing.T) {
	root := filepath.Join(t.TempDir(), "jobs")
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if _, err := openFolder(t.Context(), root, "default"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if text, err := os.ReadFile(filepath.Join(root, "format")); string(text) != "1\n" {
		t.Errorf("the format is %q, %v", text, err)
	}
}

// R-FORMAT-2: fields of a newer version are still there after this one has written
// the job, its unfinished run and its ended one.
func TestUnknownFieldsAreKept(t *testing.T) {
	b := opened(t, t.TempDir())
	now := b.now()
	first := ask(now)
	grant, err := b.Claim(t.Context(), first)
	if err != nil || grant.Verdict != store.VerdictWon {
		t.Fatalf("%+v, %v", grant, err)
	}
	path := b.folder.path("j")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	newer := strings.NewReplacer(`{"name"`, `{"colour":"red","name"`, `{"slotMs"`, `{"mood":[1,{"a":2}],"slotMs"`, `{"attempt"`, `{"pid":17,"attempt"`).Replace(string(text))
	if err := os.WriteFile(path, []byte(newer), 0o600); err != nil {
		t.Fatal(err)
	}
	finish := store.FinishRequest{Job: "j", Slot: first.Slot, Token: grant.Token, Outcome: store.OutcomeSuccess}
	if a, err := b.Finish(t.Context(), finish); err != nil || !a.Recorded {
		t.Fatalf("%+v, %v", a, err)
	}
	if a, err := b.Claim(t.Context(), ask(now+1)); err != nil || a.Verdict != store.VerdictWon {
		t.Fatalf("%+v, %v", a, err)
	}
	text, err = os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{`"colour":"red"`, `"mood":[1,{"a":2}]`, `"pid":17`} {
		if strings.Count(string(text), field) != 1 {
			t.Errorf("%s is not there once:\n%s", field, text)
		}
	}
}

// A damaged file is an error of its job, which says which file, and of no other.
func TestDamagedFile(t *testing.T) {
	for what, content := range map[string]string{
		"empty": "", "cut off": `{"name":"j"`, "a text": "hello\n", "another type": "[1]\n", "nothing": "null\n", "no fields": "{}\n", "no token": "{\"name\":\"j\"}\n",
		"a text for a number":             `{"name":"j","lastToken":7,"newestMs":"soon"}` + "\n",
		"a run without attempts":          `{"name":"j","lastToken":7,"unfinished":[{"slotMs":5}]}` + "\n",
		"an attempt without fields":       `{"name":"j","lastToken":7,"unfinished":[{"slotMs":5,"attempts":[{}]}]}` + "\n",
		"an ended run cut off":            `{"name":"j","lastToken":7}` + "\n" + `{"slot`,
		"an ended run of no known status": `{"name":"j","lastToken":7}` + "\n" + `{"slotMs":5,"attempts":[{"attempt":1,"token":7,"status":"nonsense"}]}` + "\n",
	} {
		b := opened(t, t.TempDir())
		if err := os.WriteFile(b.folder.path("j"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := b.Claim(t.Context(), ask(b.now()))
		if !errors.Is(err, store.ErrNotApplied) || !strings.Contains(err.Error(), b.folder.path("j")) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// What happened before the rename is not applied; and the lock is waited for no
// longer than the caller waits.
func TestErrorClasses(t *testing.T) {
	b := opened(t, t.TempDir())
	unlock, err := lock(t.Context(), b.folder.dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := b.Claim(ctx, ask(b.now())); !errors.Is(err, store.ErrNotApplied) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while another holds the lock: %v", err)
	}
	unlock()

	// A directory in the place of the temporary file: it can't be written.
	if err := os.Mkdir(b.folder.path("j")+".tmp", 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Claim(t.Context(), ask(b.now())); !errors.Is(err, store.ErrNotApplied) {
		t.Errorf("a write that fails: %v", err)
	}
	// A directory in the place of the file: it can't be renamed there.
	other := filepath.Join(b.folder.dir, "other")
	if err := os.MkdirAll(filepath.Join(other, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := write(other, nil); !errors.Is(err, store.ErrUnknown) {
		t.Errorf("a rename that fails: %v", err)
	}
}

// A link that a killed process left over is a hint, and no more.
func TestLinkLeftOver(t *testing.T) {
	b := opened(t, t.TempDir())
	q := ask(b.now())
	for _, target := range []string{"no-such-file", filepath.Base(b.folder.path("other"))} {
		if err := os.Symlink(target, b.folder.link(q.ID.String())); err != nil {
			t.Fatal(err)
		}
		if a, err := b.Claim(t.Context(), q); err != nil || a.Verdict != store.VerdictWon {
			t.Errorf("with a link to %s: %+v, %v", target, a, err)
		}
		elsewhere := q
		elsewhere.Job = "other"
		if _, err := b.Claim(t.Context(), elsewhere); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("the id of another job: %v", err)
		}
		q = ask(q.Slot + 1)
	}
}

func TestFolderMustHaveAParent(t *testing.T) {
	b := New(storekit.Env{}).(*Backend)
	err := b.Configure(t.Context(), config(t, b, filepath.Join(t.TempDir(), "mistyped", "jobs")))
	if !errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), "mistyped") {
		t.Errorf("%v", err)
	}
}

func FuzzPage(f *testing.F) {
	for _, s := range []string{"", "0.1", "-5.3", "1.0", "+1.1", "1.1.1", ".", "9223372036854775808.1", " 1.1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if p, err := parsePage(s); err == nil && s != "" && p.String() != s {
			t.Errorf("page %q is read as %v", s, p)
		}
	})
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"name":"j","unfinished":[{"slotMs":1,"attempts":[]}]}` + "\n"))
	f.Add([]byte("{}\n{}\n"))
	f.Add([]byte("null\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		folder := folder{dir: t.TempDir()}
		if err := os.WriteFile(folder.path("j"), content, 0o600); err != nil {
			t.Fatal(err)
		}
		j, err := folder.load("j")
		if err != nil {
			return
		}
		q := ask(1)
		j.claim(1, &q) // never panics on what load accepts
	})
}
