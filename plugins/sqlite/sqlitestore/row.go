package sqlitestore

import (
	"fmt"
	"math"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// job is what the store keeps of a job for ever. It exists once something was
// granted.
type job struct {
	id          int64 // 0: nothing was ever granted
	newest      int64 // the highest slot ever granted
	lastToken   store.Token
	historySize int // as the last claim asked
	ended       int // ended runs that are kept
	fingerprint string
}

// attempt is one granted execution. The last one of a run stands for the run.
type attempt struct {
	slot       int64
	number     int // from 1
	token      store.Token
	claim      store.ClaimID
	instance   string
	reason     store.Reason
	overlap    store.Overlap
	lease      int64 // length as its holder asked, ms
	leaseEnd   int64 // on the store's clock
	max        int   // attempts that count before the run is closed, as its first claim asked
	counted    int   // attempts of the run that count, with this one
	unfinished bool  // the last attempt of a run that goes on
	status     store.Status
	handedOver bool
	startedAt  int64
	endedAt    int64
	err        string
}

// open reports whether the attempt was granted and has not ended; only then is
// its token current.
func (a *attempt) open() bool { return a.status == store.StatusRunning }

// live reports whether its lease protects it now.
func (a *attempt) live(now int64) bool { return a.open() && now < a.leaseEnd }

// left is how long it is still protected.
func (a *attempt) left(now int64) time.Duration {
	if !a.live(now) {
		return 0
	}
	return span(a.leaseEnd - now)
}

// check refuses a row that no version of this plugin writes.
func (a *attempt) check() error {
	switch {
	case a.unfinished && !a.open() && !a.handedOver:
		return fmt.Errorf("unfinished, %v and not handed over", a.status)
	case a.open() && (!a.unfinished || a.handedOver):
		return fmt.Errorf("running, and ended or handed over")
	case a.number < 1 || a.counted < 0 || a.max < 1 || a.lease < 1:
		return fmt.Errorf("attempt %d, counted %d, max attempts %d, lease %d ms", a.number, a.counted, a.max, a.lease)
	}
	return nil
}

// ms drops what is finer than the protocol's unit.
func ms(d time.Duration) int64 { return d.Milliseconds() }

// span is the inverse of ms, at most what a Duration holds.
func span(ms int64) time.Duration {
	const longest = math.MaxInt64 / int64(time.Millisecond)
	return time.Duration(min(ms, longest)) * time.Millisecond
}
