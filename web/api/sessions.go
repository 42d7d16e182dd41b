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
	"mayfly/web/access"
	"mayfly/web/identity"
)

// Sessions is the answer of GET /sessions.
type Sessions struct {
	Sessions []Session `json:"sessions"`       // by id
	Next     string    `json:"next,omitempty"` // the value for 'from' that goes on
}

// A Session is one of an entity's. State and StateBase64 are told by GET
// /session alone; both are missing where no state is set.
type Session struct {
	ID             string     `json:"id"`                       // the empty text is an id too
	Active         int64      `json:"active"`                   // messages that may be received
	Locked         int64      `json:"locked"`                   // messages that its holder has
	Deferred       int64      `json:"deferred"`                 // messages that are asked for by their numbers
	Holder         string     `json:"holder,omitempty"`         // who holds it, as far as known
	LockedUntil    *time.Time `json:"lockedUntil,omitempty"`    // missing: nobody holds it
	StateSize      *int       `json:"stateSize,omitempty"`      // bytes; missing: no state is set
	StateChangedAt *time.Time `json:"stateChangedAt,omitempty"` // when its state was set
	StateTag       string     `json:"stateTag,omitempty"`       // told by GET /session: names the state, also where none is set
	Tenure
	SessionState
}

// SetState is what PUT /session takes: neither state nor stateBase64 clears the
// state.
type SetState struct {
	Seen *engine.StateTag `json:"seen,omitempty"` // the stateTag of the state to replace: 409 if it is another by now; missing: whatever it is
	SessionState
}

// A SessionState is a state in one of the two ways to write it.
type SessionState struct {
	State       *string `json:"state,omitempty"`       // as text
	StateBase64 *string `json:"stateBase64,omitempty"` // instead of state
}

// Accept is what POST /accept takes.
type Accept struct {
	Session *string `json:"session,omitempty"` // its id; missing: the next one that has messages
	Mode    string  `json:"mode,omitempty"`    // as Receive's, for all that is received from it
	Wait    string  `json:"wait,omitempty"`    // for the next one: a duration; none if absent
}

// A Hold is a session taken by POST /accept. It ends with DELETE /accept or when
// its lock runs out; POST /renew puts that off.
type Hold struct {
	Hold        string    `json:"hold"` // for /receive, /renew and DELETE /accept
	Session     string    `json:"session"`
	LockedUntil time.Time `json:"lockedUntil"`
}

// holds are the sessions taken for clients that come and go. Safe for concurrent
// use.
type holds struct {
	mu   sync.Mutex
	held map[string]*broker.Session
}

