package page

import (
	"context"
	"net/url"
	"time"

	"github.com/a-h/templ"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/views/view"
)

// Expirations is the departures board of a namespace.
type Expirations struct {
	Shell   layout.Shell
	Lede    []component.Text
	Horizon component.Horizon // a bucket's Href shows it alone on the board

	Fate   string // which fates the board shows: "dead", "lost"; empty: both
	Within string // the key of the only bucket it shows; empty: all

	Board []component.Departure // next first, with Actions
	All   int                   // how many there are with an end that the choice above admits
	More  string                // address of a longer board; empty: this is all, or as long as it gets

	Gone   []Expired     // just expired, latest first
	Passed int           // how many expired within Recent
	Recent time.Duration // how far back Gone and Passed look
}

// Expired is a message whose time ran out a moment ago.
type Expired struct {
	Key      string
	Subject  string
	Entity   string
	Href     string // the message's page, also after it is gone
	At, Now  time.Time
	Fate     component.Fate
	DeadHref string // the dead letter that it is; empty: it was lost, or is none any more
}

// Full is the page.
func (m Expirations) Full() templ.Component { return expirations(m) }

// Watches is nil: every message of the namespace can run out.
func (m Expirations) Watches() []string { return nil }

// Parts is what is live in the page.
func (m Expirations) Parts() []view.Part {
	return append(m.Shell.Parts(),
		slot("lede", component.Lede(m.Lede)),
		horizonPart(m.Horizon),
		list("board", m.Board, departureRow),
		slot("board-empty", boardEmpty(m)),
		slot("board-foot", boardFoot(m)),
		slot("gone-note", goneNote(m)),
		list("gone", m.Gone, func(e Expired) view.Row {
			return view.Row{Key: e.Key, Content: goneRow(e)}
		}),
		slot("gone-empty", goneEmpty(m)),
	)
}

// fates is the switch between what the board shows.
func (m Expirations) fates(ctx context.Context) []component.Choice {
	choice := func(fate, label string) component.Choice {
		q := url.Values{}
		if fate != "" {
			q.Set("fate", fate)
		}
		if m.Within != "" {
			q.Set("within", m.Within)
		}
		href := m.Shell.Home + "/expirations"
		if len(q) > 0 {
			href += "?" + q.Encode()
		}
		return component.Choice{Label: label, Href: href, Current: fate == m.Fate}
	}
	return []component.Choice{
		choice("", locale.T(ctx, "expirations.every")),
		choice("dead", locale.T(ctx, "expirations.dead")),
		choice("lost", locale.T(ctx, "expirations.lost")),
	}
}
