package natsstore

import (
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Keys of the metadata by which a stream is known as one of ours.
const (
	metaFormat    = "anarchon.format"
	metaNamespace = "anarchon.namespace"
	metaRole      = "anarchon.stream" // claims or history
)

const (
	roleClaims  = "claims"
	roleHistory = "history"
)

// Minimum of a stream's max_msg_size: no record is greater, fields of later
// versions included.
const minMessageSize = 64 << 10

// noLimit is what the server says where there is none.
const noLimit = -1

// margin is how much longer than the window messages are kept, for servers whose
// clocks differ or are set.
func margin(window time.Duration) time.Duration {
	return min(max(window/10, time.Second), 30*time.Second)
}

func (s *settings) metadata(role string) map[string]string {
	return map[string]string{
		metaFormat:    strconv.Itoa(Format),
		metaNamespace: token(s.namespace),
		metaRole:      role,
	}
}

func (s *settings) storage() jetstream.StorageType {
	if s.memory {
		return jetstream.MemoryStorage
	}
	return jetstream.FileStorage
}

// claimsConfig is the stream that remembers. Messages leave it by age only; if
// it is ever full it refuses, and does not forget.
//
// Its sequences count from 1, and tokens from its era. JetStream's first_seq would
// do without eras, but NATS 2.10 empties a stream that has one when it restarts.
func (s *settings) claimsConfig(e era) *jetstream.StreamConfig {
	return &jetstream.StreamConfig{
		Name:              s.layout.claims,
		Description:       "anarchon: who runs which slot; do not edit",
		Subjects:          []string{s.layout.all(e)},
		Retention:         jetstream.LimitsPolicy,
		Discard:           jetstream.DiscardNew,
		MaxAge:            s.window + margin(s.window),
		MaxMsgs:           noLimit,
		MaxBytes:          noLimit,
		MaxMsgsPerSubject: noLimit,
		MaxMsgSize:        noLimit,
		MaxConsumers:      noLimit,
		Storage:           s.storage(),
		Replicas:          s.replicas,
		DenyDelete:        true,
		DenyPurge:         true,
		Metadata:          s.metadata(roleClaims),
	}
}

// historyConfig is the stream of what became of the runs: the server copies the
// claims stream into it, and it keeps the last message of each slot.
func (s *settings) historyConfig() *jetstream.StreamConfig {
	return &jetstream.StreamConfig{
		Name:              s.layout.history,
		Description:       "anarchon: what became of the runs; do not edit",
		Retention:         jetstream.LimitsPolicy,
		Discard:           jetstream.DiscardOld,
		MaxMsgs:           noLimit,
		MaxBytes:          noLimit,
		MaxMsgsPerSubject: 1,
		MaxMsgSize:        noLimit,
		MaxConsumers:      noLimit,
		Storage:           s.storage(),
		Replicas:          s.replicas,
		DenyDelete:        true,
		Sources:           []*jetstream.StreamSource{{Name: s.layout.claims}},
		Metadata:          s.metadata(roleHistory),
	}
}
