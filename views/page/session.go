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

// Session is one session of an entity: its messages, its lock and its state.
// It exists for whoever asks for it, also with nothing in it (SES-1).
type Session struct {
	Shell layout.Shell
	In    Place  // the entity
	Path  string // of the entity, in lower case: what Watches names
	Name  string // of the queue or subscription by itself, as clients say it
	Topic string // of a subscription
	ID    string

	Active, Locked, Deferred int
	Oldest                   time.Time // when its oldest message was stored; zero: it holds none
	Now                      time.Time
	Turn                     int            // as in SessionRow
	Hold                     component.Hold // the lock on it; zero: it is free
	Holder                   string         // who holds it; empty: not known
	HolderAt                 string         // where that client is shown; empty: nowhere
	Ours                     bool           // the dashboard holds it, and can give it back
	Takes                    bool           // one of its messages can be received here, unless another holds it

	Rows  []MessageRow // in order
	Pages component.Pages

	HasState bool
	StateAt  time.Time // when it was set
	State    Body      // Form is unused
	View     BodyView  // of the state; HeadersView is none; empty: what suits it
	// Seen is what the state was when the page was made, in a few characters. It
	// is sent along with a change, so that nobody's newer state is overwritten.
	Seen  string
	Most  int64     // bytes a state may have
	Typed StateForm // what somebody typed that was refused; zero: the form shows what is stored
}

// A StateForm is a new state as it was typed.
type StateForm struct {
	Text  string
	As    string         // StateText or StateHex
	Error component.Text // why it was refused; empty: it was not
}

// The names of the fields of a session.
const (
	SessionID  = "id"    // in the address of its page and of what is done to it
	StateValue = "state" // the new state, as StateAs says; line ends arrive as CR LF
	StateAs    = "as"    // StateText or StateHex
	StateText  = "text"  // its UTF-8 bytes
	StateHex   = "hex"   // pairs of hexadecimal digits; spaces and line ends do not count
	StateSeen  = "seen"  // Session.Seen
)

// Full is the page.
func (m Session) Full() templ.Component {
	m.Shell.Live.Picking = true // a new state may be half written
	return session(m)
}

// Drawer is the session beside the table it was opened from.
func (m Session) Drawer() templ.Component { return sessionDrawer(m) }

// Watches is the entity that the session is in.
func (m Session) Watches() []string { return []string{m.Path} }

// Parts is what is live in the page: everything but the content of the state,
// which somebody may be reading or replacing. That it is another by now is told.
func (m Session) Parts() []view.Part {
	return append(m.Shell.Parts(),
		slot("held", sessionBadges(m)),
		slot("facts", sessionFacts(m)),
		slot("lock", sessionLock(m)),
		slot("state-size", stateSize(m)),
		list("session-rows", m.Rows, func(r MessageRow) view.Row {
			return view.Row{Key: r.Key, Content: messageRow(InSession, nil, &r)}
		}),
		slot("session-empty", sessionEmpty(m)),
		slot("pages", pager(m.Pages)),
	)
}

func (m Session) held() bool { return !m.Hold.Until.IsZero() }

// do is the address of something that is done to the session; empty: it is
// looked at.
func (m Session) do(what string) string {
	at := m.In.Href + "/session"
	if what != "" {
		at += "/" + what
	}
	return at + "?" + url.Values{SessionID: {m.ID}}.Encode()
}

// viewed is the page with the state seen another way.
func (m Session) viewed(v BodyView) string { return m.do("") + "&view=" + string(v) + "#state" }

// again is the page as it is now. Without a fragment, with which a browser would
// stay where it is.
func (m Session) again() string {
	if m.View == "" {
		return m.do("")
	}
	return m.do("") + "&view=" + string(m.View)
}

func (m Session) views(ctx context.Context) []component.Choice {
	now, tree := m.looked()
	var out []component.Choice
	for _, v := range []struct {
		view BodyView
		name string
	}{{TreeView, "session.view.json"}, {RawView, "session.view.text"}, {HexView, "body.hex"}} {
		if v.view == TreeView && tree.Kind == "" {
			continue
		}
		out = append(out, component.Choice{Label: locale.T(ctx, v.name), Href: m.viewed(v.view), Current: v.view == now})
	}
	return out
}

func (m Session) crumbs(ctx context.Context) []component.Crumb {
	return append(m.In.crumbs(ctx, m.Shell),
		component.Crumb{Label: locale.T(ctx, "entity.tab.sessions"), Href: m.In.Href + "?tab=" + string(Sessions)},
		component.Crumb{Label: component.SessionName(ctx, m.ID)})
}
