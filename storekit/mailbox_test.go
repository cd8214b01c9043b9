package storekit

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestMailbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []int
		gate := make(chan struct{})
		m := mailbox[int]{
			most:    10,
			deliver: func(n int) { <-gate; got = append(got, n) },
			missed:  func(n int) { got = append(got, -n) },
		}
		for n := range 15 { // nobody takes anything: ten fit
			if took := m.put(n, 1); took != (n < 10) {
				t.Errorf("item %d was taken: %v", n, took)
			}
		}
		m.drop()
		begin := time.Now()
		m.flush(begin.Add(time.Second)) // in vain
		if took := time.Since(begin); took != time.Second {
			t.Errorf("flush gave up after %v", took)
		}
		close(gate)
		m.flush(time.Now().Add(time.Minute))
		if want := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, -6}; !slices.Equal(got, want) {
			t.Errorf("got %v; want %v", got, want)
		}
		got = nil
		m.drop()
		synctest.Wait()
		if len(got) > 0 {
			t.Error("a drop that nobody asked about was told at once: a flood would be told line by line")
		}
		m.put(7, 10) // fills it alone
		m.flush(time.Now().Add(time.Minute))
		m.drop()
		m.flush(time.Now().Add(time.Minute))
		if want := []int{-1, 7, -1}; !slices.Equal(got, want) {
			t.Errorf("got %v; want %v", got, want)
		}
		synctest.Wait() // no goroutine is left, or the bubble would not end
	})
}

// blockedWriter is a log that takes nothing until it is released.
type blockedWriter struct {
	logBuffer
	release chan struct{}
}

func (b *blockedWriter) Write(p []byte) (int, error) {
	<-b.release
	return b.logBuffer.Write(p)
}

func TestLogBudget(t *testing.T) {
	out := new(logBuffer)
	var told int
	q := newLogQueue(out.logger(), func(n int) { told += n })
	now := time.Now()
	admitted := func(n, bytes int, at time.Time) (in int) {
		for range n {
			if q.admits(bytes, at) {
				in++
			}
		}
		return in
	}
	if in := admitted(3*logLines, 10, now); in != logLines {
		t.Errorf("%d lines in one second; want %d", in, logLines)
	}
	if in := admitted(10, 10, now.Add(time.Second)); in != 10 {
		t.Errorf("%d lines in the next second; want all 10", in)
	}
	if in := admitted(100, logBytes/4, now.Add(2*time.Second)); in != 4 {
		t.Errorf("%d lines of a quarter of the budget; want 4", in)
	}
	if in := admitted(1, 10, now.Add(-time.Hour)); in != 1 {
		t.Error("a clock that went back stops the log")
	}
	q.box.flush(time.Now().Add(time.Minute))
	if want := 2*logLines + 96; told != want || !strings.Contains(out.String(), "lines were dropped") {
		t.Errorf("%d lines were told to be dropped, want %d; the log: %s", told, want, out)
	}
}
