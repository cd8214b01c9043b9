package wire

import (
	"errors"

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
// [store.InvalidError] if a field was named. scrub is applied to all its text.
func ToError(p *pb.Error, scrub func(string) string) error {
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
