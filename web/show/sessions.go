package show

import (
	"cmp"
	"context"
	"net/url"
	"strings"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
)

const (
	sessionsOnPage = 50
	// firstInLine is how many of the sessions in line a table begins with.
	firstInLine = 20
	// lineCounted is how far the line of sessions is counted to tell a session its
	// place in it. Whatever is further back is told the place after these.
	lineCounted = 10_000
)

// sessionful tells whether every message needs a session.
func (e member) sessionful() bool { return e.Config.RequiresSession && e.Kind != engine.Topic }

// seeSessions takes the sessions that the tab shows: those in line first, as
// receivers get them, then all by their ids.
func (e *entitySight) seeSessions(r broker.Reader, from string) error {
	line, err := r.NextSessions(e.Path, lineCounted)
	if err != nil {
		return err //nolint:wrapcheck // the caller asked for just this
	}
	e.sessions, e.turns, e.after = nil, turnsOf(line), ""
	first := map[string]bool{}
	if from == "" {
		for _, id := range line[:min(len(line), firstInLine)] {
			row, ok, err := r.SessionRow(e.Path, id)
			if err != nil {
				return err //nolint:wrapcheck // it was there in this very turn
			}
			if ok {
				e.sessions, first[id] = append(e.sessions, row), true
			}
		}
	}
	rows, err := r.SessionRows(e.Path, from, sessionsOnPage+1)
	if err != nil {
		return err //nolint:wrapcheck // the caller asked for just this
	}
	for _, row := range rows {
		switch {
		case first[row.ID]:
		case len(e.sessions) == sessionsOnPage:
			e.after = row.ID
			return nil
		default:
			e.sessions = append(e.sessions, row)
		}
	}
	return nil
}

func turnsOf(line []string) map[string]int {
	turns := make(map[string]int, len(line))
	for i, id := range line {
		turns[id] = i + 1
	}
	return turns
}

// turn is a session's place in line; zero: it is not in line.
func turn(turns map[string]int, row engine.SessionRow, now engine.Instant) int {
	if n := turns[row.ID]; n > 0 || row.Active == 0 || row.LockedUntil > now || len(turns) < lineCounted {
		return n
	}
	return lineCounted + 1
}

func sessionHold(row engine.SessionRow, e engine.EntityState, now engine.Instant) component.Hold {
	return holdOf(row.Lock, row.LockedUntil, now, e.Config.LockFor())
}

// fillSessions adds what the tab of sessions shows.
func (p *Pages) fillSessions(ctx context.Context, at Place, m *page.Entity, e entitySight, now engine.Instant) {
	for _, row := range e.sessions {
		r := page.SessionRow{
			Key: sessionKey(row.ID), ID: row.ID, Href: p.SessionURL(e.Kind, e.Path, row.ID), Now: now.Time(),
			Active: int(row.Active), Locked: int(row.Locked), Deferred: int(row.Deferred), Turn: turn(e.turns, row, now),
			Hold: sessionHold(row, e.EntityState, now), HasState: row.StateSet, State: int64(row.StateSize),
		}
		if row.OldestAt != 0 {
			r.Oldest = row.OldestAt.Time()
		}
		if !r.Hold.Until.IsZero() {
			r.Holder, r.HolderAt = p.holder(ctx, row.Lock.By)
		}
		m.Sessions = append(m.Sessions, r)
	}
	if e.Sessions.Known > 0 {
		m.Pages.Note = locale.N(ctx, "pager.note", e.Sessions.Known, locale.Args{"Shown": locale.Number(ctx, len(m.Sessions))})
	}
	if at.Query.Get("from") != "" {
		m.Pages.First = p.URL(at.with("from", ""))
	}
	if e.after != "" {
		m.Pages.Next = p.URL(at.with("from", e.after))
	}
	m.Lede = p.sessionsLede(ctx, e)
}

// sessionsLede says how many there are, and who is next.
func (p *Pages) sessionsLede(ctx context.Context, e entitySight) []component.Text {
	if e.Sessions.Known == 0 {
		return nil
	}
	held := locale.T(ctx, "sessions.lede.free")
	if n := e.Sessions.Locked; n > 0 {
		held = locale.N(ctx, "sessions.lede.held", n)
	}
	lede := []component.Text{strong(locale.N(ctx, "sessions.lede", e.Sessions.Known)), say(" " + held)}
	for id, n := range e.turns {
		if n == 1 {
			next := component.Text{S: component.SessionName(ctx, id), Href: p.SessionURL(e.Kind, e.Path, id)}
			return append(append(lede, say(" ")), tell(ctx, "sessions.lede.next", next, nil)...)
		}
	}
	return lede
}

// sessionKey names a session's row on its page. No escaped id is an equals sign.
func sessionKey(id string) string { return cmp.Or(url.QueryEscape(id), "=") }

// SessionURL is the address of a session's page, base path included.
func (p *Pages) SessionURL(kind engine.EntityKind, path engine.Path, id string) string {
	return p.URL(Place{Namespace: p.b.Name(), Kind: Session, Entity: kind, Path: path, Query: url.Values{page.SessionID: {id}}})
}

// sessionExample is a line for the shell that sends a message in a session;
// empty: there is none to be said.
func (p *Pages) sessionExample(e engine.EntityState) string {
	to := e.Path
	if topic, _, ok := to.Subscription(); ok {
		to = engine.Path(topic)
	}
	if p.o.REST == "" || !takesSenders(e.Config.Status) || strings.ContainsAny(string(to), "'\\\n") {
		return ""
	}
	return "curl " + p.o.REST + "/" + string(to) + "/messages \\\n  -H 'BrokerProperties: {\"SessionId\":\"customer-1\"}' \\\n  -d 'hello'"
}
