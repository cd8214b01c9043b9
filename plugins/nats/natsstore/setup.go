package natsstore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/anarchon-go/anarchon/core/store"
)

// setUpTimeout bounds the making and the checking of the streams: a cluster may
// have to elect leaders first.
const setUpTimeout = 15 * time.Second

// setUp makes the streams that are missing, checks those that are there, and
// tries everything that the verbs will do.
func (b *Backend) setUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, setUpTimeout)
	defer cancel()
	for {
		err := b.trySetUp(ctx)
		if !hasCode(err, codeClusterUnavailable) || ctx.Err() != nil {
			return err
		}
		pause(ctx, 4)
	}
}

func (b *Backend) trySetUp(ctx context.Context) error {
	s := &b.settings
	claims, history := s.claimsConfig(time.Now()), s.historyConfig()
	// Nothing is made before what is there was looked at.
	haveClaims, err := b.lookUp(ctx, claims)
	if err != nil {
		return err
	}
	haveHistory, err := b.lookUp(ctx, history)
	if err != nil {
		return err
	}
	for _, stream := range []struct {
		have **jetstream.StreamInfo
		want *jetstream.StreamConfig
	}{{&haveClaims, claims}, {&haveHistory, history}} {
		if *stream.have == nil {
			if *stream.have, err = b.makeStream(ctx, stream.want); err != nil {
				return err
			}
		}
	}
	b.claims, b.history = &haveClaims.Config, &haveHistory.Config
	if b.tokenBase, err = tokenBase(b.claims); err != nil {
		return err
	}
	return b.probe(ctx)
}

func tokenBase(claims *jetstream.StreamConfig) (int64, error) {
	text := claims.Metadata[metaTokenBase]
	base, err := strconv.ParseInt(text, 10, 64)
	if err != nil || base < 1 || base > 1<<53 {
		return 0, notApplied("stream %s records %.40q as %s; it must be a time in Unix milliseconds: its metadata was changed by hand", claims.Name, text, metaTokenBase)
	}
	return base, nil
}

// lookUp returns a stream that is there and as it must be; nil if there is none.
func (b *Backend) lookUp(ctx context.Context, want *jetstream.StreamConfig) (*jetstream.StreamInfo, error) {
	info, err := b.api.info(ctx, want.Name)
	switch {
	case hasCode(err, jetstream.JSErrCodeStreamNotFound):
		return nil, nil
	case err != nil:
		return nil, startError("look for stream "+want.Name, err)
	}
	return info, checkStream(&info.Config, want)
}

// makeStream makes a stream, unless another instance was faster.
func (b *Backend) makeStream(ctx context.Context, want *jetstream.StreamConfig) (*jetstream.StreamInfo, error) {
	info, err := b.api.create(ctx, want)
	switch {
	case hasCode(err, jetstream.JSErrCodeStreamNameInUse):
		info, err = b.lookUp(ctx, want)
		if info == nil && err == nil {
			err = notApplied("stream %s appeared and vanished while this instance started", want.Name)
		}
		return info, err
	case hasCode(err, codeSubjectOverlap):
		return nil, notApplied("make stream %s: the subjects %s belong to %s already; give another subjectPrefix, or remove what holds them", want.Name, want.Subjects, b.overlapping(ctx, want.Subjects[0]))
	case err != nil:
		return nil, startError("make stream "+want.Name, err)
	case info.Config.Metadata[metaFormat] == "":
		return nil, notApplied("the server keeps no metadata of streams, where the store's format is recorded; it must be NATS %s or newer", oldestServer)
	}
	// A default of the account may have changed what we asked for.
	return info, checkStream(&info.Config, want)
}

// overlapping names the streams in the way, as far as we are told.
func (b *Backend) overlapping(ctx context.Context, subject string) string {
	names, err := b.api.holders(ctx, subject)
	if err != nil || len(names) == 0 {
		return "another stream"
	}
	return "stream " + strings.Join(names, " and ")
}

// probe does what the verbs will do, in a way that changes nothing, so that a
// permission which is missing is named at the start and not when a run is due.
func (b *Backend) probe(ctx context.Context) error {
	subject := b.settings.layout.probe()
	// No stream gets so far, so this is refused, by the stream and after all else.
	impossible := conditional(subject, math.MaxInt64, b.claims.Name, []byte("{}"))
	switch p := parseAck(b.link.ask(ctx, impossible)); {
	case p.err != nil:
		return startError("try a claim", p.err)
	case p.refusal == nil:
		return notApplied("try a claim: stream %s took a message that expected the sequence %d; what answers on %q is no JetStream of version %s or newer", b.claims.Name, math.MaxInt64, subject, oldestServer)
	case fateOf(p.refusal) != fateTaken && fateOf(p.refusal) != fateInFlight:
		return startError("try a claim", p.refusal)
	}
	for _, stream := range []string{b.claims.Name, b.history.Name} {
		if _, err := b.api.slots(ctx, stream, subject); err != nil {
			return startError("try to look into stream "+stream, err)
		}
		if f := b.api.last(ctx, []find{{stream, subject}})[0]; f.err != nil {
			return startError("try to read stream "+stream, f.err)
		}
	}
	return startError("try to trim stream "+b.history.Name, b.api.trim(ctx, b.history.Name, subject, 1))
}

// conditional is a publish that is stored only if the last message on its subject
// has that sequence, 0 for none.
func conditional(subject string, last uint64, stream string, data []byte) request {
	return request{subject: subject, data: data, header: nats.Header{
		jetstream.ExpectedLastSubjSeqHeader: {strconv.FormatUint(last, 10)},
		jetstream.ExpectedStreamHeader:      {stream},
	}}
}

// startError is an error that ends the start.
func startError(doing string, err error) error {
	var e *jetstream.APIError
	switch {
	case err == nil || errors.Is(err, store.ErrInvalid) || errors.Is(err, store.ErrNotApplied):
		return err
	case errors.As(err, &e):
		return notApplied("%s: %w%s", doing, e, remedy(e))
	}
	// The streams are made by whoever comes next.
	return notApplied("%s: %w", doing, bare(err))
}

// oldestServer is the first that takes the condition off when it copies a message
// into the history; before, the copy would be refused.
const oldestServer = "2.10.16"

// checkServer refuses servers that can't do, and warns of one that forgets.
func checkServer(version string) (warning string, err error) {
	v, ok := parseVersion(version)
	switch {
	case !ok:
		return fmt.Sprintf("the server's version %.40q can't be read; it must be %s or newer", version, oldestServer), nil
	case v.less(serverVersion{2, 10, 16}):
		return "", notApplied("the server is NATS %s; it must be %s or newer: upgrade it", version, oldestServer)
	case v.less(serverVersion{2, 10, 23}):
		return fmt.Sprintf("NATS %s may lose acknowledged messages when its process is killed; upgrade it to 2.10.23 or newer", version), nil
	}
	return "", nil
}

type serverVersion struct{ major, minor, patch int }

func parseVersion(s string) (v serverVersion, ok bool) {
	n, _ := fmt.Sscanf(strings.TrimPrefix(s, "v"), "%d.%d.%d", &v.major, &v.minor, &v.patch)
	return v, n == 3
}

func (v serverVersion) less(w serverVersion) bool {
	if v.major != w.major {
		return v.major < w.major
	}
	if v.minor != w.minor {
		return v.minor < w.minor
	}
	return v.patch < w.patch
}
