package ui

import (
	"context"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/web/show"
)

// A holding is a session that somebody at the dashboard has taken.
type holding struct {
	path, id, by string // path is folded
}

// holdings are the sessions that are held here, until their locks run out or
// they are given back: so that more of their messages can be taken under the
// same lock. Its zero value is ready.
type holdings struct {
	mu sync.Mutex
	of map[holding]*broker.Session
}

// get is the session held; nil: none is. It lets go of those that are over.
func (h *holdings) get(k holding) *broker.Session {
	h.mu.Lock()
	defer h.mu.Unlock()
	for other, s := range h.of {
		if s.Err() != nil {
			delete(h.of, other)
		}
	}
	return h.of[k]
}

func (h *holdings) put(k holding, s *broker.Session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.of == nil {
		h.of = map[holding]*broker.Session{}
	}
	h.of[k] = s
}

// receiveSession takes the next message of a session: of the one that is named,
// else of the next in line. Its lock stays until it runs out or is given back,
// and the message is settled on its own page.
func (d *Door) receiveSession(c echo.Context, at show.Place, id *string) error {
	ctx, by := c.Request().Context(), actor(c)
	var s *broker.Session
	if id != nil {
		s = d.held.get(holding{at.Path.Fold(), *id, by})
	}
	had := s != nil
	if !had {
		var err error
		s, err = d.b.AcceptSession(ctx, broker.Accept{Path: at.Path, Session: id, Client: by})
		if errors.Is(err, engine.ErrTimeout) {
			return d.done(c, d.pages.EntityURL(at.Entity, at.Path), component.Notice{
				Tone: component.Low, Title: locale.T(ctx, "ui.session.none", locale.Args{"Name": show.Shown(at.Path)}), Detail: locale.T(ctx, "ui.session.none.detail"),
			})
		}
		if err != nil {
			return err //nolint:wrapcheck // it says what it is about
		}
	}
	got, err := s.Receive(ctx, 1, 0)
	if err == nil && len(got) > 0 {
		d.held.put(holding{at.Path.Fold(), s.ID(), by}, s)
		return d.received(c, got[0])
	}
	if !had { // nothing was got by it
		if err := s.Close(context.WithoutCancel(ctx)); err != nil {
			d.log.WarnContext(ctx, "a session was not given back", "err", err)
		}
	}
	if err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	return d.done(c, d.pages.SessionURL(at.Entity, at.Path, s.ID()), component.Notice{
		Tone: component.Low, Title: locale.T(ctx, "ui.session.empty", locale.Args{"ID": component.SessionName(ctx, s.ID())}),
	})
}

// receiveFrom takes the next message of the session that the address names.
func (d *Door) receiveFrom(c echo.Context, at show.Place, _ url.Values) error {
	id, err := d.sessionID(c, at)
	if err != nil {
		return err
	}
	return d.receiveSession(c, at, &id)
}

// releaseSession gives back a session that was taken here: what is locked in it
// is available again and has not failed (SES-7).
func (d *Door) releaseSession(c echo.Context, at show.Place, _ url.Values) error {
	ctx := c.Request().Context()
	id, err := d.sessionID(c, at)
	if err != nil {
		return err
	}
	s := d.held.get(holding{at.Path.Fold(), id, actor(c)})
	if s == nil {
		return &show.Refusal{Kind: engine.ErrNotAllowed, Text: locale.T(ctx, "ui.session.not.ours")}
	}
	if err := s.Close(ctx); err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	return d.aboutSession(c, at, id, "ui.session.released")
}

// breakSession ends the lock of a session as if it had run out (OPS-6).
func (d *Door) breakSession(c echo.Context, at show.Place, _ url.Values) error {
	id, err := d.sessionID(c, at)
	if err != nil {
		return err
	}
	if err := d.b.BreakSession(c.Request().Context(), at.Path, id, actor(c)); err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	return d.aboutSession(c, at, id, "ui.session.broken")
}

// setState sets the state of a session, or clears it, whoever holds it: unless
// it has become another since the page was made.
func (d *Door) setState(c echo.Context, at show.Place, typed url.Values) error {
	ctx := c.Request().Context()
	id, err := d.sessionID(c, at)
	if err != nil {
		return err
	}
	var next *string
	form := page.StateForm{Text: typed.Get(page.StateValue), As: typed.Get(page.StateAs)}
	if at.Do == "state" {
		text, wrong := readState(ctx, form)
		if form.Error = wrong; wrong.S != "" {
			return d.stateAgain(c, http.StatusUnprocessableEntity, at, form)
		}
		next = &text
	}
	err = d.b.SetStateIf(ctx, at.Path, id, engine.StateTag(typed.Get(page.StateSeen)), next, actor(c))
	if errors.Is(err, engine.ErrChanged) {
		form.Error = component.Text{S: locale.T(ctx, "ui.state.newer")}
		return d.stateAgain(c, http.StatusConflict, at, form)
	}
	if err != nil {
		if at.Do != "state" || !asks(err) {
			return err //nolint:wrapcheck // it says what it is about
		}
		form.Error = why(err)
		return d.stateAgain(c, status(err), at, form)
	}
	if next == nil {
		return d.aboutSession(c, at, id, "ui.state.cleared")
	}
	return d.aboutSession(c, at, id, "ui.state.set")
}

// readState is a state as it was typed, or what is wrong with it.
func readState(ctx context.Context, f page.StateForm) (state string, wrong component.Text) {
	switch f.As {
	case page.StateHex:
		var out []byte
		digits := strings.Join(strings.Fields(f.Text), "")
		for i := 0; i < len(digits); i += 2 {
			pair := digits[i:min(i+2, len(digits))]
			b, err := hex.DecodeString(pair)
			if err != nil {
				return "", component.Text{S: locale.T(ctx, "ui.state.hex", locale.Args{"Pair": component.Visible(strings.ToValidUTF8(pair, "\uFFFD"))})}
			}
			out = append(out, b...)
		}
		return string(out), component.Text{}
	case page.StateText:
		return strings.ReplaceAll(f.Text, "\r\n", "\n"), component.Text{}
	default:
		return "", component.Text{S: locale.T(ctx, "ui.state.as")}
	}
}

// stateAgain is the session's page with what was typed.
func (d *Door) stateAgain(c echo.Context, code int, at show.Place, f page.StateForm) error {
	p, err := d.pages.Session(c.Request().Context(), at, f)
	if err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	return d.write(c, code, p.Full())
}

// sessionID is the session that the address names, of an entity that has some.
func (d *Door) sessionID(c echo.Context, at show.Place) (string, error) {
	id := at.Query.Get(page.SessionID)
	if !at.Query.Has(page.SessionID) {
		return "", show.ErrNoPage
	}
	e, err := d.state(c, at.Path)
	if err != nil {
		return "", err
	}
	if !e.Config.RequiresSession {
		return "", show.ErrNoPage
	}
	return id, nil
}

func (d *Door) aboutSession(c echo.Context, at show.Place, id, says string) error {
	return d.done(c, d.pages.SessionURL(at.Entity, at.Path, id), component.Notice{
		Title: locale.T(c.Request().Context(), says, locale.Args{"ID": component.SessionName(c.Request().Context(), id)}),
	})
}
