// Command tamper changes a store of plugin redis past the plugin, for the
// conformance suite: see tamper in package conformance/subject.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := run(ctx, os.Args[len(os.Args)-1]); err != nil {
		fmt.Fprintln(os.Stderr, "tamper:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, what string) error {
	var options struct{ URL, Namespace string }
	if err := json.NewDecoder(os.Stdin).Decode(&options); err != nil {
		return err
	}
	server, err := redis.ParseURL(options.URL)
	if err != nil {
		return err
	}
	c := redis.NewClient(server)
	defer c.Close()
	prefix := "anarchon:{" + options.Namespace + "}:"
	if what == "newer" {
		return c.HIncrBy(ctx, prefix+"meta", "format", 1).Err()
	}
	keys, err := c.Keys(ctx, prefix+"*").Result()
	if err != nil {
		return err
	}
	slices.Sort(keys)
	switch what {
	case "unknown":
		return unknown(ctx, c, prefix, keys)
	case "dump":
		return dump(ctx, c, keys)
	}
	return fmt.Errorf("%q is none of dump, unknown and newer", what)
}

// unknown puts a field into the hash of each job, and into that of the namespace.
// Other hashes hold a record in each field, and have no room for one of no record.
func unknown(ctx context.Context, c *redis.Client, prefix string, keys []string) error {
	for _, key := range keys {
		if key != prefix+"meta" && len(key) <= len(prefix+"job:") || key != prefix+"meta" && key[:len(prefix)+4] != prefix+"job:" {
			continue
		}
		if err := c.HSet(ctx, key, "later", "later "+key).Err(); err != nil {
			return err
		}
		fmt.Println("later=later " + key)
	}
	return nil
}

// dump writes a line for each key, with its whole contents.
func dump(ctx context.Context, c *redis.Client, keys []string) error {
	for _, key := range keys {
		kind, err := c.Type(ctx, key).Result()
		if err != nil {
			return err
		}
		var lines []string
		switch kind {
		case "hash":
			fields, err := c.HGetAll(ctx, key).Result()
			if err != nil {
				return err
			}
			for name, value := range fields {
				lines = append(lines, name+"="+value)
			}
		default:
			value, err := c.Dump(ctx, key).Result()
			if err != nil {
				return err
			}
			lines = []string{fmt.Sprintf("%x", value)}
		}
		slices.Sort(lines)
		for _, l := range lines {
			fmt.Printf("%s %s %q\n", key, kind, l)
		}
	}
	return nil
}
