package page

import (
	"context"

	"github.com/a-h/templ"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/views/view"
)

// Overview is the page a namespace opens with.
type Overview struct {
	Shell layout.Shell
	Lede  []component.Text // what is going on, in a sentence or two

	// Welcome is set while the namespace has no entities: then the page opens
	// with how to make some.
	Welcome bool
	// Learning is set while there is little more: then the page still offers what
	// there is to learn from.
	Learning bool
	Connect  Connect

	Horizon  component.Horizon
	Ending   int // messages with an end
	Messages int // all of them

	In, Out     Figure // a second
	Expired     Figure // a minute
	DeadLetters Figure
	Locked      Figure
	Scheduled   Figure

	Next      []component.Departure // the first to run out; Actions empty
	Temporary []Sitter              // the first to go
	Sitting   int                   // how many temporary entities there are
	Events    []component.Event     // newest first
	More      int                   // events of the last second that are not shown
}

// A Figure is a number that moves.
type Figure struct {
	N    float64
	Line []float64        // how it went, oldest first
	Note []component.Text // compares or explains it; empty when there is nothing honest to say
}

// Connect is how to talk to the broker.
type Connect struct {
	REST string // the address of the REST door: "http://127.0.0.1:5300"
	Curl string // a line that sends a message
	Data string // where messages are kept, as a sentence
	Tier string // whose limits and defaults there are, as a sentence
	Dial Dial
	// Nobody is set while no client stays connected: then the connection string
	// stands at the top of the page, too.
	Nobody bool
}

// Full is the page.
func (m Overview) Full() templ.Component { return overview(m) }

// Watches is nil: every event can change the overview.
func (m Overview) Watches() []string { return nil }

// Parts is what is live in the page.
func (m Overview) Parts() []view.Part {
	parts := append(m.Shell.Parts(),
		slot("lede", component.Lede(m.Lede)),
		slot("learn", learn(m)),
		slot("welcome", welcome(m)),
		slot("horizon-note", horizonNote(m.Ending, m.Messages)),
		horizonPart(m.Horizon),
	)
	for _, t := range m.tiles() {
		parts = append(parts, slot(t.slot, tileContent(t)))
	}
	return append(parts,
		slot("next-note", nextNote(len(m.Next), m.Ending)),
		list("next", m.Next, departureRow),
		slot("next-empty", nextEmpty(m)),
		slot("temporary-note", temporaryNote(m.Sitting)),
		list("temporary", m.Temporary, func(s Sitter) view.Row {
			return view.Row{Key: s.Key, Content: sitterLine(s)}
		}),
		slot("temporary-empty", temporaryEmpty(m)),
		list("ticker", m.Events, func(e component.Event) view.Row {
			return view.Row{Key: e.Key, Content: component.TickerLine(e)}
		}),
		slot("ticker-more", tickerMore(len(m.Events), m.More)),
		slot("connect", connect(m)),
	)
}

func horizonPart(h component.Horizon) view.Part {
	return list("horizon", h.Buckets, func(b component.Bucket) view.Row {
		return view.Row{Key: b.Key, Content: component.HorizonSpan(h, b)}
	})
}

func departureRow(d component.Departure) view.Row {
	return view.Row{Key: d.Key, Content: component.BoardRow(d)}
}

// A tile is a Figure on its way to a component.Tile, whose words need the
// reader's language.
type tile struct {
	slot, icon string
	label      string // id of the name
	unit       string // id of the unit; empty: none
	href       string
	tone       component.Tone
	figure     Figure
}

func (m Overview) tiles() []tile {
	return []tile{
		{"tile-in", "send", "overview.in", "overview.per.second", "", component.Plenty, m.In},
		{"tile-out", "export", "overview.out", "overview.per.second", "", component.Plenty, m.Out},
		{"tile-expired", "expired", "overview.expired", "overview.per.minute", m.Shell.Home + "/expirations", component.Critical, m.Expired},
		{"tile-dead", "dead", "overview.dead", "", m.Shell.Home + "/dead-letters", component.Dead, m.DeadLetters},
		{"tile-locked", "locked", "overview.locked", "", "", component.Lock, m.Locked},
		{"tile-scheduled", "scheduled", "overview.scheduled", "", "", component.Plenty, m.Scheduled},
	}
}

func (t tile) component(ctx context.Context) component.Tile {
	c := component.Tile{
		Slot: t.slot, Icon: t.icon, Label: locale.T(ctx, t.label),
		Value: figure(ctx, t.figure.N), Line: t.figure.Line, Tone: t.tone,
		Note: t.figure.Note, Href: t.href,
	}
	if t.unit != "" {
		c.Unit = locale.T(ctx, t.unit)
	}
	return c
}

// figure writes a rate with one decimal while that tells something.
func figure(ctx context.Context, f float64) string {
	if f >= 100 || f == float64(int(f)) {
		return component.Short(ctx, int(f+.5))
	}
	return locale.Decimal(ctx, f, 1)
}
