package redisstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/anarchon-go/anarchon/core/store"
)

// said is an error reply of the server.
type said string

func (s said) Error() string { return string(s) }
func (said) RedisError()     {}

func TestClassify(t *testing.T) {
	refused := &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	for _, c := range []struct {
		err   error
		class error
		word  string
	}{
		{&dialError{refused}, store.ErrNotApplied, "nothing listens"},
		{&dialError{&net.DNSError{Name: "h", Err: "no such host"}}, store.ErrNotApplied, "resolver"},
		{redis.ErrPoolTimeout, store.ErrNotApplied, ""},
		{redis.ErrClosed, store.ErrNotApplied, ""},
		{context.DeadlineExceeded, store.ErrNotApplied, ""},
		{context.Canceled, store.ErrNotApplied, ""},
		{said("NOSCRIPT No matching script"), store.ErrNotApplied, ""},
		{said("OOM command not allowed when used memory > 'maxmemory'."), store.ErrNotApplied, "maxmemory"},
		{said("READONLY You can't write against a read only replica."), store.ErrNotApplied, "primary"},
		{said("NOAUTH Authentication required."), store.ErrNotApplied, "password"},
		{said("WRONGPASS invalid username-password pair or user is disabled."), store.ErrNotApplied, "password"},
		{said("NOPERM User u has no permissions to run the 'evalsha' command"), store.ErrNotApplied, "evalsha"},
		{said("LOADING Redis is loading the dataset in memory"), store.ErrNotApplied, ""},
		{said("MASTERDOWN Link with MASTER is down"), store.ErrNotApplied, ""},
		{said("CLUSTERDOWN Hash slot not served"), store.ErrNotApplied, "slot"},
		{said("TRYAGAIN Multiple keys request during rehashing of slot"), store.ErrNotApplied, ""},
		{said("MOVED 1 127.0.0.1:1"), store.ErrNotApplied, "cluster"},
		{said("BUSY Redis is busy running a script."), store.ErrNotApplied, ""},
		{said("MISCONF Errors writing to the AOF file"), store.ErrNotApplied, "disk"},
		{said("NOREPLICAS Not enough good replicas to write."), store.ErrNotApplied, "replicas"},
		{said("ERR max number of clients reached"), store.ErrNotApplied, "maxclients"},
		{said("ERR unknown command 'EVALSHA'"), store.ErrNotApplied, ""},

		{said("ERR user_script:12: attempt to index a nil value"), store.ErrUnknown, "user_script"},
		{said("SOMETHING new"), store.ErrUnknown, "SOMETHING"},
		{io.EOF, store.ErrUnknown, "closed the connection"},
		{&net.OpError{Op: "read", Err: syscall.ECONNRESET}, store.ErrUnknown, ""},
		{&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, store.ErrUnknown, "no answer in time"},
		{&net.OpError{Op: "write", Err: syscall.EPIPE}, store.ErrUnknown, ""},
		{fmt.Errorf("wrapped: %w", context.DeadlineExceeded), store.ErrUnknown, ""},
		{errReply, store.ErrUnknown, ""},
		{store.ErrUnsupported, store.ErrInvalid, ""},
	} {
		err := classify("claim", c.err)
		if !errors.Is(err, c.class) {
			t.Errorf("%v is classed %v; want %v", c.err, err, c.class)
		}
		for _, other := range []error{store.ErrInvalid, store.ErrNotApplied, store.ErrUnknown} {
			if other != c.class && errors.Is(err, other) {
				t.Errorf("%v is also classed %v", c.err, other)
			}
		}
		if !errors.Is(err, c.err) {
			t.Errorf("%v lost its cause: %v", c.err, err)
		}
		wantWords(t, err.Error(), []string{c.word})
	}
}
