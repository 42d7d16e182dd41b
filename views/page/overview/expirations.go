package overview

import (
	"context"
	"net/url"
	"time"

	"github.com/a-h/templ"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/view"
)

// Expirations is the expiry board of a namespace.
type Expirations struct {
	Shell   layout.Shell
	Lede    []component.Text
	Horizon component.ExpiryHorizon // a bucket's Href filters the board by it

	Fate   string // fate that the board is filtered by: "dead", "lost"; empty means both
	Within string // key of the only bucket shown; empty means all

	Board []component.ExpiringMessage // soonest first, with Actions
	All   int                         // expiring messages that match the filter
	More  string                      // address of a longer board; empty if this is all, or the longest

	Expired      []ExpiredRow  // just expired, latest first
	ExpiredCount int           // messages that expired within Recent
	Recent       time.Duration // how far back Expired and ExpiredCount look
}

// ExpiredRow is a message that expired recently.
type ExpiredRow struct {
	Key      string
	Subject  string
	Entity   string
	Href     string // the message's page, which stays available for a while
	At, Now  time.Time
	Fate     component.ExpiryOutcome
	DeadHref string // its page as a dead letter; empty if it was lost, or is no longer a dead letter
}

// Full returns the whole page.
func (m Expirations) Full() templ.Component { return expirations(m) }

// Watches returns nil, because every message of the namespace can expire.
func (m Expirations) Watches() []string { return nil }

// Parts returns the live parts of the page.
func (m Expirations) Parts() []view.Part {
	return append(m.Shell.Parts(),
		page.Slot("lede", component.Lede(m.Lede)),
		horizonPart(m.Horizon),
		page.List("board", m.Board, departureRow),
		page.Slot("board-empty", boardEmpty(m)),
		page.Slot("board-foot", boardFoot(m)),
		page.Slot("gone-note", expiredNote(m)),
		page.List("gone", m.Expired, func(e ExpiredRow) view.Row {
			return view.Row{Key: e.Key, Content: expiredRow(e)}
		}),
		page.Slot("gone-empty", expiredEmpty(m)),
	)
}

// fates returns the choices of the board's filter by fate: all, dead-lettered and lost. Each keeps
// the filter by bucket.
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
