package connlimit

// A Stage is how far a connection has come. Lower stages are closed first.
type Stage uint8

// The stages.
const (
	Handshake       Stage = iota // TLS, SASL, AMQP's open or the first headers are incomplete
	Unauthenticated              // the client has shown no token, where tokens are required
	Unused                       // no link is open and no request is being answered
	Used                         // a link is open or a request is being answered
	stages
)

// String returns the stage's label in metrics.
func (s Stage) String() string { return [...]string{"handshake", "unproven", "unused", "used"}[s] }

// A Reason is why a connection was closed for another one or refused.
type Reason uint8

// The reasons, in the order in which connections are closed.
const (
	NoHandshake Reason = iota // its handshake was unfinished
	NoToken                   // its client had shown no token
	NoLink                    // it had no open link
	OverShare                 // its address had most connections, and more than its share
	NoCredit                  // none of its links had credit
	Refused                   // it was new, and no other connection could be closed
	reasons
)

// String returns the reason's label in metrics.
func (r Reason) String() string {
	return [...]string{"handshake", "token", "link", "share", "credit", "refused"}[r]
}

// A rank has the properties of a connection that determine when it is closed for another one.
type rank struct {
	key    string // of the client's address
	stage  Stage
	credit bool // a link has credit
	exempt bool // it carries many clients: it counts towards no share, and is not closed while it is used
}

// A pool is a set of connections from which choose picks one to close.
type pool struct {
	n             int
	stages        [stages]addressIndex
	withoutCredit addressIndex // connections in use without credit
}

// position is the place of a connection in a pool.
type position struct {
	pool                 *pool
	stage, withoutCredit entry
}

func (p *pool) add(s *position, c *Conn, is rank) {
	p.n++
	s.pool = p
	p.put(s, c, is)
}

func (p *pool) put(s *position, c *Conn, is rank) {
	if is.stage == Used && is.exempt {
		return
	}
	p.stages[is.stage].add(&s.stage, c, is.key, c.order)
	if is.stage == Used && !is.credit {
		p.withoutCredit.add(&s.withoutCredit, c, is.key, c.order)
	}
}

// move updates the pool after c's rank has changed.
func (p *pool) move(s *position, c *Conn, was, is rank) {
	p.stages[was.stage].remove(&s.stage)
	p.withoutCredit.remove(&s.withoutCredit)
	p.put(s, c, is)
}

func (p *pool) remove(s *position, was rank) {
	p.stages[was.stage].remove(&s.stage)
	p.withoutCredit.remove(&s.withoutCredit)
	p.n--
	s.pool = nil
}

// choose returns the connection to close for another one, or nil if there is none. An address keeps
// `share` connections in use. While fewer than `spare` connections are in their handshake, these are
// chosen last. If `own` is not empty, choose picks no used connection of that address.
func (p *pool) choose(share, spare int, own string) (*Conn, Reason) {
	if c, _ := p.stages[Handshake].oldest(); c != nil && p.stages[Handshake].n >= spare {
		return c, NoHandshake
	}
	if c, _ := p.stages[Unauthenticated].oldest(); c != nil {
		return c, NoToken
	}
	if c, _ := p.stages[Unused].oldest(); c != nil {
		return c, NoLink
	}
	if c, has := p.stages[Used].oldest(); has > share && c.key != own {
		return c, OverShare
	}
	if c, _ := p.withoutCredit.oldest(); c != nil && c.key != own {
		return c, NoCredit
	}
	c, _ := p.stages[Handshake].oldest()
	return c, NoHandshake
}

// fairShare returns how many connections of a limit of `most` an address keeps in use when other
// addresses connect.
func fairShare(most int) int { return max(1, most/4) }

// handshakeSpare returns how many connections of a limit of `most` may be in their handshake before
// such connections are closed first.
func handshakeSpare(most int) int { return min(most/16, 64) }
