package containers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// Shortage says how a server is made to run out of something: by two commands that
// are run in its container, or by connections that say nothing.
type Shortage struct {
	Take, Give []string
	Idle       int // connections, as many as leave no room for others
}

// None reports whether the server can't be made to run out of it.
func (s Shortage) None() bool { return len(s.Take) == 0 && s.Idle == 0 }

// giveLimit bounds how long giving back may take after taking has failed, and how long
// a server may take to let go of a connection.
const giveLimit = 30 * time.Second

// Exhaust makes the server run out of something. The function returned gives it
// back.
func (c *Container) Exhaust(ctx context.Context, s Shortage) (giveBack func(context.Context) error, err error) {
	if s.Idle > 0 {
		return c.crowd(ctx, s.Idle)
	}
	give := func(ctx context.Context) error {
		_, err := c.Exec(ctx, s.Give...)
		return err
	}
	if _, err := c.Exec(ctx, s.Take...); err != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveLimit)
		defer cancel()
		return nil, errors.Join(err, give(ctx)) // a half is taken back, too
	}
	return give, nil
}

// crowd keeps n connections open and leaves them alone. The server ends those that are
// too many for it, and some end those that say nothing: each is opened again, so that
// whatever others give up is taken. Those that are turned away come back one after the
// other: a server that starts a process for each would have time for nothing else.
func (c *Container) crowd(ctx context.Context, n int) (func(context.Context) error, error) {
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	var all sync.WaitGroup
	leave := func(context.Context) error {
		end()
		all.Wait()
		return nil
	}
	turns := time.NewTicker(turnedAwayEvery)
	context.AfterFunc(life, turns.Stop)
	dialed := make(chan error, n)
	for range n {
		all.Go(func() {
			began := time.Now()
			conn, err := crowdDialer.DialContext(life, "tcp", c.addr)
			dialed <- err
			for {
				if err == nil {
					linger(life, conn)
				}
				if err != nil || time.Since(began) < turnedAwayIn {
					select {
					case <-life.Done():
					case <-turns.C:
					}
				}
				if life.Err() != nil {
					return
				}
				began = time.Now()
				conn, err = crowdDialer.DialContext(life, "tcp", c.addr)
			}
		})
	}
	for i := range n {
		if err := <-dialed; err != nil {
			return nil, errors.Join(fmt.Errorf("connection %d of %d that leave the server no room: %w", i+1, n, err), leave(ctx))
		}
	}
	return leave, nil
}

const (
	turnedAwayIn    = 5 * time.Second       // a connection that ends sooner was one too many
	turnedAwayEvery = 20 * time.Millisecond // how long until the next of them tries
)

var crowdDialer = net.Dialer{Timeout: 10 * time.Second}

// linger keeps a connection until the server ends it, or life is over: then it waits
// until the server has let go of it, as far as that can be seen. A busy server does so
// late, and has no room until then.
func linger(life context.Context, conn net.Conn) {
	defer conn.Close()
	unhook := context.AfterFunc(life, func() {
		_ = conn.SetReadDeadline(time.Now().Add(giveLimit))
		if c, ok := conn.(interface{ CloseWrite() error }); !ok || c.CloseWrite() != nil {
			conn.Close()
		}
	})
	defer unhook()
	_, _ = io.Copy(io.Discard, conn)
}
