//go:build unix

package sigstop

import (
	"bufio"
	"os"
	"os/exec"
	"testing"
)

// TestFreeze: a process that answers as fast as it can says nothing once Freeze has
// returned, and goes on after Thaw.
func TestFreeze(t *testing.T) {
	if os.Getenv("SIGSTOP_TEST_ECHO") != "" {
		in := bufio.NewReader(os.Stdin)
		for {
			b, err := in.ReadByte()
			if err != nil {
				os.Exit(0)
			}
			os.Stdout.Write([]byte{b})
		}
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestFreeze$")
	cmd.Env = append(os.Environ(), "SIGSTOP_TEST_ECHO=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	answers := make(chan byte)
	go func() {
		defer close(answers)
		b := make([]byte, 1)
		for {
			if _, err := out.Read(b); err != nil {
				return
			}
			answers <- b[0]
		}
	}()
	ask := func(b byte) {
		if _, err := in.Write([]byte{b}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 200 {
		ask('a')
		<-answers
		if err := Freeze(pid); err != nil {
			t.Fatal(err)
		}
		if runs(pid) {
			t.Fatalf("turn %d: a thread runs after Freeze", i)
		}
		ask('b')
		select {
		case <-answers:
			t.Fatalf("turn %d: a stopped process answered", i)
		default:
		}
		if err := Thaw(pid); err != nil {
			t.Fatal(err)
		}
		<-answers
	}
}

func TestFreezeNothing(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if err := Freeze(cmd.Process.Pid); err == nil {
		t.Error("a process that has ended was stopped")
	}
}
