package engine

import (
	"errors"
	"fmt"
)

// ErrNoAccessRule says which kind of ErrNotFound it is: the entity or namespace is
// there, and has no access rule by that name.
var ErrNoAccessRule = fmt.Errorf("%w: there is no such access rule", ErrNotFound)

// What can go wrong, by the names of semantics §16. A door turns each into its
// own status in one place; texts for people come from [Refusal].
var (
	ErrNotFound        = errors.New("the messaging entity could not be found")
	ErrExists          = errors.New("the messaging entity already exists")
	ErrDisabled        = errors.New("the messaging entity is disabled")
	ErrLockLost        = errors.New("the lock supplied is invalid")
	ErrMessageNotFound = errors.New("the message could not be found")
	ErrTooLarge        = errors.New("the message is too large")
	ErrQuota           = errors.New("a quota has been exceeded")
	ErrBusy            = errors.New("the server is busy")
	ErrNotAllowed      = errors.New("the operation is not allowed")
	ErrArgument        = errors.New("an argument is wrong")
	ErrOutOfRange      = errors.New("an argument is out of range")
	ErrNotImplemented  = errors.New("the operation is not implemented")
	ErrClosed          = errors.New("the broker is closed")
	ErrSessionLockLost = errors.New("the session lock was lost")
	ErrSessionLocked   = errors.New("the session cannot be locked")
	ErrTimeout         = errors.New("the operation did not complete in time")
	ErrTransaction     = errors.New("the transaction is over")
	// ErrRolledBack says that a transaction came to nothing because one of its
	// operations failed; it is that one's error too, whatever that is by itself,
	// and an ErrTransaction: the transaction is over.
	ErrRolledBack = fmt.Errorf("%w: it was rolled back", ErrTransaction)
	// ErrDuplicate says that an operator's message would be dropped where it goes,
	// as a duplicate. It is an ErrNotAllowed too.
	ErrDuplicate = fmt.Errorf("%w: it is a duplicate", ErrNotAllowed)
	// ErrChanged says that what the caller saw is no longer so: the number it
	// agreed to has grown by more than a tenth, or a state is another. Nothing was
	// changed.
	ErrChanged = errors.New("it has changed since it was seen")
)

// A Refusal is an error with the sentence its reader needs. Kind is one of the
// Err… values; SubCode is the code of ERR-3, zero where there is none: that of
// the kind, unless a closer one is known.
type Refusal struct {
	Kind    error
	SubCode int
	Text    string
}

func (r *Refusal) Error() string { return r.Text }

func (r *Refusal) Unwrap() error { return r.Kind }

func refuse(kind error, format string, args ...any) error {
	return &Refusal{Kind: kind, SubCode: subCode(kind), Text: fmt.Sprintf(format, args...)}
}

func refuseCode(kind error, code int, format string, args ...any) error {
	return &Refusal{Kind: kind, SubCode: code, Text: fmt.Sprintf(format, args...)}
}

// subCode is the code of ERR-3 that a kind of error has by itself.
func subCode(kind error) int {
	for _, known := range [...]struct {
		kind error
		code int
	}{
		{ErrArgument, 40000}, {ErrOutOfRange, 40000}, {ErrQuota, 40300}, {ErrTooLarge, 40300}, {ErrNotAllowed, 40301},
		{ErrNotFound, 40400}, {ErrExists, 40900}, {ErrBusy, 50004},
	} {
		if errors.Is(kind, known.kind) {
			return known.code
		}
	}
	return 0
}

// A PropertyError says which property of a description was refused and why, so
// that a form can show the reason beside the field. It unwraps to Kind,
// ErrArgument or ErrOutOfRange.
type PropertyError struct {
	Property string // Service Bus' name of the property
	Value    string // as it was given
	Kind     error
	SubCode  int // of ERR-3; zero: 40000
	Text     string
}

func (e *PropertyError) Error() string { return e.Text }

func (e *PropertyError) Unwrap() error { return e.Kind }

// LockLostText is what a client is told when it settles or renews with a token
// that is no longer good (LOCK-6).
const LockLostText = "The lock supplied is invalid. Either the lock expired, or the message has already been removed from the queue, or was received by a different receiver instance."

// NotLockedText is what a client is told when a message asked for by number is
// not there to be had (DEF-7).
const NotLockedText = "Failed to lock one or more specified messages. Either the message is already locked or does not exist."

func lockLost() error { return refuse(ErrLockLost, "%s", LockLostText) }

func notFound(p Path) error {
	return refuseCode(ErrNotFound, 40400, "The messaging entity '%s' could not be found.", p)
}
