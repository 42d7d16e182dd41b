package show

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/shorten"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/view"
)

// A sessionSnapshot is the broker's state that a session's page needs.
type sessionSnapshot struct {
	entitySnapshot
	row   engine.SessionRow
	state string
	set   bool
	n     int // messages in it, in any state
}

func (p *Pages) session(ctx context.Context, at Address) (view.Page, uint64, error) {
	return p.sessionPage(ctx, at, page.StateForm{})
}

// Session returns the page of a session whose state could not be set, with the typed values.
func (p *Pages) Session(ctx context.Context, at Address, typed page.StateForm) (view.Page, error) {
	at.Action = ""
	m, _, err := p.sessionPage(ctx, at, typed)
	return m, err
}

func (p *Pages) sessionPage(ctx context.Context, at Address, typed page.StateForm) (view.Page, uint64, error) {
	id := at.Query.Get(page.SessionID)
	if !at.Query.Has(page.SessionID) {
		return nil, 0, fmt.Errorf("%w: it names no session", ErrPageNotFound)
	}
	var v sessionSnapshot
	from, _ := parseNumber(at.Query.Get("from")) // anything else means the beginning
	s, err := p.read(ctx, func(r broker.Reader) (err error) {
		v, err = readSession(r, at.Path, id, engine.Seq(from))
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	m := p.sessionModel(ctx, at, v, s)
	m.Typed = typed
	for _, r := range v.rows[:min(len(v.rows), messagesOnPage)] {
		m.Rows = append(m.Rows, p.messageRow(ctx, r, s.now, v.Config.LockTime()))
	}
	if v.n > 0 {
		m.Pages.Note = locale.N(ctx, "pager.note", v.n, locale.Args{"Shown": locale.Number(ctx, len(m.Rows))})
	}
	if from > 1 {
		m.Pages.First = p.URL(at.withQuery("from", ""))
	}
	if len(v.rows) > messagesOnPage {
		m.Pages.Next = p.URL(at.withQuery("from", strconv.FormatInt(int64(v.rows[messagesOnPage].Message.Seq), 10)))
	}
	return m, s.event, nil
}

// readSession reads a session. It returns ErrPageNotFound for an entity without sessions.
func readSession(r broker.Reader, path engine.Path, id string, from engine.Seq) (v sessionSnapshot, err error) {
	if v.entitySnapshot, err = readEntity(r, path); err != nil {
		return v, err
	}
	if !v.requiresSessions() {
		return v, fmt.Errorf("%w: %s has no sessions", ErrPageNotFound, v.Path)
	}
	if v.row, _, err = r.SessionRow(path, id); err != nil {
		return v, err
	}
	if v.state, v.set, err = r.SessionStateAt(path, id); err != nil {
		return v, err
	}
	line, err := r.AvailableSessions(path, maxQueueCounted)
	if err != nil {
		return v, err
	}
	v.row.ID, v.queuePositions = id, positionsOf(line)
	v.n = int(v.row.Active + v.row.Locked + v.row.Deferred)
	v.rows, err = r.Browse(engine.Browse{Path: v.Path, Session: &id, From: max(1, from), Limit: messagesOnPage + 1})
	return v, err
}

func (p *Pages) sessionModel(ctx context.Context, at Address, v sessionSnapshot, s snapshot) page.Session {
	at.EntityType, at.Path = v.Kind, v.Path // in its original case
	m := page.Session{
		Shell: p.liveShell(ctx, at, s, component.SessionName(ctx, shorten.To(v.row.ID, 128))), In: p.entityRef(v.Kind, v.Path), Path: v.Path.Fold(),
		Name: v.Path.Name(), ID: v.row.ID,
		Active: int(v.row.Active), Locked: int(v.row.Locked), Deferred: int(v.row.Deferred), Now: s.now.Time(),
		Turn: queuePosition(v.queuePositions, v.row, s.now), Hold: sessionLock(v.row, v.EntityState, s.now),
		HasState: v.set, StateAt: v.row.ChangedAt.Time(), State: page.Body{Content: []byte(v.state), Size: int64(len(v.state))},
		View: page.BodyView(oneOf(at.Query.Get("view"), string(page.TreeView), string(page.RawView), string(page.HexView))),
		Most: p.b.Limits().SessionStateSize,
	}
	m.Seen = string(engine.TagSessionState(nil))
	if v.set {
		m.Seen = string(engine.TagSessionState(&v.state))
	}
	m.Topic, _, _ = v.Path.Subscription()
	if v.row.OldestAt != 0 {
		m.Oldest = v.row.OldestAt.Time()
	}
	if !m.Hold.Until.IsZero() {
		m.Holder, m.HolderURL = p.lockHolder(ctx, v.row.Lock.By)
		m.HeldHere = v.row.Attached && (v.row.Lock.By == "dashboard" || strings.HasPrefix(v.row.Lock.By, "dashboard "))
	}
	m.CanReceive = allowsReceive(v.Config.Status)
	return m
}
