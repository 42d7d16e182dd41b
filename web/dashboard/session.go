package dashboard

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
	entitypage "mayfly/views/page/entity"
	"mayfly/web/dashboard/entity"
	"mayfly/web/dashboard/pages"
)

// A sessionLockKey identifies a session that a dashboard user has locked.
type sessionLockKey struct {
	path, id, actor string // path is folded
}

// sessionLocks are the sessions that are locked by dashboard users, until the locks expire or are
// released, so that further messages can be received under the same lock. Its zero value is
// ready to use.
type sessionLocks struct {
	mu    sync.Mutex
	locks map[sessionLockKey]*broker.Session
}

// get returns the held session, or nil if there is none. It drops sessions whose locks are
// lost.
func (h *sessionLocks) get(k sessionLockKey) *broker.Session {
	h.mu.Lock()
	defer h.mu.Unlock()
	for other, s := range h.locks {
		if s.Err() != nil {
			delete(h.locks, other)
		}
	}
	return h.locks[k]
}

func (h *sessionLocks) put(k sessionLockKey, s *broker.Session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.locks == nil {
		h.locks = map[sessionLockKey]*broker.Session{}
	}
	h.locks[k] = s
}

// receiveSession receives the next message of the session `id` or, if that is nil, of the next
// available session. The session's lock is kept until it expires or is released. The message is
// settled on its own page.
func (d *Handler) receiveSession(c echo.Context, at pages.Address, id *string) error {
	ctx, by := c.Request().Context(), actor(c)
	var s *broker.Session
	if id != nil {
		s = d.sessionLocks.get(sessionLockKey{at.Path.Fold(), *id, by})
	}
	had := s != nil
	if !had {
		var err error
		s, err = d.b.AcceptSession(ctx, broker.AcceptRequest{Path: at.Path, Session: id, Client: by})
		if errors.Is(err, engine.ErrTimeout) {
			return d.redirectBack(c, d.pages.EntityURL(at.EntityType, at.Path), component.Notice{
				Tone: component.Low, Title: locale.T(ctx, "ui.session.none", locale.Args{"Name": pages.DisplayPath(at.Path)}), Detail: locale.T(ctx, "ui.session.none.detail"),
			})
		}
		if err != nil {
			return err
		}
	}
	got, err := s.Receive(ctx, 1, 0)
	if err == nil && len(got) > 0 {
		d.sessionLocks.put(sessionLockKey{at.Path.Fold(), s.ID(), by}, s)
		return d.openReceived(c, got[0])
	}
	if !had { // nothing was received, so the lock is not kept
		if err := s.Close(context.WithoutCancel(ctx)); err != nil {
			d.log.WarnContext(ctx, "a session was not released", "err", err)
		}
	}
	if err != nil {
		return err
	}
	return d.redirectBack(c, d.pages.SessionURL(at.EntityType, at.Path, s.ID()), component.Notice{
		Tone: component.Low, Title: locale.T(ctx, "ui.session.empty", locale.Args{"ID": component.SessionName(ctx, s.ID())}),
	})
}

// receiveFromSession receives the next message of the session in the address.
func (d *Handler) receiveFromSession(c echo.Context, at pages.Address, _ url.Values) error {
	id, err := d.sessionID(c, at)
	if err != nil {
		return err
	}
	return d.receiveSession(c, at, &id)
}

// releaseSession releases a session that this user locked in the dashboard. Its locked messages
// become available again without a failed delivery (SES-7).
func (d *Handler) releaseSession(c echo.Context, at pages.Address, _ url.Values) error {
	ctx := c.Request().Context()
	id, err := d.sessionID(c, at)
	if err != nil {
		return err
	}
	s := d.sessionLocks.get(sessionLockKey{at.Path.Fold(), id, actor(c)})
	if s == nil {
		return &pages.LocalizedError{Err: engine.ErrNotAllowed, Text: locale.T(ctx, "ui.session.not.ours")}
	}
	if err := s.Close(ctx); err != nil {
		return err
	}
	return d.redirectToSession(c, at, id, "ui.session.released")
}

