package amqp

// A feeder is a link that this side sends on. Its methods are called by the
// writer with the connection's mutex held.
type feeder interface {
	place() *place
	// write appends the next transfer to buf; not wrote: there is none now. It may
	// let go of the mutex for a while.
	write(buf []byte) (_ []byte, wrote bool)
	// rest is called when there was nothing to write, and returns what is to be
	// asked of the broker then; nil: nothing.
	rest() (ask func())
}

// place is where a feeder stands.
type place struct {
	lined bool // in conn.feeding
	stuck bool // in session.stuck: the session's window has no room
}

// line has the writer look at f. Called with mu held.
func (c *conn) line(f feeder) {
	if p := f.place(); !p.lined {
		p.lined = true
		c.feeding = append(c.feeding, f)
	}
}

// sticks has f wait for room in the session's window.
func (s *session) sticks(f feeder) {
	if p := f.place(); !p.stuck {
		p.stuck = true
		s.stuck = append(s.stuck, f)
	}
}

// unstick has the writer look at what waited for room in the window.
func (s *session) unstick() {
	for _, f := range s.stuck {
		f.place().stuck = false
		s.c.line(f)
	}
	s.stuck = nil
}

// pump makes transfers of what links have, one of each in rotation, until buf is
// full; more tells that it is. Called with mu held, which it lets go of while it
// reads bodies from the store.
func (c *conn) pump(buf []byte, asks []func()) (_ []byte, _ []func(), more bool) {
	for len(c.feeding) > 0 {
		round := c.feeding
		c.feeding = c.spare[:0]
		for i, f := range round {
			if len(buf) >= writeAtOnce {
				c.feeding = append(round[i:], c.feeding...)
				c.spare = nil
				return buf, asks, true
			}
			f.place().lined = false
			var wrote bool
			if buf, wrote = f.write(buf); wrote {
				c.line(f)
			} else if ask := f.rest(); ask != nil {
				asks = append(asks, ask)
			}
		}
		clear(round)
		if c.spare = round; cap(round) > mostSpare {
			c.spare = nil
		}
	}
	return buf, asks, false
}

// mostSpare is how many links' places are kept for the next round.
const mostSpare = 256
