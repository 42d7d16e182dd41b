package entity

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
	"mayfly/views/page/entity"
	"mayfly/views/page/message"
	"mayfly/views/view"
	"mayfly/web/dashboard/admin"
	"mayfly/web/dashboard/list"
	"mayfly/web/dashboard/pages"
)

// A sessionSnapshot is the broker's state that a session's page needs.
type sessionSnapshot struct {
	Snapshot
	row   engine.SessionRow
	state string
	set   bool
	n     int // number of messages in the session, in any state
}

// Session returns the page of a session.
func Session(ctx context.Context, p *pages.Pages, at pages.Address) (view.Page, uint64, error) {
	return sessionPage(ctx, p, at, entity.StateForm{})
}

// SessionWithState returns the page of a session whose state could not be set, with the typed values.
func SessionWithState(ctx context.Context, p *pages.Pages, at pages.Address, typed entity.StateForm) (view.Page, error) {
	at.Action = ""
	m, _, err := sessionPage(ctx, p, at, typed)
	return m, err
}

func sessionPage(ctx context.Context, p *pages.Pages, at pages.Address, typed entity.StateForm) (view.Page, uint64, error) {
	id := at.Query.Get(entity.SessionID)
	if !at.Query.Has(entity.SessionID) {
		return nil, 0, fmt.Errorf("%w: it names no session", pages.ErrPageNotFound)
	}
	var v sessionSnapshot
	from, _ := pages.ParseNumber(at.Query.Get("from")) // anything else means the beginning
	s, err := p.Read(ctx, func(r broker.Reader) (err error) {
		v, err = readSession(r, at.Path, id, engine.Seq(from))
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	m := sessionModel(ctx, p, at, v, s)
	m.Typed = typed
	for _, r := range v.Rows[:min(len(v.Rows), list.MessagesOnPage)] {
		m.Rows = append(m.Rows, list.MessageRow(ctx, p, r, s.Now, v.Config.LockTime()))
	}
	if v.n > 0 {
		m.Pages.Note = locale.N(ctx, "pager.note", v.n, locale.Args{"Shown": locale.Number(ctx, len(m.Rows))})
	}
	if from > 1 {
		m.Pages.First = p.URL(at.WithQuery("from", ""))
	}
	if len(v.Rows) > list.MessagesOnPage {
		m.Pages.Next = p.URL(at.WithQuery("from", strconv.FormatInt(int64(v.Rows[list.MessagesOnPage].Message.Seq), 10)))
	}
	return m, s.Event, nil
}

// readSession reads a session. It returns ErrPageNotFound for an entity without sessions.
func readSession(r broker.Reader, path engine.Path, id string, from engine.Seq) (v sessionSnapshot, err error) {
	if v.Snapshot, err = ReadEntity(r, path); err != nil {
		return v, err
	}
	if !v.RequiresSessions() {
		return v, fmt.Errorf("%w: %s has no sessions", pages.ErrPageNotFound, v.Path)
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
	v.Rows, err = r.Browse(engine.Browse{Path: v.Path, Session: &id, From: max(1, from), Limit: list.MessagesOnPage + 1})
	return v, err
}

func sessionModel(ctx context.Context, p *pages.Pages, at pages.Address, v sessionSnapshot, s pages.Snapshot) entity.Session {
	at.EntityType, at.Path = v.Kind, v.Path // in its original case
	m := entity.Session{
		Shell: p.LiveShell(ctx, at, s, component.SessionName(ctx, shorten.To(v.row.ID, 128))), In: p.EntityRef(v.Kind, v.Path), Path: v.Path.Fold(),
		Name: v.Path.Name(), ID: v.row.ID,
		Active: int(v.row.Active), Locked: int(v.row.Locked), Deferred: int(v.row.Deferred), Now: s.Now.Time(),
		Turn: queuePosition(v.queuePositions, v.row, s.Now), Hold: admin.SessionLock(v.row, v.EntityState, s.Now),
		HasState: v.set, StateAt: v.row.ChangedAt.Time(), State: message.Body{Content: []byte(v.state), Size: int64(len(v.state))},
		View: message.BodyView(pages.OneOf(at.Query.Get("view"), string(message.TreeView), string(message.RawView), string(message.HexView))),
		Most: p.Broker.Limits().SessionStateSize,
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
		m.Holder, m.HolderURL = admin.LockHolder(ctx, p, v.row.Lock.By)
		m.HeldHere = v.row.Attached && (v.row.Lock.By == "dashboard" || strings.HasPrefix(v.row.Lock.By, "dashboard "))
	}
	m.CanReceive = pages.AllowsReceive(v.Config.Status)
	return m
}
