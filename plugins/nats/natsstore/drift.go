package natsstore

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/anarchon-go/anarchon/core/store"
)

// checkStream compares a stream that is there with what this plugin would make.
// It must be ours, of a format that we know, and keep at least what we want kept;
// more of it (a longer age, more replicas) is welcome.
func checkStream(have, want *jetstream.StreamConfig) error {
	if err := checkOwner(have, want); err != nil {
		return err
	}
	if drift := drifts(have, want); len(drift) > 0 {
		return notApplied("stream %s is not as this plugin needs it: %s. It is not changed by itself, since a change may forget slots: put it right with \"nats stream edit %s\", or give another streamPrefix and subjectPrefix",
			have.Name, strings.Join(drift, "; "), have.Name)
	}
	return nil
}

func checkOwner(have, want *jetstream.StreamConfig) error {
	text, ours := have.Metadata[metaFormat]
	if !ours {
		return notApplied("stream %s was made by another program (it has no metadata %s); it is not touched: name another streamPrefix, or remove it if nobody needs it", have.Name, metaFormat)
	}
	switch format, err := strconv.Atoi(text); {
	case err != nil || format < 1:
		return notApplied("stream %s records the format %.40q; it must be a number from 1: its metadata was changed by hand", have.Name, text)
	case format > Format:
		return fmt.Errorf("%w: stream %s has format %d, plugin nats %s knows 1 to %d; upgrade this instance", store.ErrStoreFormat, have.Name, format, Version, Format)
	}
	for _, key := range []string{metaRole, metaNamespace} {
		if have.Metadata[key] != want.Metadata[key] {
			return notApplied("stream %s belongs to something else: its metadata %s is %.100q, and here it would be %.100q; name another streamPrefix", have.Name, key, have.Metadata[key], want.Metadata[key])
		}
	}
	return nil
}

// drifts says in what a stream falls short of what is wanted.
func drifts(have, want *jetstream.StreamConfig) []string {
	var all []string
	differ := func(wrong bool, name string, is, must any) {
		if wrong {
			all = append(all, fmt.Sprintf("%s is %v and must be %v", name, is, must))
		}
	}
	differ(!slices.Equal(have.Subjects, want.Subjects), "subjects", have.Subjects, want.Subjects)
	differ(have.Retention != want.Retention, "retention", have.Retention, want.Retention)
	differ(have.Discard != want.Discard, "discard", have.Discard, want.Discard)
	differ(have.MaxMsgs > 0, "max_msgs", have.MaxMsgs, noLimit)
	differ(have.MaxBytes > 0, "max_bytes", have.MaxBytes, noLimit)
	differ(have.MaxMsgSize > 0 && have.MaxMsgSize < minMessageSize, "max_msg_size", have.MaxMsgSize, fmt.Sprintf("%d, or %d or more", noLimit, minMessageSize))
	perSubject := max(have.MaxMsgsPerSubject, noLimit)
	if perSubject == 0 {
		perSubject = noLimit
	}
	differ(perSubject != want.MaxMsgsPerSubject, "max_msgs_per_subject", have.MaxMsgsPerSubject, want.MaxMsgsPerSubject)
	differ(have.MaxAge > 0 && (want.MaxAge == 0 || have.MaxAge < want.MaxAge), "max_age", have.MaxAge, ageWanted(want))
	differ(have.Storage != want.Storage && have.Storage != jetstream.FileStorage, "storage", have.Storage, want.Storage)
	differ(have.Replicas < want.Replicas, "num_replicas", have.Replicas, fmt.Sprintf("%d or more, as the option replicas says", want.Replicas))
	differ(have.FirstSeq > 1, "first_seq", have.FirstSeq, 0)
	differ(have.NoAck, "no_ack", true, false)
	differ(have.Sealed, "sealed", true, false)
	differ(have.DiscardNewPerSubject, "discard_new_per_subject", true, false)
	differ(have.DenyDelete != want.DenyDelete, "deny_delete", have.DenyDelete, want.DenyDelete)
	differ(have.DenyPurge != want.DenyPurge, "deny_purge", have.DenyPurge, want.DenyPurge)
	differ(have.AllowRollup, "allow_rollup_hdrs", true, false)
	differ(have.AllowMsgTTL, "allow_msg_ttl", true, false)
	differ(have.AllowMsgCounter, "allow_msg_counter", true, false)
	differ(have.AllowMsgSchedules, "allow_msg_schedules", true, false)
	differ(have.PersistMode == jetstream.AsyncPersistMode, "persist_mode", "async", "default")
	differ(have.SubjectTransform != nil, "subject_transform", "set", "absent")
	differ(have.Mirror != nil, "mirror", "set", "absent")
	differ(!sameSources(have.Sources, want.Sources), "sources", sourceNames(have.Sources), sourceNames(want.Sources))
	return all
}

func ageWanted(want *jetstream.StreamConfig) string {
	if want.MaxAge == 0 {
		return "0, which is no limit"
	}
	return fmt.Sprintf("%v or more (duplicateWindow and a margin; after you make it longer, wait that long before instances that rely on it start, since what is older was forgotten)", want.MaxAge)
}

// sameSources compares what the history is filled from: one stream, all of it.
func sameSources(have, want []*jetstream.StreamSource) bool {
	return slices.EqualFunc(have, want, func(h, w *jetstream.StreamSource) bool {
		return h.Name == w.Name && h.FilterSubject == "" && len(h.SubjectTransforms) == 0 && h.External == nil &&
			h.OptStartSeq == 0 && h.OptStartTime == nil
	})
}

func sourceNames(sources []*jetstream.StreamSource) []string {
	names := []string{}
	for _, s := range sources {
		names = append(names, s.Name)
	}
	return names
}
