package page

import (
	"context"
	"time"

	"mayfly/views/locale"
)

// An Arrow is another entity that messages are forwarded to or from (§11).
type Arrow struct {
	Name string // of the other entity, as shown: "archive", "prices/eu"
	Href string // its page; empty: it is not there any more
	Dead bool   // it carries dead letters
	// Stuck is why nothing moves along it now; empty: it moves.
	Stuck   Stuck
	Waiting int // messages that wait at its start
}

// Stuck is why an arrow carries nothing.
type Stuck string

// The reasons there are.
const (
	Full   Stuck = "full"     // its end has no space left
	Closed Stuck = "disabled" // its end takes no sends
	Absent Stuck = "missing"  // its end is not there any more
	Halted Stuck = "halted"   // its start gives nothing out
	Hops   Stuck = "hops"     // what stands at its start has been forwarded as often as is allowed
	Barred Stuck = "refused"  // its end refuses for another reason
)

// Flow is what is forwarded to an entity and from it. Its zero value is that
// nothing is.
type Flow struct {
	In     []Arrow // from other entities
	More   int     // that lead here and are not in In
	Out    []Arrow // where its messages go, then where its dead letters go
	Hops   int     // the most hops of one message, to be told where Out is not empty
	Topics bool    // what comes in goes on to subscriptions
}

func (f Flow) shown() bool { return len(f.In)+len(f.Out) > 0 }

// Duplicates is what duplicate detection did (§13). Its zero value is that
// there is none.
type Duplicates struct {
	Window     time.Duration // zero: there is no detection
	Dropped    int           // messages, since the entity was created
	Remembered int           // ids in the window now
	Most       int           // ids that can be remembered; zero: not told
}

// full says whether nearly as many ids are remembered as can be.
func (d Duplicates) full() bool { return d.Most > 0 && d.Remembered*5 >= d.Most*4 }

// Transfer is what an entity is sending on for others, and what came back.
type Transfer struct {
	Waiting int // on their way
	Failed  int // in the transfer dead-letter queue
}

// says is what an arrow does that ends at the entity with the given name.
func (a Arrow) says(ctx context.Context, end string) string {
	args := locale.Args{"Name": end}
	if a.Stuck == "" {
		if a.Waiting > 0 {
			return locale.N(ctx, "flow.moving.some", a.Waiting)
		}
		return locale.T(ctx, "flow.moving")
	}
	return locale.T(ctx, a.Stuck.word(), args) + " " + a.then(ctx)
}

// then is what becomes of messages that cannot move: a dead letter waits, all
// others become one (FWD-7, FWD-8).
func (a Arrow) then(ctx context.Context) string {
	switch {
	case a.Stuck == Hops:
		return ""
	case (a.Dead || a.Stuck == Halted) && a.Waiting > 0:
		return locale.N(ctx, "flow.wait", a.Waiting)
	case a.Dead || a.Stuck == Halted:
		return locale.T(ctx, "flow.wait.none")
	default:
		return locale.T(ctx, "flow.die")
	}
}

// word is the id of what a reason is called.
func (s Stuck) word() string {
	switch s {
	case Full:
		return "flow.full"
	case Closed:
		return "flow.disabled"
	case Absent:
		return "flow.missing"
	case Halted:
		return "flow.halted"
	case Hops:
		return "flow.hops"
	default:
		return "flow.refused"
	}
}
