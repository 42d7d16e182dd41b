package page

import (
	"cmp"
	"context"
	"strings"
	"time"

	"mayfly/views/component"
	"mayfly/views/locale"
)

// A State is the state of a message.
type State string

// The states that the dashboard distinguishes.
const (
	StateActive     State = "active"
	StateLocked     State = "locked"
	StateScheduled  State = "scheduled"
	StateDeferred   State = "deferred"
	StateDeadLetter State = "dead-letter"

	// StateTransferDeadLetter is not the state of a row: it stands for the transfer dead-letter subqueue
	// in a purge.
	StateTransferDeadLetter State = "transfer-dead-letter"
)

// A StateLook is how a state is shown, with text ids for one message in it and for all.
type StateLook struct {
	Icon, Name, All string
	Tone            component.Tone
}

func (s State) Look() StateLook {
	switch s {
	case StateLocked:
		return StateLook{"locked", "state.locked", "state.locked.all", component.Lock}
	case StateScheduled:
		return StateLook{"scheduled", "state.scheduled", "state.scheduled.all", component.Plenty}
	case StateDeferred:
		return StateLook{"deferred", "state.deferred", "state.deferred.all", component.Low}
	case StateDeadLetter:
		return StateLook{"dead", "state.dead", "state.dead.all", component.Dead}
	case StateTransferDeadLetter:
		return StateLook{"dead", "entity.tab.transfer", "entity.tab.transfer", component.Dead}
	default:
		return StateLook{"active", "state.active", "state.active.all", component.Plenty}
	}
}

// A Reason is a dead-letter reason, and how many dead letters have it.
type Reason struct {
	Reason      string // empty if none was given
	Description string // of the latest dead letter
	N           int
	First, Last time.Time
	Now         time.Time
	Href        string // address of the list with only these dead letters
	Sample      string // address of the latest; empty means none
	In          string // entities that hold them; empty if the page is of one entity

	Resubmit, Delete, Export string // addresses of actions on all of them; empty if not possible
}

// Args returns the arguments for texts about the dead letters of a reason.
func (r Reason) Args(ctx context.Context) locale.Args {
	return locale.Args{"Reason": cmp.Or(component.ShowInvisible(r.Reason), locale.T(ctx, "reason.none")), "Count": locale.Number(ctx, r.N)}
}

// Named reports whether `asked`, from a query string, names r's reason, ignoring case. "-" stands
// for an empty reason.
func (r Reason) Named(asked string) bool {
	return asked != "" && strings.EqualFold(cmp.Or(r.Reason, "-"), asked)
}
