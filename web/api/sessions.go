package api

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net/http"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/web/auth"
	"mayfly/web/auth/origin"
)

// Sessions is the answer of GET /sessions.
type Sessions struct {
	Sessions []Session `json:"sessions"`       // by id
	Next     string    `json:"next,omitempty"` // value for 'from' to continue
}

// A Session is a session of an entity. State and StateBase64 are returned only by GET
// /session; both are missing if no state is set.
type Session struct {
	ID             string     `json:"id"`                       // the empty text is a valid id
	Active         int64      `json:"active"`                   // messages available to receivers
	Locked         int64      `json:"locked"`                   // messages locked by its holder
	Deferred       int64      `json:"deferred"`                 // messages available by their sequence numbers
	Holder         string     `json:"holder,omitempty"`         // the client that holds it, if known
	LockedUntil    *time.Time `json:"lockedUntil,omitempty"`    // missing if it is not held
	StateSize      *int       `json:"stateSize,omitempty"`      // bytes; missing if no state is set
	StateChangedAt *time.Time `json:"stateChangedAt,omitempty"` // when its state was last set
	StateTag       string     `json:"stateTag,omitempty"`       // only in GET /session: identifies the state, also if none is set
	LockHistory
	SessionState
}

// SetState is the request of PUT /session. Without state and stateBase64 it clears the state.
type SetState struct {
	IfStateTag *engine.SessionStateTag `json:"ifStateTag,omitempty"` // the stateTag of the state to replace: 409 if it has changed; missing replaces any state
	SessionState
}

// A SessionState is a state, as text or in base64.
type SessionState struct {
	State       *string `json:"state,omitempty"`       // as text
	StateBase64 *string `json:"stateBase64,omitempty"` // instead of state
}

// AcceptSession is the request of POST /accept-session.
type AcceptSession struct {
	Session *string `json:"sessionId,omitempty"` // its id; missing means the next available one
	Mode    string  `json:"mode,omitempty"`      // as in Receive, for all messages that are received from it
	Wait    string  `json:"wait,omitempty"`      // for the next one: a duration; no wait if absent
}

// A HeldSession is a session locked by POST /accept-session. It ends with DELETE /accept-session or when its lock
// expires; POST /renew-lock extends it.
type HeldSession struct {
	SessionLockToken string    `json:"sessionLockToken"` // for /receive, /renew-lock and DELETE /accept-session
	Session          string    `json:"sessionId"`
	LockedUntil      time.Time `json:"lockedUntil"`
}

// heldSessions are the sessions locked for clients without a connection. It is safe for concurrent
// use.
type heldSessions struct {
	mu   sync.Mutex
	held map[string]*broker.Session
}

// keep stores a session, and returns a name for it that cannot be guessed. The name is valid until
// the session ends.
func (h *heldSessions) keep(s *broker.Session) string {
	name := rand.Text()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.held == nil {
		h.held = map[string]*broker.Session{}
	}
	h.held[name] = s
	go func() { // ends with the session, which ends with its lock or with the broker
		<-s.Done()
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.held, name)
	}()
	return name
}

func (h *heldSessions) session(name string) (*broker.Session, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s := h.held[name]; s != nil && s.Err() == nil {
		return s, nil
	}
	return nil, engine.Refuse(engine.ErrSessionLockLost, "The session is not held: its lock has expired, or it was released.")
}

