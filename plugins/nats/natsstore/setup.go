package natsstore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
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

// home is the pair of streams as they were when last looked at.
type home struct {
	claims, history *jetstream.StreamConfig
	era             era
}

// setUp makes the streams that are missing, checks those that are there, and
// tries everything that the verbs will do. It waits for a cluster to elect a
// leader.
func (b *Backend) setUp(ctx context.Context) (*home, error) {
	ctx, cancel := context.WithTimeout(ctx, setUpTimeout)
	defer cancel()
	for {
		h, err := b.trySetUp(ctx)
		waits := hasCode(err, codeClusterUnavailable)
		if err == nil {
			err = b.probe(ctx, h)
			// The stream is there: its leader is being elected, or the server that we are
			// connected to has not heard of it yet.
			waits = hasCode(err, codeClusterUnavailable) || errors.Is(err, nats.ErrNoResponders)
		}
		if waits {
			pause(ctx, 4)
		}
		if !waits || ctx.Err() != nil {
			return h, err
		}
	}
}

// trySetUp makes nothing before it has looked at what is there.
func (b *Backend) trySetUp(ctx context.Context) (*home, error) {
	s := &b.settings
	claims, err := b.lookUp(ctx, s.layout.claims)
	if err != nil {
		return nil, err
	}
	history, err := b.lookUp(ctx, s.layout.history)
	if err != nil {
		return nil, err
	}
	if claims == nil && history != nil { // maybe another instance is making them
		if claims, err = b.lookUp(ctx, s.layout.claims); err != nil {
			return nil, err
		}
	}
	switch {
	case claims == nil && history != nil:
		// The server would go on copying where it stopped in the stream before, and
		// leave out the first messages of a new one.
		return nil, notApplied("stream %s is gone, and %s, which is filled from it, is there; remove that too (the history is lost with it), or restore the other", s.layout.claims, s.layout.history)
	case claims == nil:
		if claims, err = b.makeStream(ctx, s.claimsConfig(era(time.Now().UnixMicro()))); err != nil {
			return nil, err
		}
	}
	if history == nil {
		if history, err = b.makeStream(ctx, s.historyConfig()); err != nil {
			return nil, err
		}
	}
	e, _ := s.layout.ofAll(claims.Subjects[0])
	return &home{claims, history, e}, nil
}

// lookUp returns a stream that is there and as it must be; nil if there is none.
func (b *Backend) lookUp(ctx context.Context, name string) (*jetstream.StreamConfig, error) {
	info, err := b.api.info(ctx, name)
	switch {
	case hasCode(err, jetstream.JSErrCodeStreamNotFound):
		return nil, nil
	case err != nil:
		return nil, startError("look for stream "+name, err)
	}
	return &info.Config, b.settings.check(&info.Config)
}

// check compares one of the two streams with what we would make.
func (s *settings) check(have *jetstream.StreamConfig) error {
	if have.Name == s.layout.history {
		return checkStream(have, s.historyConfig())
	}
	var e era // its own, if it has one; else one that is none
	if len(have.Subjects) == 1 {
		e, _ = s.layout.ofAll(have.Subjects[0])
	}
	return checkStream(have, s.claimsConfig(e))
}

// makeStream makes a stream, unless another instance was faster.
func (b *Backend) makeStream(ctx context.Context, want *jetstream.StreamConfig) (*jetstream.StreamConfig, error) {
	if err := b.refuseNeighbours(ctx, want); err != nil {
		return nil, err
	}
	info, err := b.api.create(ctx, want)
	switch {
	case hasCode(err, jetstream.JSErrCodeStreamNameInUse):
		have, err := b.lookUp(ctx, want.Name)
		if have == nil && err == nil {
			err = notApplied("stream %s appeared and vanished while this instance started", want.Name)
		}
		return have, err
	case err != nil:
		return nil, startError("make stream "+want.Name, err)
	case info.Config.Metadata[metaFormat] == "":
		return nil, notApplied("the server keeps no metadata of streams, where the store's format is recorded; it must be NATS %s or newer", oldestServer)
	}
	// A default of the account may have changed what we asked for.
	return &info.Config, b.settings.check(&info.Config)
}

// refuseNeighbours looks for streams that take subjects of our namespace. Another
// program's would get our claims; one of our own with another streamPrefix means
// that instances are not configured alike, and each would have a memory of its
// own.
func (b *Backend) refuseNeighbours(ctx context.Context, want *jetstream.StreamConfig) error {
	if len(want.Subjects) == 0 {
		return nil
	}
	names, err := b.api.holders(ctx, b.settings.layout.everything())
	if err != nil {
		return startError("look for streams with the same subjects", err)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == want.Name })
	if len(names) > 0 {
		return notApplied("make stream %s: stream %s takes the subjects %s already; if instances give different streamPrefixes, let them give one, else give another subjectPrefix", want.Name, strings.Join(names, " and "), b.settings.layout.everything())
	}
	return nil
}

// probe does what the verbs will do, in a way that changes nothing, so that a
// permission which is missing is named at the start and not when a run is due.
func (b *Backend) probe(ctx context.Context, h *home) error {
	subject := b.settings.layout.probe(h.era)
	// No stream gets so far, so this is refused, by the stream and after all else.
	impossible := conditional(subject, math.MaxInt64, h.claims.Name, []byte("{}"))
	switch p := parseAck(b.link.ask(ctx, impossible)); {
	case p.err != nil:
		return startError("try a claim", p.err)
	case p.refusal == nil:
		return notApplied("try a claim: stream %s took a message that expected the sequence %d; what answers on %q is no JetStream of version %s or newer", h.claims.Name, math.MaxInt64, subject, oldestServer)
	case fateOf(p.refusal) != fateTaken && fateOf(p.refusal) != fateInFlight:
		return startError("try a claim", p.refusal)
	}
	for _, stream := range []string{h.claims.Name, h.history.Name} {
		if _, err := b.api.slots(ctx, stream, subject); err != nil {
			return startError("try to look into stream "+stream, err)
		}
		if f := b.api.last(ctx, []find{{stream, subject}})[0]; f.err != nil {
			return startError("try to read stream "+stream, f.err)
		}
	}
	return startError("try to trim stream "+h.history.Name, b.api.trim(ctx, h.history.Name, subject, 1))
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
