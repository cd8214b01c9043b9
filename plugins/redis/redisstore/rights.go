package redisstore

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/anarchon-go/anarchon/core/store"
)

// Commands that the scripts of a strategy run, as lines for lua/rights.lua.
var (
	rightsOfAll = []string{
		"eval 0 1 KEY1", "evalsha 0 1 KEY1",
		"time", "exists KEY1", "hset KEY1 f v", "hmget KEY1 f", "hget KEY1 f",
	}
	rightsOf = map[string][]string{
		strategyLease: {
			"hdel KEY1 f", "hvals KEY1", "zadd KEY1 0 m",
			"zrangebyscore KEY1 0 0", "zrevrangebyscore KEY1 0 0", "zremrangebyrank KEY1 0 0",
		},
		strategyStreamID: {
			"hdel KEY1 f", "hkeys KEY1", "xadd KEY1 1-1 f v", "xlen KEY1", "xrange KEY1 - +", "xrevrange KEY1 + -", "xtrim KEY1 MAXLEN 1",
		},
		strategyIDMP: {
			"hdel KEY1 f", "hkeys KEY1", "xadd KEY1 1-1 f v", "xlen KEY1", "xrange KEY1 - +", "xtrim KEY1 MAXLEN 1",
			"xdel KEY1 1-1", "xinfo STREAM KEY1", "xcfgset KEY1 IDMP-MAXSIZE 1",
		},
		strategyScript: {
			"hdel KEY1 f", "hkeys KEY1", "lindex KEY1 0", "llen KEY1", "lpop KEY1", "rpush KEY1 v",
		},
	}
)

// checkRights asks the server which commands the user may not run on the
// namespace's keys; the error names them. It runs none of them.
func (b *Backend) checkRights(ctx context.Context) error {
	c := call{script: b.scripts.rights, keys: []string{b.keys.meta()}}
	for _, line := range slices.Concat(rightsOfAll, rightsOf[b.settings.strategy]) {
		c.args = append(c.args, line)
	}
	if b.settings.waitReplicas > 0 {
		c.args = append(c.args, "wait 0 0")
	}
	missing, err := b.pools.claims.one(ctx, c)
	if err != nil || len(missing) == 0 {
		return err
	}
	user := b.settings.target.username
	if user == "" {
		user = "default"
	}
	return fmt.Errorf("%w: redis: the user %q may not run %s on the keys of namespace %q; grant it by ACL SETUSER %s ~%s* +%s", store.ErrNotApplied,
		user, strings.ToUpper(strings.Join(missing, ", ")), b.settings.namespace, user, b.keys, strings.Join(missing, " +"))
}
