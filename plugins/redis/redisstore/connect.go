package redisstore

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/anarchon-go/anarchon/core/store"
)

// pool is a number of connections to the primary that holds the namespace. It
// never sends anything twice by itself.
type pool struct {
	single  *redis.Client        // a server, or the primary that Sentinels name
	cluster *redis.ClusterClient // or this
	key     string               // any key of the namespace
	turns   chan struct{}        // as many as connections
}

// dialError says that a connection never came up: nothing was sent.
type dialError struct{ err error }

func (e *dialError) Error() string { return e.err.Error() }
func (e *dialError) Unwrap() error { return e.err }

func newPool(s *settings, key string) *pool {
	p := &pool{key: key, turns: make(chan struct{}, s.poolSize)}
	t := &s.target
	dialer := newDialer(t.tls, s.dialTimeout)
	// What all clients have in common:
	//   - RESP2 is enough, and spares every batch a look for push messages;
	//   - no retries: the second try of a claim would say "taken";
	//   - a deadline of the caller bounds the call;
	//   - pipelines share the pool, since there is nothing else;
	//   - the pool is never waited for: see acquire.
	const protocol, noRetries, onePool = 2, -1, -1
	switch {
	case t.cluster:
		p.cluster = redis.NewClusterClient(&redis.ClusterOptions{
			Addrs: t.addrs, Username: t.username, Password: t.password,
			Dialer: dialer, DialTimeout: s.dialTimeout, DialerRetries: 1,
			Protocol: protocol, MaxRetries: noRetries, DisableRoutingPolicies: true, DisableIdentity: true,
			ReadTimeout: s.callTimeout, WriteTimeout: s.callTimeout, ContextTimeoutEnabled: true,
			PoolSize: s.poolSize, PipelinePoolSize: onePool, PoolTimeout: s.callTimeout,
			MaintNotificationsConfig:   noMaintenance(),
			ClusterStateReloadInterval: 10 * time.Second,
		})
	case t.sentinelMaster != "":
		p.single = redis.NewFailoverClient(&redis.FailoverOptions{
			MasterName: t.sentinelMaster, SentinelAddrs: t.addrs,
			SentinelUsername: t.sentinelUsername, SentinelPassword: t.sentinelPassword,
			Username: t.username, Password: t.password, DB: t.db,
			Dialer: dialer, DialTimeout: s.dialTimeout, DialerRetries: 1,
			Protocol: protocol, MaxRetries: noRetries, DisableIdentity: true,
			ReadTimeout: s.callTimeout, WriteTimeout: s.callTimeout, ContextTimeoutEnabled: true,
			PoolSize: s.poolSize, PipelinePoolSize: onePool, PoolTimeout: s.callTimeout,
		})
		p.single.AddHook(dialHook{}) // the Sentinels are asked within a dial
	default:
		p.single = redis.NewClient(&redis.Options{
			Addr: t.addrs[0], Username: t.username, Password: t.password, DB: t.db,
			Dialer: dialer, DialTimeout: s.dialTimeout, DialerRetries: 1,
			Protocol: protocol, MaxRetries: noRetries, DisableIdentity: true,
			ReadTimeout: s.callTimeout, WriteTimeout: s.callTimeout, ContextTimeoutEnabled: true,
			PoolSize: s.poolSize, PipelinePoolSize: onePool, PoolTimeout: s.callTimeout,
			MaintNotificationsConfig: noMaintenance(),
		})
	}
	return p
}

// dialHook marks every error of a dial.
type dialHook struct{}

func (dialHook) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := next(ctx, network, addr)
		if err != nil {
			return nil, &dialError{err}
		}
		return conn, nil
	}
}

func (dialHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (dialHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func noMaintenance() *maintnotifications.Config {
	return &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}

func newDialer(c *tls.Config, timeout time.Duration) func(context.Context, string, string) (net.Conn, error) {
	plain := &net.Dialer{Timeout: timeout}
	dial := plain.DialContext
	if c != nil {
		dial = (&tls.Dialer{NetDialer: plain, Config: c}).DialContext
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, &dialError{err}
		}
		return conn, nil
	}
}

// acquire waits for a free connection, and returns the client to use it with.
// The caller gives it back by release. An error is [store.ErrNotApplied].
func (p *pool) acquire(ctx context.Context) (*redis.Client, error) {
	select {
	case p.turns <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: redis: given up before it was sent, all %d connections were busy: %w; a larger poolSize helps if the server is not what is slow", store.ErrNotApplied, cap(p.turns), context.Cause(ctx))
	}
	if p.single != nil {
		return p.single, nil
	}
	node, err := p.cluster.MasterForKey(ctx, p.key)
	if err != nil {
		p.release()
		return nil, notApplied("look up the primary of the namespace", err)
	}
	return node, nil
}

func (p *pool) release() { <-p.turns }

func (p *pool) close() error {
	if p.cluster != nil {
		return p.cluster.Close()
	}
	return p.single.Close()
}

// pools are two, so that heartbeats and finishes never wait behind claims.
type pools struct {
	claims *pool // and recalls
	duties *pool // heartbeats and finishes
}

func newPools(s *settings, key string) pools {
	return pools{claims: newPool(s, key), duties: newPool(s, key)}
}

func (p pools) close() error { return errors.Join(p.claims.close(), p.duties.close()) }
