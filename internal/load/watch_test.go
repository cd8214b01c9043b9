package load

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"runtime/pprof"
	"time"
)

// vitals are the vital signs of a process at some time.
type vitals struct {
	At         time.Time
	Heap       uint64 // bytes that the last garbage collection found alive
	Goroutines int
	FDs        int
}

const (
	watchEvery    = 200 * time.Millisecond
	vitalsEvery   = 2 * time.Second
	profileMarker = "profile" // while this file is there, CPU profiles are made
)

// watch writes this process's vital signs to a file of its own in dir, one JSON
// object a line, and a CPU profile while it is asked for.
func watch(dir, role string) {
	name := filepath.Join(dir, fmt.Sprintf("%s-%d", role, os.Getpid()))
	f, err := os.OpenFile(name+".jsonl", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		return
	}
	defer f.Close()
	enc := json.NewEncoder(f)
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	var profile *os.File
	var next time.Time
	for now := range time.Tick(watchEvery) {
		_, err := os.Stat(filepath.Join(dir, profileMarker))
		switch wanted := err == nil; {
		case wanted && profile == nil:
			if profile, err = os.Create(name + ".pprof"); err == nil {
				err = pprof.StartCPUProfile(profile)
			}
			if err != nil {
				fmt.Fprintln(os.Stderr, "load:", err)
			}
		case !wanted && profile != nil:
			pprof.StopCPUProfile()
			profile.Close()
			profile = nil
		}
		if now.Before(next) {
			continue
		}
		next = now.Add(vitalsEvery)
		metrics.Read(live)
		fds, _ := os.ReadDir("/proc/self/fd")
		enc.Encode(vitals{At: now, Heap: live[0].Value.Uint64(), Goroutines: runtime.NumGoroutine(), FDs: len(fds)})
	}
}
