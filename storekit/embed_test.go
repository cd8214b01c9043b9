package storekit

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// actAsEmbedder is a service that carries two plugins and opens one of them.
func actAsEmbedder(how string) {
	plugin := os.Getenv(envEmbedded) != ""
	if how == "prints" {
		fmt.Println("hello")
	}
	if how == "ends" && plugin {
		os.Exit(3)
	}
	if how != "forgets" {
		Embed(newFake)
		Embed(newModel)
	}
	if how == "loses its file" {
		self, err := os.Executable()
		if err == nil {
			err = os.Remove(self)
		}
		if err != nil {
			panic(err)
		}
	}
	ctx := context.Background()
	c, err := Open(ctx, Plugin{Name: "model", Env: []string{envActAs, "GORACE=atexit_sleep_ms=0"}})
	if err != nil {
		fmt.Print(err)
		os.Exit(1)
	}
	defer c.Close()
	req := claim("a")
	req.Slot = time.Now().UnixMilli()
	a, err := c.Claim(ctx, req)
	args, _ := os.ReadFile("/proc/" + strconv.Itoa(c.PID()) + "/cmdline")
	fmt.Print(c.Info().Name, " ", a.Verdict, " ", err, " ", c.PID() != os.Getpid(), " ", strings.Trim(string(args), "\x00"))
}

func TestEmbed(t *testing.T) {
	wantEmbedded(t, selfPath(t), "embeds")
}

// wantEmbedded runs a service and wants it to have won a run through its plugin.
func wantEmbedded(t *testing.T, service, as string) {
	t.Helper()
	cmd := exec.Command(service)
	cmd.Env = append(os.Environ(), envActAs+"="+as)
	out, err := cmd.CombinedOutput()
	want := "model won <nil> true "
	if _, statErr := os.Stat("/proc/self/cmdline"); statErr == nil {
		want += "anarchon-plugin-model" // what it is listed as
	}
	if err != nil || string(out) != want {
		t.Errorf("it said %q, %v; want %q", out, err, want)
	}
}

// A program that does not reach Embed in the plugin's process would start itself
// again and again.
func TestEmbedForgotten(t *testing.T) {
	cmd := exec.Command(selfPath(t))
	cmd.Env = append(os.Environ(), envActAs+"=embeds forgets", cookieKey+"="+cookieValue, envEmbedded+"=model")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), `started as the embedded plugin "model" and must not open one`) || !strings.Contains(string(out), "first thing in main") {
		t.Errorf("%s, %v", out, err)
	}
}

// Who does anything before Embed learns what the second process is.
func TestEmbedNotFirst(t *testing.T) {
	for how, saw := range map[string]string{"prints": `it printed "hello"`, "ends": "exit status 3"} {
		cmd := exec.Command(selfPath(t))
		cmd.Env = append(os.Environ(), envActAs+"=embeds "+how)
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), saw) || !strings.Contains(string(out), "call storekit.Embed first thing in main") {
			t.Errorf("%s: %v: %s", how, err, out)
		}
	}
}

func TestEmbeddedAreFoundFirst(t *testing.T) {
	embedded.Lock()
	before := embedded.names
	embedded.names = map[string]bool{"one": true}
	embedded.Unlock()
	defer func() {
		embedded.Lock()
		embedded.names = before
		embedded.Unlock()
	}()
	for _, test := range []struct {
		plugin Plugin
		found  bool
	}{
		{Plugin{Name: "one"}, true},
		{Plugin{Name: "one", Dirs: []string{t.TempDir()}}, true},
		{Plugin{Name: "one", Path: "/bin/one"}, false},
		{Plugin{Path: "one"}, true},
		{Plugin{Name: "one", Path: "two"}, false},
		{Plugin{Name: "two"}, false},
	} {
		path, found, err := findEmbedded(test.plugin)
		if err != nil || found != test.found || found && path == "" {
			t.Errorf("%+v: %q, %v, %v; want %v", test.plugin, path, found, err, test.found)
		}
	}
	embedded.Lock()
	embedded.names["fake"] = true
	embedded.Unlock()
	defer func() {
		if r := recover(); r == nil || !strings.Contains(r.(string), `"fake"`) {
			t.Errorf("two of a name: %v; want a panic", r)
		}
	}()
	Embed(newFake)
}

// The program may be replaced while it runs; what it starts is still itself.
func TestEmbeddedOutlivesItsFile(t *testing.T) {
	if _, err := os.Stat("/proc/self/exe"); err != nil {
		t.Skip("only Linux has a name for the file that runs")
	}
	copied := t.TempDir() + "/service"
	b, err := os.ReadFile(selfPath(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(copied, b, 0o755); err != nil {
		t.Fatal(err)
	}
	wantEmbedded(t, copied, "embeds loses its file")
}
