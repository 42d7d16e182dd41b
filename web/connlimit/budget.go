package connlimit

import (
	"cmp"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"mayfly/web/proxy"
)

// Options configure a Budget. The zero value bounds nothing.
type Options struct {
	// Max is how many connections may be open. A sixteenth of it, at most 64, may finish
	// their handshake undisturbed. Zero means any number.
	Max int
	// Trusted are the proxies whose PROXY headers name clients. Connections of a proxy that
	// name no client count towards the budget, but towards no address's share.
	Trusted proxy.Trusted
	Logger  *slog.Logger // nil means slog.Default
	// Reserve keeps files open for emergencies, as the package comment describes.
	Reserve bool
}

const (
	maxEmergency     = 32              // connections of each kind in emergency places
	emergencyTimeout = 3 * time.Second // how long a connection keeps an emergency place
	maxLeaving       = 64              // evicted connections that may send a farewell at the same time
	leavingTimeout   = 2 * time.Second // how long a farewell may take
	reservedFiles    = int(kinds) * maxEmergency
	reportInterval   = 10 * time.Second // between two log lines about closed connections
)

// ExtraFiles is how many files a Budget opens beyond one for each connection.
const ExtraFiles = reservedFiles + maxLeaving

// A Budget bounds the connections of a process. Use New to make one. It is safe for
// concurrent use.
type Budget struct {
	o   Options
	log *slog.Logger

	mu        sync.Mutex // guards the fields below, and those of connections that say so
	all       pool
	order     uint64
	emergency [kinds][]*Conn // the latest last
	leaving   int
	tallies   [limitKinds]tally

	ended   chan struct{} // closed by Close
	files   sync.Mutex
	reserve []*os.File // guarded by files
	closed  bool       // Close was called, so no file is kept; guarded by files
}

// New returns a budget. Call Close to free its reserve.
func New(o Options) *Budget {
	b := &Budget{o: o, log: cmp.Or(o.Logger, slog.Default()), ended: make(chan struct{})}
	b.refillReserve()
	return b
}

// Close closes the files of the reserve. It leaves connections open.
func (b *Budget) Close() {
	b.files.Lock()
	defer b.files.Unlock()
	if !b.closed {
		close(b.ended)
	}
	b.closed = true
	for _, f := range b.reserve {
		_ = f.Close() //nolint:errcheck // nothing was written to it
	}
	b.reserve = nil
}

// placeConn gives c a place of the budget or, if the budget is full and no other connection can be
// closed for c, an emergency place. With `pressed`, because the process is out of files, it closes
// another connection even if the budget is not full.
func (b *Budget) placeConn(c *Conn, pressed bool) {
	b.mu.Lock()
	b.order++
	c.order = b.order
	var gone []*Conn
	ok := !pressed && b.hasRoom() || b.evict(&b.all, b.o.Max, "", &gone)
	if ok {
		b.admit(c)
	} else {
		c.phase = emergency
		if ring := b.emergency[c.kind]; len(ring) >= maxEmergency { // the first has had most time
			first := ring[0]
			gone = append(gone, first)
			b.refuse(first)
		}
		b.emergency[c.kind] = append(b.emergency[c.kind], c)
		c.timer = time.AfterFunc(emergencyTimeout, c.expire)
	}
	b.mu.Unlock()
	b.closeEvicted(gone, pressed)
}

// refuse takes c out of its emergency place without giving it a place of the budget. The
// caller holds mu and closes c.
func (b *Budget) refuse(c *Conn) {
	b.leaveEmergency(c)
	c.phase, c.rejected = closed, true
	b.tallies[budgetLimit].closed[Refused]++
}

// hasRoom reports whether one more connection fits. The caller holds mu.
func (b *Budget) hasRoom() bool { return b.o.Max == 0 || b.all.n < b.o.Max }

func (b *Budget) admit(c *Conn) {
	c.phase = admitted
	b.all.add(&c.positions[0], c, c.rank())
}

// evict takes one connection of the pool p out of the budget and adds it to `gone`. The pool may have
// `most` connections; zero means as many as it has. evict reports whether p had one to close; see
// choose about `own`. The caller holds mu, and calls closeEvicted with `gone` after releasing it.
func (b *Budget) evict(p *pool, most int, own string, gone *[]*Conn) bool {
	if most == 0 { // the process is out of files
		most = p.n
	}
	c, why := p.choose(fairShare(most), handshakeSpare(most), own)
	if c == nil {
		return false
	}
	b.drop(c)
	c.phase, c.rejected = evicted, true
	if p != &b.all {
		c.evictedFor = groupLimit
	}
	b.tallies[c.evictedFor].closed[why]++
	*gone = append(*gone, c)
	return true
}

// drop takes an admitted connection out of its pools. The caller holds mu.
func (b *Budget) drop(c *Conn) {
	is := c.rank()
	for i := range c.positions {
		if s := &c.positions[i]; s.pool != nil {
			s.pool.remove(s, is)
		}
	}
}

