package entity

import (
	"cmp"
	"context"
	"net/url"
	"strings"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page/entity"
	"mayfly/web/dashboard/admin"
	"mayfly/web/dashboard/pages"
)

const (
	sessionsOnPage = 50
	// maxQueuedSessions is how many of the queued sessions are at the top of the table.
	maxQueuedSessions = 20
	// maxQueueCounted is how far the queue of sessions is counted to find a session's position.
	// All sessions further back are shown at the position after these.
	maxQueueCounted = 10_000
)

// RequiresSessions reports whether every message needs a session.
func (e listedEntity) RequiresSessions() bool {
	return e.Config.RequiresSession && e.Kind != engine.Topic
}

// readSessions reads the sessions that the tab shows: queued ones first, in the order in which
// receivers get them, then all by id.
func (e *Snapshot) readSessions(r broker.Reader, from string) error {
	line, err := r.AvailableSessions(e.Path, maxQueueCounted)
	if err != nil {
		return err
	}
	e.sessions, e.queuePositions, e.nextSession = nil, positionsOf(line), ""
	first := map[string]bool{}
	if from == "" {
		for _, id := range line[:min(len(line), maxQueuedSessions)] {
			row, ok, err := r.SessionRow(e.Path, id)
			if err != nil {
				return err
			}
			if ok {
				e.sessions, first[id] = append(e.sessions, row), true
			}
		}
	}
	rows, err := r.SessionRows(e.Path, from, sessionsOnPage+1)
	if err != nil {
		return err
	}
	for _, row := range rows {
		switch {
		case first[row.ID]:
		case len(e.sessions) == sessionsOnPage:
			e.nextSession = row.ID
			return nil
		default:
			e.sessions = append(e.sessions, row)
		}
	}
	return nil
}

func positionsOf(line []string) map[string]int {
	turns := make(map[string]int, len(line))
	for i, id := range line {
		turns[id] = i + 1
	}
	return turns
}

// queuePosition returns a session's position in the queue, maxQueueCounted+1 if it is further back
// than the queue was counted, or zero if it is not queued.
func queuePosition(turns map[string]int, row engine.SessionRow, now engine.Instant) int {
	if n := turns[row.ID]; n > 0 || row.Active == 0 || row.LockedUntil > now || len(turns) < maxQueueCounted {
		return n
	}
	return maxQueueCounted + 1
}

// fillSessions adds the parts that the sessions tab shows.
func fillSessions(ctx context.Context, p *pages.Pages, at pages.Address, m *entity.Entity, e Snapshot, now engine.Instant) {
	for _, row := range e.sessions {
		r := entity.SessionRow{
			Key: sessionKey(row.ID), ID: row.ID, Href: p.SessionURL(e.Kind, e.Path, row.ID), Now: now.Time(),
			Active: int(row.Active), Locked: int(row.Locked), Deferred: int(row.Deferred), Turn: queuePosition(e.queuePositions, row, now),
			Hold: admin.SessionLock(row, e.EntityState, now), HasState: row.StateSet, State: int64(row.StateSize),
		}
		if row.OldestAt != 0 {
			r.Oldest = row.OldestAt.Time()
		}
		if !r.Hold.Until.IsZero() {
			r.Holder, r.HolderURL = admin.LockHolder(ctx, p, row.Lock.By)
		}
		m.Sessions = append(m.Sessions, r)
	}
	if e.Sessions.Known > 0 {
		m.Pages.Note = locale.N(ctx, "pager.note", e.Sessions.Known, locale.Args{"Shown": locale.Number(ctx, len(m.Sessions))})
	}
	if at.Query.Get("from") != "" {
		m.Pages.First = p.URL(at.WithQuery("from", ""))
	}
	if e.nextSession != "" {
		m.Pages.Next = p.URL(at.WithQuery("from", e.nextSession))
	}
	m.Lede = sessionsLede(ctx, p, e)
}

// sessionsLede returns a summary: how many sessions there are, and which is next.
func sessionsLede(ctx context.Context, p *pages.Pages, e Snapshot) []component.Text {
	if e.Sessions.Known == 0 {
		return nil
	}
	held := locale.T(ctx, "sessions.lede.free")
	if n := e.Sessions.Locked; n > 0 {
		held = locale.N(ctx, "sessions.lede.held", n)
	}
	lede := []component.Text{pages.StrongText(locale.N(ctx, "sessions.lede", e.Sessions.Known)), pages.PlainText(" " + held)}
	for id, n := range e.queuePositions {
		if n == 1 {
			next := component.Text{S: component.SessionName(ctx, id), Href: p.SessionURL(e.Kind, e.Path, id)}
			return append(append(lede, pages.PlainText(" ")), pages.SentenceAround(ctx, "sessions.lede.next", next, nil)...)
		}
	}
	return lede
}

// sessionKey returns the key of a session's row on its page. The key of the empty id is an equals
// sign, which is no escaped id.
func sessionKey(id string) string { return cmp.Or(url.QueryEscape(id), "=") }

// sessionExample returns a shell command that sends a message in a session, or "" if there is
// none.
func sessionExample(p *pages.Pages, e engine.EntityState) string {
	to := e.Path
	if topic, _, ok := to.Subscription(); ok {
		to = engine.Path(topic)
	}
	if p.Options.REST == "" || !pages.AllowsSend(e.Config.Status) || strings.ContainsAny(string(to), "'\\\n") {
		return ""
	}
	return "curl " + p.Options.REST + "/" + string(to) + "/messages \\\n  -H 'BrokerProperties: {\"SessionId\":\"customer-1\"}' \\\n  -d 'hello'"
}