// breakSession ends the lock of a session as if it had expired (OPS-6).
func (d *Handler) breakSession(c echo.Context, at pages.Address, _ url.Values) error {
	id, err := d.sessionID(c, at)
	if err != nil {
		return err
	}
	if err := d.b.BreakSession(c.Request().Context(), at.Path, id, actor(c)); err != nil {
		return err
	}
	return d.redirectToSession(c, at, id, "ui.session.broken")
}

// setSessionState sets or clears the state of a session, regardless of its lock, unless the state has
// changed since the page was rendered.
func (d *Handler) setSessionState(c echo.Context, at pages.Address, typed url.Values) error {
	ctx := c.Request().Context()
	id, err := d.sessionID(c, at)
	if err != nil {
		return err
	}
	var next *string
	form := entitypage.StateForm{Text: typed.Get(entitypage.StateValue), As: typed.Get(entitypage.StateAs)}
	if at.Action == "state" {
		text, wrong := readState(ctx, form)
		if form.Error = wrong; wrong.S != "" {
			return d.writeStateError(c, http.StatusUnprocessableEntity, at, form)
		}
		next = &text
	}
	err = d.b.SetSessionStateIf(ctx, at.Path, id, engine.SessionStateTag(typed.Get(entitypage.StateSeen)), next, actor(c))
	if errors.Is(err, engine.ErrChanged) {
		form.Error = component.Text{S: locale.T(ctx, "ui.state.newer")}
		return d.writeStateError(c, http.StatusConflict, at, form)
	}
	if err != nil {
		if at.Action != "state" || !isFormError(err) {
			return err
		}
		form.Error = errorMessage(err)
		return d.writeStateError(c, statusCode(err), at, form)
	}
	if next == nil {
		return d.redirectToSession(c, at, id, "ui.state.cleared")
	}
	return d.redirectToSession(c, at, id, "ui.state.set")
}

// readState decodes the session state that was entered in the form as text or in hexadecimal.
// `wrong` is the error to show beside the field, or zero.
func readState(ctx context.Context, f entitypage.StateForm) (state string, wrong component.Text) {
	switch f.As {
	case entitypage.StateHex:
		var out []byte
		digits := strings.Join(strings.Fields(f.Text), "")
		for i := 0; i < len(digits); i += 2 {
			pair := digits[i:min(i+2, len(digits))]
			b, err := hex.DecodeString(pair)
			if err != nil {
				return "", component.Text{S: locale.T(ctx, "ui.state.hex", locale.Args{"Pair": component.ShowInvisible(strings.ToValidUTF8(pair, "\uFFFD"))})}
			}
			out = append(out, b...)
		}
		return string(out), component.Text{}
	case entitypage.StateText:
		return strings.ReplaceAll(f.Text, "\r\n", "\n"), component.Text{}
	default:
		return "", component.Text{S: locale.T(ctx, "ui.state.as")}
	}
}

// writeStateError shows the session's page again with the typed state.
func (d *Handler) writeStateError(c echo.Context, code int, at pages.Address, f entitypage.StateForm) error {
	p, err := entity.SessionWithState(c.Request().Context(), d.pages, at, f)
	if err != nil {
		return err
	}
	return d.writeComponent(c, code, p.Full())
}

// sessionID returns the session in the address, if the entity has sessions.
func (d *Handler) sessionID(c echo.Context, at pages.Address) (string, error) {
	id := at.Query.Get(entitypage.SessionID)
	if !at.Query.Has(entitypage.SessionID) {
		return "", pages.ErrPageNotFound
	}
	e, err := d.readEntityState(c, at.Path)
	if err != nil {
		return "", err
	}
	if !e.Config.RequiresSession {
		return "", pages.ErrPageNotFound
	}
	return id, nil
}

func (d *Handler) redirectToSession(c echo.Context, at pages.Address, id, says string) error {
	return d.redirectBack(c, d.pages.SessionURL(at.EntityType, at.Path, id), component.Notice{
		Title: locale.T(c.Request().Context(), says, locale.Args{"ID": component.SessionName(c.Request().Context(), id)}),
	})
}
