package scene

import "fmt"

// A Finding is whether something is so that a step has said will be.
type Finding struct {
	Text string
	OK   bool
	Is   Instead // what is so instead; zero: it is OK
}

// Instead is what is so instead of what a step has said, for whoever puts it into
// words. The zero Instead is nothing.
type Instead struct {
	What InsteadKind
	Of   string // the entity; of HasProperty, the property
	Is   string // where or how it is; of HasCount, what is counted: active, locked, deferred, scheduled or dead
	N    int64  // how many there are
	Want int64  // how many there were to be
}

// An InsteadKind is what an Instead is about.
type InsteadKind uint8

// What can be so instead.
const (
	IsIn        InsteadKind = iota + 1 // the message is in Is
	IsGone                             // the message is
	IsUnread                           // the message cannot be read: Is
	IsThere                            // the entity Of is
	IsMissing                          // the entity Of is
	HasCount                           // the entity Of has N of the kind Is, not Want
	HasState                           // the message is active, deferred, scheduled or locked
	HasReason                          // it is dead because of Is
	HasFailed                          // it has, N times
	HasBody                            // its body is Is
	HasProperty                        // its property Of is Is
)

// String is a sentence; of the zero Instead, nothing.
func (i Instead) String() string {
	switch i.What {
	case 0:
		return ""
	case IsIn:
		return fmt.Sprintf("It is in %s.", i.Is)
	case IsGone:
		return "It is gone."
	case IsUnread:
		return i.Is
	case IsThere:
		return fmt.Sprintf("%s is there.", i.Of)
	case IsMissing:
		return fmt.Sprintf("There is no %s.", i.Of)
	case HasCount:
		return fmt.Sprintf("%s has %d %s, not %d.", i.Of, i.N, i.Is, i.Want)
	case HasState:
		return fmt.Sprintf("It is %s.", i.Is)
	case HasReason:
		return fmt.Sprintf("Its reason is %q.", i.Is)
	case HasFailed:
		return fmt.Sprintf("It has failed %d times.", i.N)
	case HasBody:
		return fmt.Sprintf("Its body is %q.", i.Is)
	case HasProperty:
		return fmt.Sprintf("Its property %s is %q.", i.Of, i.Is)
	default:
		panic(fmt.Sprintf("unknown kind of finding %d", i.What))
	}
}
