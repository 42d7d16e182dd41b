package engine

// Upcoming is when the next thing of each kind happens by the passing of time
// alone; zero: nothing of the kind is to come.
type Upcoming struct {
	Expiry     Instant // a message runs out
	Activation Instant // a scheduled message becomes available
	Unlock     Instant // a message's lock runs out; those of sessions are not told
	AutoDelete Instant // an entity deletes itself, if nobody uses it
}

// Upcoming looks for what happens next. Where many messages are scheduled and few
// locked, or the other way round, it takes time in proportion to the many.
func (ns *Namespace) Upcoming() (u Upcoming) {
	for _, h := range ns.holders {
		if a, ok := h.expiring.first(); ok {
			u.Expiry = earlier(u.Expiry, a.at)
		}
		activation, unlock := h.upcoming()
		u.Activation, u.Unlock = earlier(u.Activation, activation), earlier(u.Unlock, unlock)
	}
	for _, i := range ns.Idlers(Forever) {
		u.AutoDelete = earlier(u.AutoDelete, i.DeletesAt)
	}
	return u
}

// upcoming is when the next of h's messages is activated, and unlocked.
func (h *holder) upcoming() (activation, unlock Instant) {
	for _, chunk := range h.pending.chunks {
		for _, a := range chunk {
			m := h.order.at(a.seq)
			switch {
			case m == nil:
				continue
			case m.State == Scheduled:
				activation = earlier(activation, a.at)
			default:
				unlock = earlier(unlock, a.at)
			}
			if activation != 0 && unlock != 0 {
				return activation, unlock
			}
		}
	}
	return activation, unlock
}
