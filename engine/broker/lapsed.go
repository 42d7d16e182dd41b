package broker

import "mayfly/engine"

// A Survivor is a Sink that stays when the lock of its session has run out, until
// somebody else has that session or it is detached.
type Survivor interface {
	Sink
	// Succeeded says that another receiver has had the session since, whichever
	// door that came by. It comes after Ended and once at the most.
	Succeeded()
}

// lapses are the survivors of sessions whose locks they lost. Owned by run.
type lapses struct {
	of map[lapse]survivor
	by map[engine.LinkID]lapse // the same, by receiver
}

// A lapse is a session at a place.
type lapse struct {
	place engine.Path
	id    string
}

type survivor struct {
	link engine.LinkID
	to   Survivor
}

func lapseOf(a engine.SessionAccepted) lapse { return lapse{a.Path, a.ID} }

// add has to be told when another has the session that its receiver lost. Who
// waited for the same has been succeeded by that receiver.
func (l *lapses) add(lost engine.SessionAccepted, to Survivor) {
	k := lapseOf(lost)
	l.succeed(k)
	if l.of == nil {
		l.of, l.by = map[lapse]survivor{}, map[engine.LinkID]lapse{}
	}
	l.of[k], l.by[lost.Link] = survivor{lost.Link, to}, k
}

// taken follows that a receiver has a session.
func (l *lapses) taken(a engine.SessionAccepted) {
	if k := lapseOf(a); len(l.of) > 0 && l.of[k].link != a.Link {
		l.succeed(k)
	}
}

func (l *lapses) succeed(k lapse) {
	if was, ok := l.of[k]; ok {
		l.forget(was.link)
		was.to.Succeeded()
	}
}

// forget lets go of a receiver that is detached.
func (l *lapses) forget(id engine.LinkID) {
	if k, ok := l.by[id]; ok {
		delete(l.by, id)
		delete(l.of, k)
	}
}
