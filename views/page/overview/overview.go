package overview

import (
	"context"

	"github.com/a-h/templ"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/page/admin"
	"mayfly/views/view"
)

// Overview is the first page of a namespace.
type Overview struct {
	Shell layout.Shell
	Lede  []component.Text // a summary in a sentence or two

	// Welcome is set while the namespace has no entities. The page then begins with ways to create
	// some.
	Welcome bool
	// GettingStarted is set while the namespace has few entities and no client of the user is
	// connected: then the page still offers introductions.
	GettingStarted bool
	Connect        Connect

	Horizon       component.ExpiryHorizon
	ExpiringCount int // messages that will expire
	Messages      int // all of them

	In, Out     Figure // per second
	Expired     Figure // per minute
	DeadLetters Figure
	Locked      Figure
	Scheduled   Figure

	Next           []component.ExpiringMessage // the first to expire; Actions empty
	Temporary      []TemporaryEntity           // the first to be deleted
	TemporaryCount int                         // number of temporary entities
	Events         []component.Event           // newest first
	More           int                         // events of the last second that are not shown
}

// A Figure is a number with its recent history.
type Figure struct {
	N    float64
	Line []float64        // its history, oldest first
	Note []component.Text // compares or explains it; empty means none
}

// Connect is how to connect to the broker.
type Connect struct {
	REST           string // address of the REST API: "http://127.0.0.1:5300"
	Curl           string // shell command that sends a message
	Data           string // where messages are stored, as a sentence
	Tier           string // the tier whose limits and defaults apply, as a sentence
	ConnectionInfo admin.ConnectionInfo
	// NoClients is set while no client is connected: then the connection string is also at the
	// top of the page.
	NoClients bool
}

// Full returns the whole page.
func (m Overview) Full() templ.Component { return overview(m) }

// Watches returns nil, because every event can change the overview.
func (m Overview) Watches() []string { return nil }

// Parts returns the live parts of the page.
func (m Overview) Parts() []view.Part {
	parts := append(m.Shell.Parts(),
		page.Slot("lede", component.Lede(m.Lede)),
		page.Slot("learn", learn(m)),
		page.Slot("welcome", welcome(m)),
		page.Slot("horizon-note", horizonNote(m.ExpiringCount, m.Messages)),
		horizonPart(m.Horizon),
	)
	for _, t := range m.tiles() {
		parts = append(parts, page.Slot(t.slot, tileContent(t)))
	}
	return append(parts,
		page.Slot("next-note", nextNote(len(m.Next), m.ExpiringCount)),
		page.List("next", m.Next, departureRow),
		page.Slot("next-empty", nextEmpty(m)),
		page.Slot("temporary-note", temporaryNote(m.TemporaryCount)),
		page.List("temporary", m.Temporary, func(s TemporaryEntity) view.Row {
			return view.Row{Key: s.Key, Content: temporaryLine(s)}
		}),
		page.Slot("temporary-empty", temporaryEmpty(m)),
		page.List("ticker", m.Events, func(e component.Event) view.Row {
			return view.Row{Key: e.Key, Content: component.TickerLine(e)}
		}),
		page.Slot("ticker-more", tickerMore(len(m.Events), m.More)),
		page.Slot("connect", connect(m)),
	)
}

func horizonPart(h component.ExpiryHorizon) view.Part {
	return page.List("horizon", h.Buckets, func(b component.Bucket) view.Row {
		return view.Row{Key: b.Key, Content: component.HorizonSpan(h, b)}
	})
}

func departureRow(d component.ExpiringMessage) view.Row {
	return view.Row{Key: d.Key, Content: component.BoardRow(d)}
}

// A tile describes a component.Tile, whose texts need the viewer's language.
type tile struct {
	slot, icon string
	label      string // text id of the name
	unit       string // text id of the unit; empty means none
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
		Value: page.Figure(ctx, t.figure.N), Line: t.figure.Line, Tone: t.tone,
		Note: t.figure.Note, Href: t.href,
	}
	if t.unit != "" {
		c.Unit = locale.T(ctx, t.unit)
	}
	return c
}
