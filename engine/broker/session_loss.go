package broker

import (
	"context"

	"mayfly/engine"
)

// A SessionLossListener is a Sink that stays registered when the lock of its session has run out,
// until SessionMoved is called or the receiver is detached.
type SessionLossListener interface {
	Sink
	// SessionMoved reports that the receiver's messages may go elsewhere: another receiver, over
	// any protocol, has locked the session since; one of its messages became available, which
	// this receiver will not get; or its entity was deleted or refuses receivers. It is called
	// after Ended and at most once.
	SessionMoved()
}

// lossListeners holds the receivers that stay registered although they lost the locks of their
// sessions. Owned by run.
type lossListeners struct {
	bySession map[lostSession]lossListener
	byLink    map[engine.LinkID]lostSession // the same, by receiver
}

// A lostSession identifies a session of a subqueue.
type lostSession struct {
	subqueue engine.Path
	id       string
}

type lossListener struct {
	link engine.LinkID
	to   SessionLossListener
}

func lostSessionOf(a engine.SessionAccepted) lostSession { return lostSession{a.Path, a.ID} }

// add registers a receiver that lost its session. If another is registered for the same session, add
// calls its SessionMoved.
func (l *lossListeners) add(ns *engine.Namespace, lost engine.SessionAccepted, to SessionLossListener) {
	k := lostSessionOf(lost)
	l.notifyMoved(ns, k)
	if l.bySession == nil {
		l.bySession, l.byLink = map[lostSession]lossListener{}, map[engine.LinkID]lostSession{}
	}
	l.bySession[k], l.byLink[lost.Link] = lossListener{lost.Link, to}, k
	ns.WatchSession(k.subqueue, k.id)
}

// accepted calls SessionMoved of the receiver that is registered for a session when another
// receiver has locked the session.
func (l *lossListeners) accepted(ns *engine.Namespace, a engine.SessionAccepted) {
	if k := lostSessionOf(a); len(l.bySession) > 0 && l.bySession[k].link != a.Link {
		l.notifyMoved(ns, k)
	}
}

func (l *lossListeners) notifyMoved(ns *engine.Namespace, k lostSession) {
	if was, ok := l.bySession[k]; ok {
		l.forget(ns, was.link)
		was.to.SessionMoved()
	}
}

// forget removes a receiver that is detached.
func (l *lossListeners) forget(ns *engine.Namespace, id engine.LinkID) {
	if k, ok := l.byLink[id]; ok {
		delete(l.byLink, id)
		delete(l.bySession, k)
		ns.UnwatchSession(k.subqueue, k.id)
	}
}

// SessionAvailable reports whether a session has a message that its next receiver
// would get.
func (b *Broker) SessionAvailable(ctx context.Context, p engine.Path, id string) (is bool, err error) {
	err = b.Read(ctx, func(r Reader) error {
		is, err = r.ns.SessionAvailable(r.Now, p, id)
		return err
	})
	return is, err
}
