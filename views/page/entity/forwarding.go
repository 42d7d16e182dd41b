package entity

import (
	"context"
	"time"

	"mayfly/views/locale"
)

// A ForwardingArrow is another entity that messages are forwarded to or from (§11).
type ForwardingArrow struct {
	Name string // of the other entity, as shown: "archive", "prices/eu"
	Href string // its page; empty if it does not exist any more
	Dead bool   // forwards dead letters
	// Blocked is why nothing is forwarded now; empty if nothing is in the way.
	Blocked ForwardingBlock
	Waiting int // messages waiting at the source
}

// ForwardingBlock is why nothing is forwarded.
type ForwardingBlock string

// The reasons.
const (
	BlockTargetFull     ForwardingBlock = "full"     // the target has no space left
	BlockTargetDisabled ForwardingBlock = "disabled" // the target refuses sends
	BlockTargetMissing  ForwardingBlock = "missing"  // the target does not exist any more
	BlockSourceDisabled ForwardingBlock = "halted"   // the source does not allow receives
	BlockHopLimit       ForwardingBlock = "hops"     // the messages at the source have been forwarded as often as allowed
	BlockRefused        ForwardingBlock = "refused"  // the target refuses for another reason
)

// Forwarding is the forwarding to and from an entity. The zero value means none.
type Forwarding struct {
	In     []ForwardingArrow // from other entities
	More   int               // sources that are not in In
	Out    []ForwardingArrow // the target of its messages, then that of its dead letters
	Hops   int               // the most hops of a message, shown if Out is not empty
	Topics bool              // incoming messages go on to subscriptions
}

func (f Forwarding) shown() bool { return len(f.In)+len(f.Out) > 0 }

// Duplicates are the counts of duplicate detection (§13). The zero value means that it is off.
type Duplicates struct {
	Window     time.Duration // zero means no duplicate detection
	Dropped    int           // messages, since the entity was created
	Remembered int           // ids in the window
	Most       int           // most ids that can be kept; zero if not shown
}

// full reports whether the number of remembered ids is at least 80 % of its limit.
func (d Duplicates) full() bool { return d.Most > 0 && d.Remembered*5 >= d.Most*4 }

// Transfer counts messages that an entity is forwarding, and failed transfers.
type Transfer struct {
	Waiting int // on their way
	Failed  int // in the transfer dead-letter subqueue
}

// says returns the state of the arrow as a sentence or two. `end` is the name of the arrow's target.
func (a ForwardingArrow) says(ctx context.Context, end string) string {
	args := locale.Args{"Name": end}
	if a.Blocked == "" {
		if a.Waiting > 0 {
			return locale.N(ctx, "flow.moving.some", a.Waiting)
		}
		return locale.T(ctx, "flow.moving")
	}
	return locale.T(ctx, a.Blocked.word(), args) + " " + a.then(ctx)
}

// then returns what happens to messages that cannot be forwarded: dead letters wait, all
// others are dead-lettered (FWD-7, FWD-8).
func (a ForwardingArrow) then(ctx context.Context) string {
	switch {
	case a.Blocked == BlockHopLimit:
		return ""
	case (a.Dead || a.Blocked == BlockSourceDisabled) && a.Waiting > 0:
		return locale.N(ctx, "flow.wait", a.Waiting)
	case a.Dead || a.Blocked == BlockSourceDisabled:
		return locale.T(ctx, "flow.wait.none")
	default:
		return locale.T(ctx, "flow.die")
	}
}

// word returns the text id of a reason.
func (s ForwardingBlock) word() string {
	switch s {
	case BlockTargetFull:
		return "flow.full"
	case BlockTargetDisabled:
		return "flow.disabled"
	case BlockTargetMissing:
		return "flow.missing"
	case BlockSourceDisabled:
		return "flow.halted"
	case BlockHopLimit:
		return "flow.hops"
	default:
		return "flow.refused"
	}
}
