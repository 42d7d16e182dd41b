package amqp

import (
	"errors"
	"sync"
	"time"

	"mayfly/engine"
)

// lostSessions are the links whose session's lock has run out while they only
// waited. They stay, with nothing to come, until somebody else has the session:
// clients that wait as long as their lock lasts would be told of a failure where
// there was none (sdk-demands 8).
type lostSessions struct {
	mu sync.Mutex
	by map[lostSession]*outlet
}

type lostSession struct {
	path string // folded
	id   string
}

func (o *outlet) lostSession() lostSession { return lostSession{o.path.Fold(), o.session.ID} }

// lapsed tells whether the link ends because of why, but not yet: the lock of its
// session has run out, and it holds nothing. One that an operator has broken
// before its time is told.
func (o *outlet) lapsed(why error) bool {
	return errors.Is(why, engine.ErrSessionLockLost) && o.session.LockedUntil.Passed(engine.At(time.Now())) &&
		o.unsettled == 0 && len(o.queue) == 0 && o.current == nil
}

// add has o be told when somebody else has its session.
func (l *lostSessions) add(o *outlet) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.by == nil {
		l.by = map[lostSession]*outlet{}
	}
	l.by[o.lostSession()] = o // who had it before lost it to o
}

// remove forgets o, which is over.
func (l *lostSessions) remove(o *outlet) {
	if o.want.Want == engine.NoSession {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if k := o.lostSession(); l.by[k] == o {
		delete(l.by, k)
	}
}

// found has the link that lost o's session told that o has it.
func (l *lostSessions) found(o *outlet) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := o.lostSession()
	if was := l.by[k]; was != nil {
		delete(l.by, k)
		was.s.c.mail.do(func() {
			if !was.over {
				was.fail(asError(&engine.Refusal{Kind: engine.ErrSessionLockLost, Text: engine.SessionLockLostText}))
			}
		})
	}
}
