package redisstore

import (
	"context"
	"errors"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/anarchon-go/anarchon/core/store"
)

// call is one script with its arguments: one atomic step.
type call struct {
	script *script
	keys   []string
	args   []any
}

// reply is what a script returned: texts. Or an error of one of the three
// classes.
type reply struct {
	words []string
	err   error
}

// once is a command that the driver must not send twice. Setting the driver's
// retries to none is not enough: in a Cluster it counts redirects, which must go
// on, and resends also after a lost answer.
type once struct{ *redis.Cmd }

// NoRetry tells the driver.
func (once) NoRetry() bool { return true }

func newOnce(ctx context.Context, c *call, evalsha bool) once {
	args := make([]any, 0, 3+len(c.keys)+len(c.args))
	if evalsha {
		args = append(args, "evalsha", c.script.sha)
	} else {
		args = append(args, "eval", c.script.text)
	}
	args = append(args, len(c.keys))
	for _, k := range c.keys {
		args = append(args, k)
	}
	return once{redis.NewCmd(ctx, append(args, c.args...)...)}
}

// send runs the calls in order, in one pipeline on one connection. confirm, if
// not nil, is asked on the same connection how many replicas have what was
// written.
//
// A script that the server does not know is surely not executed: it is sent
// again, with its text. So is one that a Cluster sends elsewhere. Such a call is
// executed after the others of its batch; those are independent of it.
func (p *pool) send(ctx context.Context, calls []call, confirm *confirmation) []reply {
	replies := make([]reply, len(calls))
	if ctx.Err() != nil {
		fail(replies, notApplied("begin", context.Cause(ctx)))
		return replies
	}
	client, err := p.acquire(ctx)
	if err != nil {
		fail(replies, err)
		return replies
	}
	defer p.release()

	all := make([]int, len(calls))
	for i := range all {
		all[i] = i
	}
	elsewhere := p.pipeline(ctx, client, calls, all, replies, true, confirm)
	if len(elsewhere) > 0 {
		p.follow(ctx, calls, elsewhere, replies)
		confirm.lose()
	}
	failed := false
	for i := range replies {
		if replies[i].err != nil {
			failed = true
			replies[i].err = classify(calls[i].script.name, replies[i].err)
		}
	}
	if failed && p.cluster != nil {
		p.cluster.ReloadState(ctx) // in the background: another node may be the primary now
	}
	return replies
}

func fail(replies []reply, err error) {
	for i := range replies {
		replies[i].err = err
	}
}

// pipeline sends some of the calls and keeps their replies. It returns those
// that a Cluster wants to have sent elsewhere.
func (p *pool) pipeline(ctx context.Context, client *redis.Client, calls []call, which []int, replies []reply, evalsha bool, confirm *confirmation) (elsewhere []int) {
	pipe := client.Pipeline()
	cmds := make([]once, len(which))
	for n, i := range which {
		cmds[n] = newOnce(ctx, &calls[i], evalsha)
		_ = pipe.Process(ctx, cmds[n]) // queues it; the error comes with Exec
	}
	if confirm != nil {
		confirm.queue(ctx, pipe)
	}
	_, _ = pipe.Exec(ctx) // each command has its own error

	var unknown []int
	for n, i := range which {
		replies[i] = read(cmds[n].Cmd)
		switch err := replies[i].err; {
		case err == nil:
		case evalsha && redis.HasErrorPrefix(err, "NOSCRIPT"):
			unknown = append(unknown, i)
		case p.cluster != nil && isRedirect(err):
			elsewhere = append(elsewhere, i)
		}
	}
	if len(unknown) > 0 {
		elsewhere = append(elsewhere, p.pipeline(ctx, client, calls, unknown, replies, false, confirm)...)
	}
	return elsewhere
}

// follow sends calls that a node of a Cluster refused to where it pointed; the
// driver then also looks at the Cluster anew.
func (p *pool) follow(ctx context.Context, calls []call, which []int, replies []reply) {
	for _, i := range which {
		for _, evalsha := range []bool{true, false} {
			cmd := newOnce(ctx, &calls[i], evalsha)
			_ = p.cluster.Process(ctx, cmd)
			replies[i] = read(cmd.Cmd)
			if !redis.HasErrorPrefix(replies[i].err, "NOSCRIPT") {
				break
			}
		}
	}
}

func isRedirect(err error) bool {
	_, moved := redis.IsMovedError(err)
	_, ask := redis.IsAskError(err)
	return moved || ask
}

var errReply = errors.New("the script's answer is none of its own")

// read takes the answer of a script: words, in one text or in a list.
func read(cmd *redis.Cmd) reply {
	v, err := cmd.Result()
	if err != nil {
		return reply{err: err}
	}
	if text, ok := v.(string); ok {
		return reply{words: strings.Split(text, " ")}
	}
	list, ok := v.([]any)
	if !ok {
		return reply{err: errReply}
	}
	words := make([]string, len(list))
	for i, item := range list {
		if words[i], ok = item.(string); !ok {
			return reply{err: errReply}
		}
	}
	return reply{words: words}
}

// one sends a single call.
func (p *pool) one(ctx context.Context, c call) ([]string, error) {
	r := p.send(ctx, []call{c}, nil)[0]
	return r.words, r.err
}

// strange is the error of an answer that this version's scripts don't give.
func strange(s *script, words []string) error {
	text := strings.Join(words, " ")
	return errorOf(store.ErrUnknown, s.name, errReply, ": "+clip(text))
}
