package show

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/view"
)

// A sessionSight is what a session's page sees of the broker.
type sessionSight struct {
	entitySight
	row   engine.SessionRow
	state string
	set   bool
	n     int // messages in it, whatever their state
}

func (p *Pages) session(ctx context.Context, at Place) (view.Page, uint64, error) {
	return p.sessionPage(ctx, at, page.StateForm{})
}

// Session is the page of a session whose state was not set, with what was typed.
func (p *Pages) Session(ctx context.Context, at Place, typed page.StateForm) (view.Page, error) {
	at.Do = ""
	m, _, err := p.sessionPage(ctx, at, typed)
	return m, err
}

func (p *Pages) sessionPage(ctx context.Context, at Place, typed page.StateForm) (view.Page, uint64, error) {
	id := at.Query.Get(page.SessionID)
	if !at.Query.Has(page.SessionID) {
		return nil, 0, fmt.Errorf("%w: it names no session", ErrNoPage)
	}
	var v sessionSight
	from, _ := number(at.Query.Get("from")) // anything else is the beginning
	s, err := p.look(ctx, func(r broker.Reader) (err error) {
		v, err = seeSession(r, at.Path, id, engine.Seq(from))
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	m := p.sessionModel(ctx, at, v, s)
	m.Typed = typed
	for _, r := range v.rows[:min(len(v.rows), messagesOnPage)] {
		m.Rows = append(m.Rows, p.messageRow(ctx, r, s.now, v.Config.LockFor()))
	}
	if v.n > 0 {
		m.Pages.Note = locale.N(ctx, "pager.note", v.n, locale.Args{"Shown": locale.Number(ctx, len(m.Rows))})
	}
	if from > 1 {
		m.Pages.First = p.URL(at.with("from", ""))
	}
	if len(v.rows) > messagesOnPage {
		m.Pages.Next = p.URL(at.with("from", strconv.FormatInt(int64(v.rows[messagesOnPage].Message.Seq), 10)))
	}
	return m, s.n, nil
}

// seeSession takes a session as it is. It is ErrNoPage where there are none.
func seeSession(r broker.Reader, path engine.Path, id string, from engine.Seq) (v sessionSight, err error) {
	if v.entitySight, err = seeEntity(r, path); err != nil {
		return v, err
	}
	if !v.sessionful() {
		return v, fmt.Errorf("%w: %s has no sessions", ErrNoPage, v.Path)
	}
	if v.row, _, err = r.SessionRow(path, id); err != nil {
		return v, err //nolint:wrapcheck // it was there in this very turn
	}
	if v.state, v.set, err = r.StateOf(path, id); err != nil {
		return v, err //nolint:wrapcheck // it was there in this very turn
	}
	line, err := r.NextSessions(path, lineCounted)
	if err != nil {
		return v, err //nolint:wrapcheck // it was there in this very turn
	}
	v.row.ID, v.turns = id, turnsOf(line)
	v.n = int(v.row.Active + v.row.Locked + v.row.Deferred)
	v.rows, err = r.Browse(engine.Browse{Path: v.Path, Session: &id, From: max(1, from), Limit: messagesOnPage + 1})
	return v, err //nolint:wrapcheck // it was there in this very turn
}

func (p *Pages) sessionModel(ctx context.Context, at Place, v sessionSight, s sight) page.Session {
	at.Entity, at.Path = v.Kind, v.Path // as it was created, whatever case it was asked for in
	m := page.Session{
		Shell: p.shell(ctx, at, s, component.SessionName(ctx, cut(v.row.ID, 128))), In: p.placeOf(v.Kind, v.Path), Path: v.Path.Fold(),
		Name: v.Path.Name(), ID: v.row.ID,
		Active: int(v.row.Active), Locked: int(v.row.Locked), Deferred: int(v.row.Deferred), Now: s.now.Time(),
		Turn: turn(v.turns, v.row, s.now), Hold: sessionHold(v.row, v.EntityState, s.now),
		HasState: v.set, StateAt: v.row.ChangedAt.Time(), State: page.Body{Content: []byte(v.state), Size: int64(len(v.state))},
		View: page.BodyView(oneOf(at.Query.Get("view"), string(page.TreeView), string(page.RawView), string(page.HexView))),
		Most: p.b.Limits().SessionStateSize,
	}
	m.Seen = string(engine.TagState(nil))
	if v.set {
		m.Seen = string(engine.TagState(&v.state))
	}
	m.Topic, _, _ = v.Path.Subscription()
	if v.row.OldestAt != 0 {
		m.Oldest = v.row.OldestAt.Time()
	}
	if !m.Hold.Until.IsZero() {
		m.Holder, m.HolderAt = p.holder(ctx, v.row.Lock.By)
		m.Ours = v.row.Attached && (v.row.Lock.By == "dashboard" || strings.HasPrefix(v.row.Lock.By, "dashboard "))
	}
	m.Takes = takesReceivers(v.Config.Status)
	return m
}
