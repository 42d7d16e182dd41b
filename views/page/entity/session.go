package entity

import (
	"context"
	"net/url"
	"time"

	"github.com/a-h/templ"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/page/list"
	"mayfly/views/page/message"
	"mayfly/views/view"
)

// Session is the page of a session: its messages, its lock and its state. Any session id can
// be opened, even if it has no messages (SES-1).
type Session struct {
	Shell layout.Shell
	In    page.EntityRef // the entity
	Path  string         // of the entity, in lower case: what Watches returns
	Name  string         // of the queue or subscription alone, as clients use it
	Topic string         // for a subscription
	ID    string

	Active, Locked, Deferred int
	Oldest                   time.Time // when its oldest message was enqueued; zero if it has none
	Now                      time.Time
	Turn                     int                // as in SessionRow
	Hold                     component.LockInfo // the lock on it; zero if not locked
	Holder                   string             // the lock's holder; empty if unknown
	HolderURL                string             // address of that client; empty means none
	HeldHere                 bool               // locked by the dashboard, which can release it
	CanReceive               bool               // its messages can be received here, unless another client holds it

	Rows  []list.MessageRow // in order
	Pages component.Pages

	HasState bool
	StateAt  time.Time        // when it was set
	State    message.Body     // Form is unused
	View     message.BodyView // of the state; HeadersView is not allowed; empty means automatic
	// Seen is a short fingerprint of the state when the page was made. It is sent along with a
	// change, so that a newer state is not overwritten.
	Seen  string
	Most  int64     // most bytes of a state
	Typed StateForm // typed values that were refused; zero means that the form shows the stored state
}

// A StateForm is a new state as typed.
type StateForm struct {
	Text  string
	As    string         // StateText or StateHex
	Error component.Text // why it was refused; empty if it was not
}

// The fields of a session.
const (
	SessionID  = "id"    // in the address of its page and of its actions
	StateValue = "state" // the new state, in the form of StateAs; line ends arrive as CR LF
	StateAs    = "as"    // StateText or StateHex
	StateText  = "text"  // its UTF-8 bytes
	StateHex   = "hex"   // pairs of hexadecimal digits; spaces and line ends are ignored
	StateSeen  = "seen"  // Session.Seen
)

// Full returns the whole page.
func (m Session) Full() templ.Component {
	m.Shell.Live.Selectable = true // a half-written state must not be replaced
	return session(m)
}

// Drawer returns the session for the side panel of the table.
func (m Session) Drawer() templ.Component { return sessionDrawer(m) }

// Watches returns the entity that the session is in.
func (m Session) Watches() []string { return []string{m.Path} }

// Parts returns the live parts of the page: everything but the content of the state, which the
// viewer may be reading or replacing. The page shows a notice when it has changed.
func (m Session) Parts() []view.Part {
	return append(m.Shell.Parts(),
		page.Slot("held", sessionBadges(m)),
		page.Slot("facts", sessionFacts(m)),
		page.Slot("lock", sessionLock(m)),
		page.Slot("state-size", stateSize(m)),
		page.List("session-rows", m.Rows, func(r list.MessageRow) view.Row {
			return view.Row{Key: r.Key, Content: list.MessageTableRow(page.ListSession, nil, &r)}
		}),
		page.Slot("session-empty", sessionEmpty(m)),
		page.Slot("pages", page.Pager(m.Pages)),
	)
}

func (m Session) held() bool { return !m.Hold.Until.IsZero() }

// do returns the address of the action `what` on the session, or of its page if `what` is empty.
func (m Session) do(what string) string {
	at := m.In.Href + "/session"
	if what != "" {
		at += "/" + what
	}
	return at + "?" + url.Values{SessionID: {m.ID}}.Encode()
}

// viewed returns the address of the page with another view of the state.
func (m Session) viewed(v message.BodyView) string { return m.do("") + "&view=" + string(v) + "#state" }

// again returns the address of the current page. It has no fragment, because with one a
// browser would not reload.
func (m Session) again() string {
	if m.View == "" {
		return m.do("")
	}
	return m.do("") + "&view=" + string(m.View)
}

func (m Session) views(ctx context.Context) []component.Choice {
	now, tree := m.chooseView()
	var out []component.Choice
	for _, v := range []struct {
		view message.BodyView
		name string
	}{{message.TreeView, "session.view.json"}, {message.RawView, "session.view.text"}, {message.HexView, "body.hex"}} {
		if v.view == message.TreeView && tree.Kind == "" {
			continue
		}
		out = append(out, component.Choice{Label: locale.T(ctx, v.name), Href: m.viewed(v.view), Current: v.view == now})
	}
	return out
}

func (m Session) crumbs(ctx context.Context) []component.Crumb {
	return append(m.In.Crumbs(ctx, m.Shell),
		component.Crumb{Label: locale.T(ctx, "entity.tab.sessions"), Href: m.In.Href + "?tab=" + string(page.TabSessions)},
		component.Crumb{Label: component.SessionName(ctx, m.ID)})
}