func sessionRoutes() []route {
	fails := func(more ...string) []string { return append(more, "MessagingEntityNotFound", "InvalidOperation") }
	return []route{
		{
			method: "GET", path: "/sessions/{path}", id: "listSessions", group: groupSessions, summary: "List sessions by ID",
			exampleParam: "chats", exampleQuery: "limit=20",
			query:    []parameter{textParameter("from", "The first ID.").withExample("customer-1"), numberParameter("limit", 1, maxSessions, fmt.Sprintf("The maximum number of results; %d if absent.", sessionsCount))},
			response: Sessions{}, problems: fails(), handle: (*handler).listSessions,
		},
		{
			method: "GET", path: "/session/{path}", id: "getSession", group: groupSessions, summary: "Get a session and its state",
			exampleParam: "chats", exampleQuery: "id=customer-1",
			query: []parameter{sessionID()}, response: Session{}, problems: fails(), handle: (*handler).session,
		},
		{
			method: "PUT", path: "/session/{path}", id: "setSessionState", role: auth.Operator, destruction: destroys, group: groupSessions, summary: "Set or clear the state of a session, even if a client holds it",
			exampleParam: "chats", exampleQuery: "id=customer-1", exampleBody: `{"state":"step 2 of 3"}`,
			description: "With ifStateTag, as in {\"state\":\"…\",\"ifStateTag\":\"none\"}, the state is set only if it has not changed since; otherwise the answer is 409.",
			query:       []parameter{sessionID()}, request: SetState{}, maxBody: origin.MaxBody, response: Session{}, problems: fails("Changed", "QuotaExceeded"), handle: (*handler).setState,
		},
		{
			method: "DELETE", path: "/session/{path}", id: "unlockSession", role: auth.Operator, group: groupSessions, summary: "End the lock of a session as if it had expired",
			exampleParam: "chats", exampleQuery: "id=customer-1",
			query: []parameter{sessionID()}, problems: fails("SessionLockLost"), handle: (*handler).breakSessionLock,
		},
		{
			method: "POST", path: "/accept-session/{path}", id: "acceptSession", role: auth.Operator, group: groupSessions, summary: "Accept a session, or the next available one",
			exampleParam: "chats", exampleBody: `{"sessionId":"customer-1"}`,
			description: "Give the sessionLockToken of the answer to receive and renew-lock. The session ends when it is released or when its lock expires (410).",
			request:     AcceptSession{}, status: http.StatusCreated, response: HeldSession{}, problems: fails("SessionCannotBeLocked", "MessagingEntityDisabled", "QuotaExceeded"), handle: (*handler).accept,
		},
		{
			method: "DELETE", path: "/accept-session/{path}", id: "releaseSession", role: auth.Operator, group: groupSessions, summary: "Release a session and its unsettled messages",
			exampleParam: "chats", exampleQuery: "sessionLockToken=TOKEN",
			query: []parameter{requiredParameter(textParameter("sessionLockToken", "The sessionLockToken of the answer to accept-session.").withExample("TOKEN")).routeRole()}, problems: []string{"SessionLockLost"}, handle: (*handler).releaseSession,
		},
	}
}

func sessionID() parameter {
	return requiredParameter(textParameter("id", "The ID of the session; may be empty.").withExample("customer-1")).routeRole()
}

func (d *handler) listSessions(c echo.Context) error {
	p, err := d.path(c)
	if err != nil {
		return err
	}
	q, count := query(c), int(number(c, "limit", sessionsCount))
	var rows []engine.SessionRow
	err = d.broker.Read(c.Request().Context(), func(r broker.Reader) (err error) {
		rows, err = r.SessionRows(p, q.Get("from"), count+1)
		return err
	})
	if err != nil {
		return err
	}
	out := Sessions{Sessions: []Session{}}
	for i, r := range rows {
		if i == count {
			out.Next = r.ID
			break
		}
		out.Sessions = append(out.Sessions, presentSession(r))
	}
	return reply(c, http.StatusOK, out)
}

const (
	sessionsCount = 100  // sessions of an answer by default
	maxSessions   = 1000 // sessions of an answer at most
)

func presentSession(r engine.SessionRow) Session {
	out := Session{
		ID: r.ID, Active: r.Active, Locked: r.Locked, Deferred: r.Deferred, Holder: r.Lock.By,
		LockedUntil: timeOf(r.LockedUntil), LockHistory: presentLockHistory(r.Lock), StateChangedAt: timeOf(r.ChangedAt),
	}
	if r.StateSet {
		out.StateSize = &r.StateSize
	}
	return out
}

// session returns a session with its state. Every session id exists (SES-1).
func (d *handler) session(c echo.Context) error {
	p, id, err := d.sessionParam(c)
	if err != nil {
		return err
	}
	return d.answerSession(c, p, id)
}

