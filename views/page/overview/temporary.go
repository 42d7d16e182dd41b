package overview

import (
	"context"
	"time"

	"github.com/a-h/templ"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/view"
)

// Temporary is the page of entities with automatic deletion, and of entities that were deleted.
type Temporary struct {
	Shell    layout.Shell
	Lede     []component.Text
	MinIdle  time.Duration     // the shortest idle time allowed
	Entities []TemporaryEntity // soonest first; held and pinned ones last
	Deleted  []component.DeletedEntity
	Kept     time.Duration // how long events are kept; zero means since the start
}

// A TemporaryEntity is an entity with an idle time.
type TemporaryEntity struct {
	Key      string
	Name     string
	Href     string // the entity's page; its actions are below it
	Kind     string // as shown: "queue", "subscription"
	Messages int    // messages deleted with it

	State component.IdleState
	Clock component.Clock // Of is the idle time; an IdleHeld or IdlePinned one has no end

	// Reset is when the clock was last reset, and By the activity that reset it, as shown: "receive
	// by web-1". A zero Reset means that the clock was not reset since the server's start.
	Reset time.Time
	By    string

	// Why explains why the entity is not deleted, or states the idle time that it had before it was
	// pinned. Empty means that there is no explanation.
	Why []component.Text

	Uses             []component.Use // oldest first
	UsesCompleteFrom time.Time       // before this only activities that moved messages are recorded; zero means that all are
}

// Full returns the whole page.
func (m Temporary) Full() templ.Component { return temporary(m) }

// Watches returns nil, because an activity of any entity can reset an idle clock.
func (m Temporary) Watches() []string { return nil }

// Parts returns the live parts of the page.
func (m Temporary) Parts() []view.Part {
	return append(m.Shell.Parts(),
		page.Slot("lede", component.Lede(m.Lede)),
		page.List("sitters", m.Entities, func(s TemporaryEntity) view.Row {
			return view.Row{Key: s.Key, Content: TemporaryCard(s)}
		}),
		page.Slot("graves-note", deletedNote(m)),
		page.List("graves", m.Deleted, func(g component.DeletedEntity) view.Row {
			return view.Row{Key: g.Key, Content: component.DeletedEntityRow(g)}
		}),
	)
}

// PinAttributes returns the attributes by which the script offers to pin s shortly before it is
// deleted, or nil if its idle clock is not running.
func (s TemporaryEntity) PinAttributes(ctx context.Context) templ.Attributes {
	if s.State != component.IdleRunning || s.Clock.At.IsZero() {
		return nil
	}
	a := templ.Attributes{"data-pin": s.Href + "/pin", "data-who": s.Name}
	if s.Messages > 0 {
		a["data-goes"] = locale.N(ctx, "temporary.goes", s.Messages)
	}
	return a
}

// newTemporary returns a link to the form for a queue with automatic deletion.
func newTemporary(ctx context.Context, s layout.Shell) component.Link {
	return component.Link{
		Href: s.Home + "/queues/new?temporary=1", Icon: "plus",
		Label: locale.T(ctx, "temporary.new"),
	}
}