// keep gives a session a name that nobody guesses, until it is over.
func (h *holds) keep(s *broker.Session) string {
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

func (h *holds) session(name string) (*broker.Session, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s := h.held[name]; s != nil {
		return s, nil
	}
	return nil, &engine.Refusal{Kind: engine.ErrSessionLockLost, Text: "Nobody holds a session by that name: its lock has run out, or it was given back."}
}

func sessionRoutes() []route {
	fails := func(more ...string) []string { return append(more, "MessagingEntityNotFound", "InvalidOperation") }
	return []route{
		{
			method: "GET", path: "/sessions/{path}", id: "listSessions", group: groupSessions, summary: "Sessions, by id",
			at: "chats", ask: "count=20",
			query: []parameter{word("from", "The id to begin at.").like("customer-1"), whole("count", 1, maxSessions, fmt.Sprintf("How many at most; %d if absent.", sessionsCount))},
			gives: Sessions{}, fails: fails(), serve: (*door).sessions,
		},
		{
			method: "GET", path: "/session/{path}", id: "getSession", group: groupSessions, summary: "One session, with its state",
			at: "chats", ask: "id=customer-1",
			query: []parameter{sessionID()}, gives: Session{}, fails: fails(), serve: (*door).session,
		},
		{
			method: "PUT", path: "/session/{path}", id: "setSessionState", needs: identity.Operator, ruin: ruins, group: groupSessions, summary: "Set the state of a session, or clear it, whoever holds it",
			at: "chats", ask: "id=customer-1", sends: `{"state":"step 2 of 3"}`,
			about: "On condition that it is still the state that was seen, if seen is given, as in {\"state\":\"…\",\"seen\":\"none\"}: 409 if somebody has set another meanwhile.",
			query: []parameter{sessionID()}, takes: SetState{}, most: access.LargestBody, gives: Session{}, fails: fails("Changed", "QuotaExceeded"), serve: (*door).setState,
		},
		{
			method: "DELETE", path: "/session/{path}", id: "breakSession", needs: identity.Operator, group: groupSessions, summary: "End the lock of a session as if it had run out",
			at: "chats", ask: "id=customer-1",
			query: []parameter{sessionID()}, fails: fails("SessionLockLost"), serve: (*door).breakSession,
		},
		{
			method: "POST", path: "/accept/{path}", id: "acceptSession", needs: identity.Operator, group: groupSessions, summary: "Take a session, or the next one that has messages",
			at: "chats", sends: `{"session":"customer-1"}`,
			about: "It is received from by what this answers: hold, given to receive and renew. It is over when it is given back or when its lock has run out (410).",
			takes: Accept{}, status: http.StatusCreated, gives: Hold{}, fails: fails("SessionCannotBeLocked", "MessagingEntityDisabled", "QuotaExceeded"), serve: (*door).accept,
		},
		{
			method: "DELETE", path: "/accept/{path}", id: "giveSessionBack", needs: identity.Operator, group: groupSessions, summary: "Give a session back: what was not settled is free at once",
			at: "chats", ask: "hold=HOLD",
			query: []parameter{needed(word("hold", "What accepting it answered.").like("HOLD"))}, fails: []string{"SessionLockLost"}, serve: (*door).giveUp,
		},
	}
}

func sessionID() parameter {
	return needed(word("id", "Which session. The empty text is an id too.").like("customer-1"))
}

func (d *door) sessions(c echo.Context) error {
	p, err := d.path(c)
	if err != nil {
		return err
	}
	q, count := query(c), int(number(c, "count", sessionsCount))
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
	sessionsCount = 100  // sessions of an answer, unless fewer or more are asked for
	maxSessions   = 1000 // of one answer at most
)

func presentSession(r engine.SessionRow) Session {
	out := Session{
		ID: r.ID, Active: r.Active, Locked: r.Locked, Deferred: r.Deferred, Holder: r.Lock.By,
		LockedUntil: moment(r.LockedUntil), Tenure: presentTenure(r.Lock), StateChangedAt: moment(r.ChangedAt),
	}
	if r.StateSet {
		out.StateSize = &r.StateSize
	}
	return out
}

// session is one, with its state. It is there for whoever asks (SES-1).
func (d *door) session(c echo.Context) error {
	p, id, err := d.sessionAsked(c)
	if err != nil {
		return err
	}
	return d.answerSession(c, p, id)
}

func (d *door) answerSession(c echo.Context, p engine.Path, id string) error {
	out := Session{ID: id}
	err := d.broker.Read(c.Request().Context(), func(r broker.Reader) error {
		row, ok, err := r.SessionRow(p, id)
		if err != nil {
			return err
		}
		if ok {
			out = presentSession(row)
		}
		state, set, err := r.StateOf(p, id)
		if err != nil {
			return err
		}
		out.StateTag = string(engine.TagState(nil))
		if set {
			out.SessionState, out.StateTag = presentState(state), string(engine.TagState(&state))
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

func (d *door) sessionAsked(c echo.Context) (engine.Path, string, error) {
	p, err := d.path(c)
	if err != nil {
		return "", "", err
	}
	q := query(c)
	if !q.Has("id") {
		err = argument("Which session? Name it as in ?id=…")
	}
	return p, q.Get("id"), err
}

// setState sets or clears the state of a session, whoever holds it (OPS-11).
func (d *door) setState(c echo.Context) error {
	r := c.Request()
	p, id, err := d.sessionAsked(c)
	if err != nil {
		return err
	}
	in, err := given[SetState](r, 2*d.broker.Limits().SessionStateSize+smallBody)
	if err != nil {
		return err
	}
	state := in.State
	if in.StateBase64 != nil {
		b, err := base64.StdEncoding.DecodeString(*in.StateBase64)
		if err != nil || state != nil {
			return argument("A state is given as 'state' or as base64 in 'stateBase64', one of the two.")
		}
		text := string(b)
		state = &text
	}
	if in.Seen != nil {
		err = d.broker.SetStateIf(r.Context(), p, id, *in.Seen, state, client(r))
	} else {
		err = d.broker.SetStateFor(r.Context(), p, id, state, client(r))
	}
	if err != nil {
		return err
	}
	return d.answerSession(c, p, id)
}

// breakSession ends a session's lock as if it had run out.
func (d *door) breakSession(c echo.Context) error {
	p, id, err := d.sessionAsked(c)
	if err != nil {
		return err
	}
	if err := d.broker.BreakSession(c.Request().Context(), p, id, client(c.Request())); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// accept takes a session and keeps it for the client.
func (d *door) accept(c echo.Context) error {
	r := c.Request()
	p, err := d.path(c)
	if err != nil {
		return err
	}
	in, err := given[Accept](r, smallBody)
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
	s, err := d.broker.AcceptSession(r.Context(), broker.Accept{Path: p, Session: in.Session, Mode: mode, Wait: wait, Client: client(r)})
	if err != nil {
		return err
	}
	return reply(c, http.StatusCreated, Hold{Hold: d.holds.keep(s), Session: s.ID(), LockedUntil: s.LockedUntil().Time()})
}

// giveUp gives a session back: what was not settled is free at once (SES-7).
func (d *door) giveUp(c echo.Context) error {
	_, err := d.path(c)
	if err != nil {
		return err
	}
	s, err := d.holds.session(query(c).Get("hold"))
	if err != nil {
		return err
	}
	if err := s.Close(c.Request().Context()); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

func (d *door) renewSession(c echo.Context, in Renew) error {
	if in.LockToken != "" {
		return argument("What is renewed is 'lockToken' or 'hold', not both.")
	}
	s, err := d.holds.session(in.Hold)
	if err != nil {
		return err
	}
	until, err := s.Renew(c.Request().Context())
	if err != nil {
		return err
	}
	return reply(c, http.StatusOK, Renewed{LockedUntil: until.Time()})
}
