package redisstore

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"

	"github.com/redis/go-redis/v9"

	"github.com/anarchon-go/anarchon/core/store"
)

// observe asks the server what it is.
func (b *Backend) observe(ctx context.Context) (*server, error) {
	client, err := b.pools.claims.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer b.pools.claims.release()
	text, err := client.Info(ctx).Result()
	if err != nil {
		return nil, err
	}
	s := &server{info: parseInfo(text)}
	args := []any{"config", "get"}
	for _, key := range configKeys {
		args = append(args, key)
	}
	// Managed servers refuse CONFIG, and so may an ACL. INFO tells what must be
	// known.
	if list, err := client.Do(ctx, args...).StringSlice(); err == nil {
		s.config = map[string]string{}
		for i := 0; i+1 < len(list); i += 2 {
			s.config[list[i]] = list[i+1]
		}
	} else if !isReply(err) {
		return nil, err
	}
	return s, nil
}

func isReply(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply)
}

// startError says why a start failed. Nothing depends on it yet, so it is
// surely not applied, and some errors have a likelier cause than later.
func startError(t *target, err error) error {
	if isClassed(err) {
		return err
	}
	doing := "connect to " + t.String()
	closed := errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
	strange := strings.Contains(err.Error(), "can't parse") || strings.Contains(err.Error(), "invalid reply")
	late := errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded)
	hint := ""
	switch {
	case t.tls == nil && (closed || strange):
		hint = ": the server closed the connection at the first word; if it speaks TLS, set tls or use rediss://; if not, it may have as many connections as its maxclients allows"
	case t.tls == nil && late:
		hint = ": no answer in time; the server is busy, stopped or out of reach, or it speaks TLS (then set tls or use rediss://)"
	case t.tls != nil && late:
		hint = ": no answer in time; the server is busy, stopped or out of reach, or it does not speak TLS on this port (then use redis:// and leave tls out)"
	case t.tls != nil && closed:
		hint = ": the server closed the connection; does it want a client's certificate (certFile and keyFile), or has it as many connections as its maxclients allows?"
	default:
		return notApplied(doing, err)
	}
	return errorOf(store.ErrNotApplied, doing, err, hint)
}
