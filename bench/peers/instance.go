package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"time"
)

// order tells an instance, in its environment, what it is.
type order struct {
	Subject  int // in subjects, or in waiters
	Waiting  bool
	Instance instance
}

// start is a handler's start.
type start struct {
	Instance int
	Job      int
	At       int64 // Unix microseconds
	Slot     int64 // Unix microseconds; 0 where the scheduler does not say it
}

// A line of an instance's standard output is one of these as JSON.
type (
	ready struct{ PIDs []int } // the processes that it is, itself first
	waits struct {
		Bytes      float64 // heap and stacks, per job
		Goroutines int     // more than before, all together
		Add        float64 // seconds until all were added and planned
	}
)

// act is the life of an instance: it says ready, answers each line of in with the starts since the last one, and stops when in ends.
func act(o order, in io.Reader, out io.Writer) error {
	if o.Waiting {
		return wait(waiters[o.Subject], o.Instance, out)
	}
	subject, answer := subjects[o.Subject], json.NewEncoder(out)
	var mu sync.Mutex
	starts := make([]start, 0, 4*o.Instance.Jobs)
	inst, pids := o.Instance, []int{os.Getpid()}
	inst.pids = &pids
	inst.ran = func(job int, slot time.Time) {
		s := start{Instance: inst.Index, Job: job, At: time.Now().UnixMicro()}
		if !slot.IsZero() {
			s.Slot = slot.UnixMicro()
		}
		mu.Lock()
		starts = append(starts, s)
		mu.Unlock()
		time.Sleep(subject.work)
	}
	stop, err := subject.start(context.Background(), &inst)
	if err != nil {
		return err
	}
	defer stop()
	if err := answer.Encode(ready{pids}); err != nil {
		return err
	}
	for lines := bufio.NewScanner(in); lines.Scan(); {
		mu.Lock()
		since := starts
		starts = make([]start, 0, cap(since))
		mu.Unlock()
		if err := answer.Encode(since); err != nil {
			return err
		}
	}
	return nil
}

// settled is how long a scheduler may take to plan jobs that were added, to open its connections and to be elected, unseen by its caller.
const settled = 2 * time.Second

// wait measures what jobs take that wait for their slot.
func wait(s subject, inst instance, out io.Writer) error {
	var pids []int
	inst.pids, inst.ran = &pids, func(int, time.Time) {}
	bytes, goroutines := inUse()
	began := time.Now()
	stop, err := s.start(context.Background(), &inst)
	if err != nil {
		return err
	}
	took := time.Since(began)
	time.Sleep(settled)
	after, now := inUse()
	stop()
	return json.NewEncoder(out).Encode(waits{Bytes: (after - bytes) / float64(inst.Jobs), Goroutines: now - goroutines, Add: took.Seconds()})
}

// inUse returns the bytes of heap that are reachable and of stacks, and the number of goroutines.
func inUse() (bytes float64, goroutines int) {
	runtime.GC()
	runtime.GC() // what finalizers held
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc + m.StackInuse), runtime.NumGoroutine()
}

// orderVariable holds an order; it makes this program an instance.
const orderVariable = "PEERS_ORDER"

func actIfOrdered() {
	text := os.Getenv(orderVariable)
	if text == "" {
		return
	}
	var o order
	err := json.Unmarshal([]byte(text), &o)
	if err == nil {
		err = act(o, os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}
