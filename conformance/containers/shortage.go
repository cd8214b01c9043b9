package containers

import (
	"context"
	"errors"
	"fmt"
	"net"
)

// Shortage says how a server is made to run out of something: by two commands that
// are run in its container, or by connections that say nothing.
type Shortage struct {
	Take, Give []string
	Idle       int // connections, as many as leave no room for others
}

// None reports whether the server can't be made to run out of it.
func (s Shortage) None() bool { return len(s.Take) == 0 && s.Idle == 0 }

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
		return nil, errors.Join(err, give(context.WithoutCancel(ctx))) // a half is taken back, too
	}
	return give, nil
}

// crowd opens n connections and leaves them alone. A server may end those that are
// too many for it.
func (c *Container) crowd(ctx context.Context, n int) (func(context.Context) error, error) {
	var conns []net.Conn
	leave := func(context.Context) error {
		var errs []error
		for _, conn := range conns {
			errs = append(errs, conn.Close())
		}
		return errors.Join(errs...)
	}
	var d net.Dialer
	for range n {
		conn, err := d.DialContext(ctx, "tcp", c.addr)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("connection %d of %d that leave the server no room: %w", len(conns)+1, n, err), leave(ctx))
		}
		conns = append(conns, conn)
	}
	return leave, nil
}
