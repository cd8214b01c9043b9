// Command tamper changes a store of plugin redis past the plugin, for the
// conformance suite: see tamper in package conformance/subject.
package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/anarchon-go/anarchon/internal/tamper"
	"github.com/anarchon-go/anarchon/plugins/redis/redisstore"
)

func main() { tamper.Main(open) }

// options are those of the plugin that name its keys' server.
type options struct {
	URL, Addrs, Namespace, SentinelMaster string
	Cluster                               bool
}

type keyspace struct {
	redis.UniversalClient
	prefix string
}

func open(_ context.Context, o options) (tamper.Store, error) {
	all := &redis.UniversalOptions{Addrs: strings.Split(o.Addrs, ","), MasterName: o.SentinelMaster, IsClusterMode: o.Cluster}
	if o.URL != "" {
		server, err := redis.ParseURL(o.URL)
		if err != nil {
			return nil, err
		}
		all.Addrs, all.Username, all.Password, all.DB, all.TLSConfig = []string{server.Addr}, server.Username, server.Password, server.DB, server.TLSConfig
	}
	return keyspace{redis.NewUniversalClient(all), redisstore.KeyPrefix(o.Namespace)}, nil
}

// keys are those of the namespace, sorted. In a Cluster a node knows its own only.
func (k keyspace) keys(ctx context.Context) (all []string, err error) {
	cluster, ok := k.UniversalClient.(*redis.ClusterClient)
	if !ok {
		all, err = k.Keys(ctx, k.prefix+"*").Result()
	} else {
		var mu sync.Mutex
		err = cluster.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
			keys, err := node.Keys(ctx, k.prefix+"*").Result()
			mu.Lock()
			defer mu.Unlock()
			all = append(all, keys...)
			return err
		})
	}
	slices.Sort(all)
	return all, err
}

func (k keyspace) Clear(ctx context.Context) error {
	keys, err := k.keys(ctx)
	if err != nil || len(keys) == 0 {
		return err
	}
	return k.Del(ctx, keys...).Err() // they lie in one slot
}

func (k keyspace) Newer(ctx context.Context) error {
	return k.HIncrBy(ctx, k.prefix+"meta", "format", 1).Err()
}

// Unknown puts a field into the hash of each job, and into that of the namespace.
// Other hashes hold a record in each field, and have no room for one of no record.
func (k keyspace) Unknown(ctx context.Context) (lines []string, err error) {
	keys, err := k.keys(ctx)
	for _, key := range keys {
		if key != k.prefix+"meta" && !strings.HasPrefix(key, k.prefix+"job:") {
			continue
		}
		if err := k.HSet(ctx, key, "later", "later "+key).Err(); err != nil {
			return nil, err
		}
		lines = append(lines, "later=later "+key)
	}
	return lines, err
}

// Damage lets every field of a job say what another program might have put there,
// and makes everything else of jobs a key of another type.
func (k keyspace) Damage(ctx context.Context) (lines []string, err error) {
	keys, err := k.keys(ctx)
	for _, key := range keys {
		if key == k.prefix+"meta" {
			continue
		}
		kind, err := k.Type(ctx, key).Result()
		if err != nil {
			return nil, err
		}
		if kind != "hash" {
			if err := k.Set(ctx, key, "hello", 0).Err(); err != nil {
				return nil, err
			}
			lines = append(lines, key+" "+kind)
			continue
		}
		fields, err := k.HKeys(ctx, key).Result()
		if err != nil {
			return nil, err
		}
		for _, f := range fields {
			if err := k.HSet(ctx, key, f, "hello").Err(); err != nil {
				return nil, err
			}
			lines = append(lines, key+" "+f)
		}
	}
	return lines, err
}

// Dump writes lines for each key, with its whole contents.
func (k keyspace) Dump(ctx context.Context) (all []string, err error) {
	keys, err := k.keys(ctx)
	for _, key := range keys {
		kind, err := k.Type(ctx, key).Result()
		if err != nil {
			return nil, err
		}
		var lines []string
		switch kind {
		case "hash":
			fields, err := k.HGetAll(ctx, key).Result()
			if err != nil {
				return nil, err
			}
			for name, value := range fields {
				lines = append(lines, name+"="+value)
			}
		default:
			value, err := k.UniversalClient.Dump(ctx, key).Result()
			if err != nil {
				return nil, err
			}
			lines = []string{fmt.Sprintf("%x", value)}
		}
		slices.Sort(lines)
		for _, l := range lines {
			all = append(all, fmt.Sprintf("%s %s %q", key, kind, l))
		}
	}
	return all, err
}
