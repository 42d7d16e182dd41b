package page

import (
	"context"
	"time"

	"github.com/a-h/templ"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/views/view"
)

// Temporary is the wall of what deletes itself, and of what has.
type Temporary struct {
	Shell   layout.Shell
	Lede    []component.Text
	Least   time.Duration // the shortest idle time that is allowed
	Sitters []Sitter      // soonest first; held and pinned ones last
	Graves  []component.Grave
	Kept    time.Duration // how long what happened is remembered; zero: since the start
}

// A Sitter is an entity with a time to idle.
type Sitter struct {
	Key      string
	Name     string
	Href     string // the entity's page; its actions lie below it
	Kind     string // as shown: "queue", "subscription"
	Messages int    // what goes with it

	State component.GlassState
	Clock component.Clock // Of is the idle time; a Held or Pinned one has no end

	// Reset is when the clock was last put back and By what did it, as shown:
	// "receive by web-1". A zero Reset is that nothing has since the start.
	Reset time.Time
	By    string

	// Why says what holds it, or who pinned it and what it was before. Empty:
	// nothing to say.
	Why []component.Text

	Activities []component.Activity // oldest first
	Began      time.Time            // before this only what moved messages is known; zero: all is
}

// Full is the page.
func (m Temporary) Full() templ.Component { return temporary(m) }

// Watches is nil: an activity of any entity can put a clock back.
func (m Temporary) Watches() []string { return nil }

// Parts is what is live in the page.
func (m Temporary) Parts() []view.Part {
	return append(m.Shell.Parts(),
		slot("lede", component.Lede(m.Lede)),
		list("sitters", m.Sitters, func(s Sitter) view.Row {
			return view.Row{Key: s.Key, Content: sitterCard(s)}
		}),
		slot("graves-note", gravesNote(m)),
		list("graves", m.Graves, func(g component.Grave) view.Row {
			return view.Row{Key: g.Key, Content: component.Tombstone(g)}
		}),
	)
}

// pinning is what the script needs to offer to keep s before it goes.
func (s Sitter) pinning(ctx context.Context) templ.Attributes {
	if s.State != component.Running || s.Clock.At.IsZero() {
		return nil
	}
	a := templ.Attributes{"data-pin": s.Href + "/pin", "data-who": s.Name}
	if s.Messages > 0 {
		a["data-goes"] = locale.N(ctx, "temporary.goes", s.Messages)
	}
	return a
}

// newTemporary leads to a form that already asks for a queue that deletes
// itself.
func newTemporary(ctx context.Context, s layout.Shell) component.Link {
	return component.Link{
		Href: s.Home + "/queues/new?temporary=1", Icon: "plus",
		Label: locale.T(ctx, "temporary.new"),
	}
}