func (d *handler) answerSession(c echo.Context, p engine.Path, id string) error {
	out := Session{ID: id}
	err := d.broker.Read(c.Request().Context(), func(r broker.Reader) error {
		row, ok, err := r.SessionRow(p, id)
		if err != nil {
			return err
		}
		if ok {
			out = presentSession(row)
		}
		state, set, err := r.SessionStateAt(p, id)
		if err != nil {
			return err
		}
		out.StateTag = string(engine.TagSessionState(nil))
		if set {
			out.SessionState, out.StateTag = presentState(state), string(engine.TagSessionState(&state))
		}
		return nil
	})
	if err != nil {
		return err
	}
	return reply(c, http.StatusOK, out)
}

func presentState(state string) SessionState {
	if utf8.ValidString(state) {
		return SessionState{State: &state}
	}
	b := base64.StdEncoding.EncodeToString([]byte(state))
	return SessionState{StateBase64: &b}
}

func (d *handler) sessionParam(c echo.Context) (engine.Path, string, error) {
	p, err := d.path(c)
	if err != nil {
		return "", "", err
	}
	q := query(c)
	if !q.Has("id") {
		err = engine.Refuse(engine.ErrArgument, "The query parameter 'id' is missing, as in ?id=…")
	}
	return p, q.Get("id"), err
}

// setState sets or clears the state of a session, regardless of its lock (OPS-11).
func (d *handler) setState(c echo.Context) error {
	r := c.Request()
	p, id, err := d.sessionParam(c)
	if err != nil {
		return err
	}
	in, err := readJSON[SetState](r, 2*d.broker.Limits().SessionStateSize+smallBody)
	if err != nil {
		return err
	}
	state := in.State
	if in.StateBase64 != nil {
		b, err := base64.StdEncoding.DecodeString(*in.StateBase64)
		if err != nil || state != nil {
			return engine.Refuse(engine.ErrArgument, "Give either 'state' or 'stateBase64', not both.")
		}
		text := string(b)
		state = &text
	}
	if in.IfStateTag != nil {
		err = d.broker.SetSessionStateIf(r.Context(), p, id, *in.IfStateTag, state, client(r))
	} else {
		err = d.broker.SetSessionStateAt(r.Context(), p, id, state, client(r))
	}
	if err != nil {
		return err
	}
	return d.answerSession(c, p, id)
}

// breakSessionLock ends a session's lock as if it had expired.
func (d *handler) breakSessionLock(c echo.Context) error {
	p, id, err := d.sessionParam(c)
	if err != nil {
		return err
	}
	if err := d.broker.BreakSession(c.Request().Context(), p, id, client(c.Request())); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// accept locks a session, stores it in heldSessions, and answers with its lock token.
func (d *handler) accept(c echo.Context) error {
	r := c.Request()
	p, err := d.path(c)
	if err != nil {
		return err
	}
	in, err := readJSON[AcceptSession](r, smallBody)
	if err != nil {
		return err
	}
	mode, err := parseMode(in.Mode)
	if err != nil {
		return err
	}
	wait, err := parseWait(in.Wait)
	if err != nil {
		return err
	}
	s, err := d.broker.AcceptSession(r.Context(), broker.AcceptRequest{Path: p, Session: in.Session, Mode: mode, Wait: wait, Client: client(r)})
	if err != nil {
		return err
	}
	return reply(c, http.StatusCreated, HeldSession{SessionLockToken: d.heldSessions.keep(s), Session: s.ID(), LockedUntil: s.LockedUntil().Time()})
}

// releaseSession releases a session: its unsettled messages are available at once (SES-7).
func (d *handler) releaseSession(c echo.Context) error {
	_, err := d.path(c)
	if err != nil {
		return err
	}
	s, err := d.heldSessions.session(query(c).Get("sessionLockToken"))
	if err != nil {
		return err
	}
	if err := s.Close(c.Request().Context()); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

func (d *handler) renewSession(c echo.Context, in Renew) error {
	if in.LockToken != "" {
		return engine.Refuse(engine.ErrArgument, "Give either 'lockToken' or 'sessionLockToken', not both.")
	}
	s, err := d.heldSessions.session(in.SessionLockToken)
	if err != nil {
		return err
	}
	until, err := s.Renew(c.Request().Context())
	if err != nil {
		return err
	}
	return reply(c, http.StatusOK, Renewed{LockedUntil: until.Time()})
}
