package broker

import "mayfly/engine"

// ExpiringFrom returns up to limit messages behind the position `from` that expire by `until`, in
// the order in which they expire; see engine.Namespace.ExpiringFrom.
func (r Reader) ExpiringFrom(from engine.ExpiryCursor, until engine.Instant, limit int, covers func(engine.Path) bool) (rows []engine.Row, to engine.ExpiryCursor, next engine.Instant) {
	return r.ns.ExpiringFrom(from, until, limit, covers)
}

// IdleEntities returns the entities that delete themselves by the instant `until` if they are not
// used.
func (r Reader) IdleEntities(until engine.Instant) []engine.IdleEntity {
	return r.ns.IdleEntities(until)
}

// MissedExpiries returns the messages that now expire before the watch's position, so that the
// watch has missed them.
func (r Reader) MissedExpiries() engine.MissedExpiries { return r.ns.MissedExpiries() }

// WatchExpiry sets the state of the namespace's only expiry watch. It changes nothing but the
// results of MissedExpiries and ExpiryChanged.
func (r Reader) WatchExpiry(v engine.ExpiryWatch) { r.ns.WatchExpiry(v) }

// StopExpiryWatch ends the expiry watch.
func (r Reader) StopExpiryWatch() { r.ns.StopExpiryWatch() }

// ExpiryChanged returns a channel that holds a token when there is news for the expiry watch:
// messages were missed, another message is the next to expire, or the namespace was reloaded.
func (b *Broker) ExpiryChanged() <-chan struct{} { return b.expiryChanged }

func (b *Broker) signalExpiryChanged() {
	select {
	case b.expiryChanged <- struct{}{}:
	default:
	}
}