// closeEvicted closes connections that have lost their place. With `now`, it closes them at once,
// because their files are needed. Otherwise up to maxLeaving of them first send their client the
// reason.
func (b *Budget) closeEvicted(gone []*Conn, now bool) {
	if len(gone) == 0 {
		return
	}
	for _, c := range gone {
		b.mu.Lock()
		farewell, to := c.farewell, c.evictedFor
		if farewell != nil && !now && c.phase == evicted && b.leaving < maxLeaving {
			b.leaving++
			c.phase = leaving
			c.timer = time.AfterFunc(leavingTimeout, func() { _ = c.Conn.Close() }) // its reader and writer get the error
		} else {
			farewell = nil
		}
		b.mu.Unlock()
		if farewell != nil {
			farewell(b.farewell(to))
		} else {
			_ = c.Conn.Close() // its reader and writer get the error
		}
		b.report(to, time.Now())
	}
}

// FullText returns the error text for clients that are refused.
func (b *Budget) FullText() string {
	return fmt.Sprintf("The server has reached its limit of %d connections (--max-connections), and all are in use.", b.o.Max)
}

// A limitKind is the limit that was reached when a connection was closed.
type limitKind uint8

const (
	budgetLimit limitKind = iota
	groupLimit
	limitKinds
)

// farewell returns the error text for clients whose connection is closed for a newer one.
func (b *Budget) farewell(s limitKind) string {
	if s == groupLimit {
		return "The namespace has reached its limit of connections (--limit connections), and this connection was closed for a newer one."
	}
	return fmt.Sprintf("The server has reached its limit of %d connections (--max-connections), and this connection was closed for a newer one.", b.o.Max)
}

// A tally counts the connections that were closed because of one limit.
type tally struct {
	closed, reported [reasons]uint64 // reported are those that were logged
	logged           time.Time
}

// report logs how many connections were closed since the last report, at most once in
// reportInterval.
func (b *Budget) report(s limitKind, now time.Time) {
	b.mu.Lock()
	t := &b.tallies[s]
	if now.Sub(t.logged) < reportInterval {
		b.mu.Unlock()
		return
	}
	var closed []any
	for r, n := range t.closed {
		if more := n - t.reported[r]; more > 0 {
			closed = append(closed, Reason(r).String(), more)
		}
	}
	open := b.all.n
	t.reported, t.logged = t.closed, now
	b.mu.Unlock()
	if s == groupLimit {
		b.log.Warn("a namespace has reached its connection limit and closes connections for new ones; raise --limit connections", slog.Group("closed", closed...))
		return
	}
	b.log.Warn("the server has reached its connection limit and closes or refuses connections; raise --max-connections and the limit of open files",
		"most", b.o.Max, "open", open, slog.Group("closed", closed...))
}

// Counts are the metrics of a Budget.
type Counts struct {
	Max    int             // zero means any number
	Open   [stages]int     // by Stage
	Closed [reasons]uint64 // by Reason, since New
}

// Counts returns how many connections are open and how many were closed.
func (b *Budget) Counts() Counts {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := Counts{Max: b.o.Max}
	for _, t := range b.tallies {
		for r, n := range t.closed {
			c.Closed[r] += n
		}
	}
	rest := b.all.n
	for i := range b.all.stages {
		c.Open[i] = b.all.stages[i].n
		rest -= c.Open[i]
	}
	c.Open[Used] += rest // exempt connections are in no index
	return c
}

// A Group is a set of a budget's connections with a limit of its own. It is safe for
// concurrent use.
type Group struct {
	b    *Budget
	pool pool // guarded by the budget's mu
}

// NewGroup returns an empty group.
func (b *Budget) NewGroup() *Group { return &Group{b: b} }

// Join adds c, which is in no group yet, to the group. If the group already has `most` connections,
// Join closes others, chosen as for the budget except that no connection in use of c's own address
// is closed. An address that reaches the limit alone is therefore refused. Join reports whether it
// has added c.
func (g *Group) Join(c *Conn, most int) bool {
	b := g.b
	b.mu.Lock()
	var gone []*Conn
	ok := c.phase == admitted
	for ok && g.pool.n >= most {
		ok = most > 0 && b.evict(&g.pool, most, c.key, &gone)
	}
	if ok {
		g.pool.add(&c.positions[1], c, c.rank())
	}
	b.mu.Unlock()
	b.closeEvicted(gone, false)
	return ok
}

// Leave removes c from the group.
func (g *Group) Leave(c *Conn) {
	g.b.mu.Lock()
	defer g.b.mu.Unlock()
	if s := &c.positions[1]; s.pool == &g.pool {
		g.pool.remove(s, c.rank())
	}
}

// Adopt counts a connection that no listener of the budget accepted, such as one in
// memory. Close the Conn that it returns.
func (b *Budget) Adopt(nc net.Conn) *Conn {
	c := b.conn(nc, AMQP)
	b.placeConn(c, false)
	return c
}
