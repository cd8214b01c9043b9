package natsstore

import (
	"strconv"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/anarchon-go/anarchon/core/store"
)

// describe says what the store can do. It has no clock: the time of a message is
// the server's, but the answer to a publish does not tell it.
func describe(s *settings, version string, h *home) store.Description {
	d := store.Description{
		Kind: store.KindClaimOnly, Memory: store.Memory{Window: s.window}, Clock: store.ClockNone,
		Fenced: true, History: true,
		Product: "NATS " + version, Format: Format,
		Warnings: warnings(s, h.claims, h.history),
		Settings: []store.Setting{
			{Name: "namespace", Value: s.namespace},
			{Name: "subjects", Value: strings.Join(h.claims.Subjects, " ")},
			{Name: "duplicateWindow", Value: s.window.String()},
			{Name: "callTimeout", Value: s.callTimeout.String()},
		},
	}
	for _, c := range []*jetstream.StreamConfig{h.claims, h.history} {
		d.Settings = append(d.Settings,
			store.Setting{Name: c.Name + " storage", Value: strings.ToLower(c.Storage.String())},
			store.Setting{Name: c.Name + " replicas", Value: strconv.Itoa(c.Replicas)},
			store.Setting{Name: c.Name + " max_age", Value: ageText(c)},
		)
	}
	return d
}

func ageText(c *jetstream.StreamConfig) string {
	if c.MaxAge <= 0 {
		return "no limit"
	}
	return c.MaxAge.String()
}

func warnings(s *settings, claims, history *jetstream.StreamConfig) []string {
	var all []string
	warn := func(cond bool, text string) {
		if cond {
			all = append(all, text)
		}
	}
	memory := claims.Storage == jetstream.MemoryStorage
	warn(memory, "storage: stream "+claims.Name+" lies in memory: if all servers that hold it stop, every slot is forgotten and may run a second time, and the history is gone; for a memory that outlives them remove the streams and set storage to file")
	warn(!memory && history.Storage == jetstream.MemoryStorage, "storage: stream "+history.Name+" lies in memory: if all servers that hold it stop, the history is gone; remove it, and set storage to file")
	warn(!memory && claims.Replicas < 2, "sync_interval: the server answers before it syncs to the disk (every 2 minutes by default; a client can't see the setting). A process that is killed forgets nothing, but a host that loses power forgets the slots of that time, and they may run a second time; set sync_interval: always in the server's jetstream block, or replicas to 3 on hosts that don't fail together")
	warn(!memory && claims.Replicas >= 2, "sync_interval: servers answer before they sync to the disk (every 2 minutes by default; a client can't see the setting). If most hosts of the cluster lose power at once, slots of that time are forgotten and may run a second time; set sync_interval: always in the servers' jetstream block")
	warn(claims.Replicas < 2, "replicas: stream "+claims.Name+" lies on one server: while it is down no slot is granted, and a lost disk forgets them all; in a cluster set replicas to 3")
	warn(s.target.insecure, "insecureSkipVerify: the server's certificate is not checked, so whoever is in between can read and change everything; name its authority in caFile instead")
	return all
}
