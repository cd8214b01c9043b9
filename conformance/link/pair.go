package link

import (
	"io"
	"net"
	"time"
)

// pair is one connection of a plugin, and the one to the store that it goes on
// in. The fields below the connections are the proxy's, under its lock.
type pair struct {
	client, server net.Conn
	held           []byte // of the request
	holed          bool   // something of the answer was thrown away
}

// piece is what was read at once, and when it may be passed on.
type piece struct {
	b   []byte
	due time.Time
}

// pump passes on what comes from one side, as judge says.
func (p *Proxy) pump(c *pair, from, to net.Conn, judge func(*pair, []byte) (bool, time.Duration)) {
	defer p.ended(c)
	pieces := make(chan piece, 256)
	p.wg.Go(func() {
		for x := range pieces {
			time.Sleep(time.Until(x.due))
			if _, err := to.Write(x.b); err != nil {
				from.Close() // ends the reading, too
			}
		}
	})
	defer close(pieces)
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			b := append([]byte(nil), buf[:n]...)
			if pass, delay := judge(c, b); pass {
				pieces <- piece{b, time.Now().Add(delay)}
			}
		}
		if err != nil {
			return
		}
	}
}

// deliverWithin bounds how long the store's answers to a late request are waited
// for.
const deliverWithin = 5 * time.Second

// deliver sends what was held to the store, reads the answers away, and ends the
// connection when the store has ended it, or after a while.
func (c *pair) deliver(held []byte) {
	defer c.server.Close()
	_ = c.server.SetDeadline(time.Now().Add(deliverWithin))
	if _, err := c.server.Write(held); err != nil {
		return
	}
	if tcp, ok := c.server.(*net.TCPConn); ok {
		_ = tcp.CloseWrite()
	}
	_, _ = io.Copy(io.Discard, c.server)
}
