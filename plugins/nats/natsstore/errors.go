package natsstore

import (
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/anarchon-go/anarchon/core/store"
)

// classed is an error of one of the classes of package store.
type classed struct{ class, err error }

func (e *classed) Error() string   { return fmt.Sprintf("%v: nats: %v", e.class, e.err) }
func (e *classed) Unwrap() []error { return []error{e.class, e.err} }

// notApplied classes an error of something that surely left no trace.
func notApplied(format string, args ...any) error {
	return &classed{store.ErrNotApplied, fmt.Errorf(format, args...)}
}

// unknown classes an error of something that was sent and may have been done.
func unknown(format string, args ...any) error {
	return &classed{store.ErrUnknown, fmt.Errorf(format, args...)}
}

// bare takes the class off an error, so that another can be put on.
func bare(err error) error {
	var e *classed
	if errors.As(err, &e) {
		return e.err
	}
	return err
}

// asRead classes an error of a request that only reads: answered or not, it
// changed nothing.
func asRead(err error) error {
	if err == nil || errors.Is(err, store.ErrNotApplied) {
		return err
	}
	return notApplied("%w", bare(err))
}

// asUnknown classes an error of a step after which nobody knows.
func asUnknown(doing string, err error) error {
	return unknown("%s: %w", doing, bare(err))
}

// Error codes of JetStream that the client library has no name for.
const (
	codeClusterUnavailable  jetstream.ErrorCode = 10008
	codeAccountResources    jetstream.ErrorCode = 10002
	codeInsufficient        jetstream.ErrorCode = 10023
	codeMemoryExceeded      jetstream.ErrorCode = 10028
	codeMaximumStreams      jetstream.ErrorCode = 10027
	codeStorageExceeded     jetstream.ErrorCode = 10047
	codeStreamMismatch      jetstream.ErrorCode = 10060
	codeSubjectOverlap      jetstream.ErrorCode = 10065
	codeReplicasUnsupported jetstream.ErrorCode = 10074
	codeStoreFailed         jetstream.ErrorCode = 10077
	codeHeaderTooLarge      jetstream.ErrorCode = 10097
	codeSealed              jetstream.ErrorCode = 10109
	codeMaxBytesRequired    jetstream.ErrorCode = 10113
	codeNoPeers             jetstream.ErrorCode = 10005
	codeDuplicateInProcess  jetstream.ErrorCode = 10158
)

// fate is what a refusal of a conditional publish says of the message.
type fate uint8

const (
	// fateTaken: the subject has another message than the one expected.
	fateTaken fate = iota + 1
	// fateInFlight: another message to the subject is being stored, which may
	// be an earlier one of our own.
	fateInFlight
	// fateFull: nothing was stored.
	fateFull
	// fateOpen: the code does not say.
	fateOpen
)

// fateOf judges the refusal of a conditional publish.
func fateOf(e *jetstream.APIError) fate {
	switch e.ErrorCode {
	case jetstream.JSErrCodeStreamWrongLastSequence:
		return fateTaken
	case jetstream.JSErrCodeStreamWrongLastSequenceConstant, codeDuplicateInProcess:
		return fateInFlight
	case codeStoreFailed:
		// One code for every failure to store. A limit is looked at before; a
		// disk that failed may have part of it.
		if strings.HasPrefix(e.Description, "maximum ") || e.Description == "message too large" {
			return fateFull
		}
		return fateOpen
	case codeClusterUnavailable, codeAccountResources, codeInsufficient, codeMemoryExceeded, codeStorageExceeded,
		codeStreamMismatch, codeHeaderTooLarge, codeSealed, jetstream.JSErrCodeStreamMessageExceedsMaximum,
		jetstream.JSErrCodeJetStreamNotEnabled, jetstream.JSErrCodeJetStreamNotEnabledForAccount:
		return fateFull
	}
	return fateOpen
}

// refused is an error of a publish that the server refused for good.
func refused(e *jetstream.APIError) error {
	if fateOf(e) == fateOpen {
		return unknown("%w%s", e, remedy(e))
	}
	return notApplied("%w%s", e, remedy(e))
}

// remedy says what an error of JetStream means for the operator, and what to do.
func remedy(e *jetstream.APIError) string {
	switch e.ErrorCode {
	case jetstream.JSErrCodeJetStreamNotEnabled:
		return ": JetStream is off; start the server with -js or a jetstream block in its configuration"
	case jetstream.JSErrCodeJetStreamNotEnabledForAccount:
		return ": this account has no JetStream; enable it for the account (jetstream: enabled, or limits in its JWT), or use another user"
	case codeAccountResources, codeMemoryExceeded, codeStorageExceeded:
		return ": the account's JetStream limit is reached; raise it, or remove streams that nobody needs"
	case codeInsufficient:
		return ": the servers have no room left for JetStream; free disk or raise max_file_store"
	case codeMaximumStreams:
		return ": the account may have no more streams; this plugin needs two per namespace"
	case codeStoreFailed:
		return ": the stream could not store it; a limit by count or size was put on the stream, or the disk failed"
	case codeSubjectOverlap:
		return ": another stream takes the subjects; give another subjectPrefix"
	case codeStreamMismatch:
		return ": another stream took the subject; the claims stream is gone, and restarting an instance makes it anew"
	case codeReplicasUnsupported, codeNoPeers:
		return ": the cluster has too few servers for so many replicas; lower replicas, or add servers"
	case codeMaxBytesRequired:
		return ": the account wants every stream bounded in bytes, and a bounded store would forget or refuse; take max_bytes_required off the account"
	case jetstream.JSErrCodeStreamNotFound:
		return ": the stream is gone; restarting an instance makes it anew"
	case codeClusterUnavailable:
		return ": the cluster has no leader just now; ask again"
	case codeSealed:
		return ": the stream was sealed and can't be used any more; remove it, which forgets its runs, or name another streamPrefix"
	}
	return ""
}

// unsent reports whether the client library says that it sent nothing.
func unsent(err error) bool {
	for _, e := range []error{
		nats.ErrReconnectBufExceeded, nats.ErrConnectionClosed, nats.ErrConnectionDraining, nats.ErrMaxPayload,
		nats.ErrBadSubject, nats.ErrHeadersNotSupported, nats.ErrInvalidConnection,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
