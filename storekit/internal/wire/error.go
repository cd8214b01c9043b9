package wire

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/anarchon-go/anarchon/core/store"
	pb "github.com/anarchon-go/anarchon/storekit/internal/storev1"
)

// Error encodes an error with its class. An error of no class, or of several that
// contradict each other, is unknown: the safe reading.
func Error(err error) *pb.Error {
	p := &pb.Error{Class: classOf(err), Message: text(err.Error())}
	if invalid, ok := errors.AsType[*store.InvalidError](err); ok && p.Class == pb.ErrorClass_ERROR_CLASS_INVALID {
		p.Field, p.Value, p.Rule = text(invalid.Field), text(invalid.Value), text(invalid.Rule)
	}
	return p
}

func classOf(err error) pb.ErrorClass {
	switch {
	case errors.Is(err, store.ErrUnknown), errors.Is(err, store.ErrInvalid) && errors.Is(err, store.ErrNotApplied):
		return pb.ErrorClass_ERROR_CLASS_UNKNOWN
	case errors.Is(err, store.ErrUnsupported):
		return pb.ErrorClass_ERROR_CLASS_UNSUPPORTED
	case errors.Is(err, store.ErrStoreFormat):
		return pb.ErrorClass_ERROR_CLASS_STORE_FORMAT
	case errors.Is(err, store.ErrInvalid):
		return pb.ErrorClass_ERROR_CLASS_INVALID
	case errors.Is(err, store.ErrNotApplied):
		return pb.ErrorClass_ERROR_CLASS_NOT_APPLIED
	}
	return pb.ErrorClass_ERROR_CLASS_UNKNOWN
}

// remoteError is an error that came over the wire: the peer's words, this side's
// class.
type remoteError struct {
	message string
	class   error
}

func (e *remoteError) Error() string { return e.message }
func (e *remoteError) Unwrap() error { return e.class }

// ToError decodes an error. errors.Is finds its class again, and errors.As the
// [store.InvalidError] if a field was named. scrub is applied to all its text, and
// what is too long for a message is cut.
func ToError(p *pb.Error, scrubbed func(string) string) error {
	scrub := func(s string) string { return CutMessage(scrubbed(s)) }
	if p.GetClass() == pb.ErrorClass_ERROR_CLASS_INVALID && p.GetField() != "" {
		invalid := &store.InvalidError{Field: scrub(p.GetField()), Value: scrub(p.GetValue()), Rule: scrub(p.GetRule())}
		if message := scrub(p.GetMessage()); message != invalid.Error() && message != "" {
			return &remoteError{message, invalid} // the backend said more than the field
		}
		return invalid
	}
	e := &remoteError{message: scrub(p.GetMessage()), class: store.ErrUnknown}
	switch p.GetClass() {
	case pb.ErrorClass_ERROR_CLASS_INVALID:
		e.class = store.ErrInvalid
	case pb.ErrorClass_ERROR_CLASS_NOT_APPLIED:
		e.class = store.ErrNotApplied
	case pb.ErrorClass_ERROR_CLASS_UNSUPPORTED:
		e.class = store.ErrUnsupported
	case pb.ErrorClass_ERROR_CLASS_STORE_FORMAT:
		e.class = store.ErrStoreFormat
	}
	if e.message == "" {
		e.message = e.class.Error()
	}
	return e
}

// maxMessage bounds the text of an error, in bytes: it goes into logs, events and
// the memory of whoever keeps the error.
const maxMessage = 8 << 10

// CutMessage shortens a peer's text for an error, at a character boundary.
func CutMessage(s string) string {
	if len(s) <= maxMessage {
		return s
	}
	cut := maxMessage
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return fmt.Sprintf("%s… (%d bytes)", s[:cut], len(s))
}
