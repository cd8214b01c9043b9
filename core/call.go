package core

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// call is one question to the store, and once it has its answer, the machine's input.
type call[Q, A any] struct {
	driver *driver
	group  *callGroup
	verb   func(context.Context, Q) (A, error)
	req    Q
	tell   func(*machine, instant, A, error)

	answered atomic.Bool // then ans and err are its one answer
	ans      A
	err      error
}

// send asks the store, at the end of the turn and on a goroutine of its own, and brings
// exactly one answer to the machine, also from a store that hangs or panics: that one is
// unknown.
func send[Q, A any](d *driver, g *callGroup, verb func(context.Context, Q) (A, error), req Q, tell func(*machine, instant, A, error)) {
	d.calls.Add(1)
	g.users.Add(1)
	g.calls = append(g.calls, &call[Q, A]{driver: d, group: g, verb: verb, req: req, tell: tell})
}

func (c *call[Q, A]) run() {
	defer c.driver.calls.Done()
	defer c.group.release()
	returned := false
	defer func() {
		if returned {
			return
		}
		if v := recover(); v != nil {
			c.unknown(fmt.Sprint("the store panicked: ", v))
			return
		}
		c.unknown("the store ended its goroutine")
	}()
	ans, err := c.verb(c.group.ctx, c.req)
	if err != nil {
		err = classify(err) // runs the store's code, as the call did
	}
	returned = true
	c.answer(ans, err)
}

func (c *call[Q, A]) answer(ans A, err error) {
	if c.answered.CompareAndSwap(false, true) {
		c.ans, c.err = ans, err
		c.driver.inbox.put(c)
	}
}

func (c *call[Q, A]) unknown(why string) {
	var none A
	c.answer(none, fmt.Errorf("%w: %s", store.ErrUnknown, why))
}

// abandon gives up a call that outlived its deadline.
func (c *call[Q, A]) abandon() {
	c.unknown(fmt.Sprintf("the call did not end %v after its deadline", overdue))
}

func (c *call[Q, A]) apply(m *machine, now instant) { c.tell(m, now, c.ans, c.err) }

// asked is a call of whichever verb.
type asked interface {
	run()
	abandon()
}

// callGroup are the calls that begin in one turn and have the same time: a thousand
// jobs that are due at once need two timers, not two thousand.
type callGroup struct {
	ctx     context.Context
	cancel  context.CancelFunc
	timeout time.Duration
	calls   []asked
	hung    *time.Timer
	users   atomic.Int32 // calls that have not ended
}

// overdue is how long after its deadline a call is still waited for: a store
// that ends in time knows better than we do what became of the call.
const overdue = time.Second

// begin sends the calls, and abandons those that do not end in time. Their time counts
// from here: a turn may be long.
func (g *callGroup) begin(ctx context.Context) {
	g.ctx, g.cancel = context.WithTimeout(ctx, g.timeout)
	g.hung = time.AfterFunc(g.timeout+overdue, func() {
		for _, c := range g.calls {
			c.abandon()
		}
	})
	spread(g.calls)
}

// release is the end of a call.
func (g *callGroup) release() {
	if g.users.Add(-1) == 0 {
		g.hung.Stop()
		g.cancel()
	}
}

// callGroups are the calls of one turn, by their time: jobs with different leases are
// due in any order.
type callGroups map[time.Duration]*callGroup

// of returns the group of the calls that have so much time.
func (gs callGroups) of(timeout time.Duration) *callGroup {
	g := gs[timeout]
	if g == nil {
		g = &callGroup{timeout: timeout}
		gs[timeout] = g
	}
	return g
}

// begin sends all calls. ctx ends them.
func (gs callGroups) begin(ctx context.Context) {
	for _, g := range gs {
		g.begin(ctx)
	}
	clear(gs)
}
