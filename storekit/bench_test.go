package storekit

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// BenchmarkHeartbeat is the price of the hop: through a process, alone and from
// many callers at once, against the same store in this process.
func BenchmarkHeartbeat(b *testing.B) {
	req := store.HeartbeatRequest{Job: "job", Slot: 1, Token: 1, Lease: time.Second}
	b.Run("in process", func(b *testing.B) {
		s := newModel(Env{})
		for b.Loop() {
			if _, err := s.Heartbeat(b.Context(), req); err != nil {
				b.Fatal(err)
			}
		}
	})
	c := open(b, testPlugin(b, "model", nil))
	b.Run("alone", func(b *testing.B) {
		for b.Loop() {
			if _, err := c.Heartbeat(b.Context(), req); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, callers := range []int{16, 256} {
		b.Run(fmt.Sprint(callers, " callers"), func(b *testing.B) {
			b.SetParallelism(callers / runtime.GOMAXPROCS(0))
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, err := c.Heartbeat(b.Context(), req); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}
