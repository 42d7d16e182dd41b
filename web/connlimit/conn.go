package connlimit

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"time"

	"mayfly/web/proxy"
)

// phase is the state of a connection in its budget.
type phase uint8

const (
	admitted  phase = iota // it has a place of the budget
	emergency              // it has an emergency place
	evicted                // it lost its place and is being closed
	leaving                // it lost its place, and its farewell is being sent
	closed
)

// A Conn is a counted connection. The protocols report the client's progress by its methods.
// Methods on a nil Conn do nothing. All are safe for concurrent use, but only one goroutine may
// read, as with any connection.
type Conn struct {
	net.Conn
	b      *Budget
	kind   Kind
	raw    string                   // the remote address, without port
	client atomic.Pointer[net.Addr] // the client's address, from a proxy or another server; nil if unknown

	// Owned by the reader.
	first    string        // the client's address in the PROXY header, or empty
	buffered *bufio.Reader // holds the PROXY header and the bytes behind it; nil once they are read
	begun    bool          // the PROXY header was read, or found missing

	// Guarded by the budget's mu.
	phase                             phase
	order                             uint64
	positions                         [2]position // in the budget, and in a group
	open, authenticated, used, credit bool
	key                               string    // of the client's address, by proxy.Network
	trusted                           bool      // it comes from a trusted proxy
	exempt                            bool      // it comes from another server and carries many clients
	named                             bool      // client is set
	rejected                          bool      // it was evicted or refused
	evictedFor                        limitKind // why it was evicted
	farewell                          func(why string)
	timer                             *time.Timer // ends an emergency or a farewell
}

func (b *Budget) conn(nc net.Conn, k Kind) *Conn {
	c := &Conn{Conn: nc, b: b, kind: k, raw: proxy.Host(nc.RemoteAddr().String())}
	c.key = proxy.Network(c.raw)
	if c.trusted = k != Cluster && b.o.Trusted.Has(c.raw); c.trusted {
		c.buffered = bufio.NewReaderSize(nc, 256)
	}
	return c
}

// rank returns how c ranks in its pools. The caller holds the budget's mu.
func (c *Conn) rank() rank {
	s := rank{key: c.key, credit: c.credit, exempt: c.exempt || c.trusted && !c.named}
	switch {
	case !c.open:
		s.stage = Handshake
	case !c.authenticated:
		s.stage = Unauthenticated
	case !c.used:
		s.stage = Unused
	default:
		s.stage = Used
	}
	return s
}

// change calls `do`, which changes what c's rank depends on, and moves c in its pools accordingly.
func (c *Conn) change(do func()) {
	if c == nil {
		return
	}
	b := c.b
	b.mu.Lock()
	defer b.mu.Unlock()
	was := c.rank()
	do()
	is := c.rank()
	if c.phase != admitted || is == was {
		return
	}
	if is.stage != was.stage {
		b.order++
		c.order = b.order
	}
	for i := range c.positions {
		if s := &c.positions[i]; s.pool != nil {
			s.pool.move(s, c, was, is)
		}
	}
}

// Opened records that the handshake is finished, and with `proven` that the client has shown a token
// or needs none.
func (c *Conn) Opened(proven bool) {
	c.change(func() { c.open, c.authenticated = true, c.authenticated || proven })
}

// Authenticated records that the client has shown a token.
func (c *Conn) Authenticated() { c.change(func() { c.authenticated = true }) }

// Use records whether a link is open or a request is being answered, and whether a link
// has credit.
func (c *Conn) Use(used, credit bool) { c.change(func() { c.used, c.credit = used, credit }) }

// RestartHandshake records that another protocol, such as AMQP in a WebSocket, begins its own
// handshake on the connection.
func (c *Conn) RestartHandshake() {
	c.change(func() { c.open, c.authenticated, c.used, c.credit = false, false, false, false })
}

// Exempt records that the connection comes from another server and carries many clients.
func (c *Conn) Exempt() {
	c.change(func() { c.open, c.authenticated, c.used, c.credit, c.exempt = true, true, true, true, true })
}

// SetClient sets the client's address, as a trusted proxy or another server gives it. An
// empty address restores the one of the PROXY header, or else the remote address. Only
// the goroutine that reads may call it.
func (c *Conn) SetClient(address string) {
	if c == nil {
		return
	}
	at := c.Conn.RemoteAddr()
	if address == "" {
		address = c.first
	}
	if address != "" {
		at = clientAddr(address)
		c.client.Store(&at)
	} else {
		c.client.Store(nil)
	}
	key := proxy.Network(proxy.Host(at.String()))
	c.change(func() { c.key, c.named = key, address != "" })
}

// Network returns the key by which the client's address is counted, as proxy.Network has
// it. It is empty if a trusted proxy names no client, because the connection may then be of
// any.
func (c *Conn) Network() string {
	if c == nil {
		return ""
	}
	c.b.mu.Lock()
	defer c.b.mu.Unlock()
	if c.trusted && !c.named {
		return ""
	}
	return c.key
}

// A clientAddr is the address of a client as text.
type clientAddr string

func (clientAddr) Network() string  { return "tcp" }
func (a clientAddr) String() string { return string(a) }

// OnEvict sets a function that is called at most once, when the connection is to be closed
// for another one. It must not block, and starts closing the connection; after two seconds
// the connection is cut. With nil, the connection is cut at once.
func (c *Conn) OnEvict(farewell func(why string)) {
	if c == nil {
		return
	}
	c.b.mu.Lock()
	defer c.b.mu.Unlock()
	c.farewell = farewell
}

// Admit reports whether the connection has a place of the budget. It moves a connection
// out of its emergency place if the budget has a free place by now.
func (c *Conn) Admit() bool {
	if c == nil {
		return true
	}
	b := c.b
	b.mu.Lock()
	var gone []*Conn
	if c.phase == emergency && (b.hasRoom() || b.evict(&b.all, b.o.Max, "", &gone)) {
		b.leaveEmergency(c)
		b.admit(c)
	}
	ok := c.phase == admitted
	b.mu.Unlock()
	b.closeEvicted(gone, false)
	return ok
}

// expire closes a connection whose time in an emergency place is over.
func (c *Conn) expire() {
	b := c.b
	b.mu.Lock()
	over := c.phase == emergency
	if over {
		b.refuse(c)
	}
	b.mu.Unlock()
	if over {
		_ = c.Conn.Close() // its reader and writer get the error
		b.report(budgetLimit, time.Now())
	}
}

// leaveEmergency takes c out of the emergency places. The caller holds mu.
func (b *Budget) leaveEmergency(c *Conn) {
	c.timer.Stop()
	ring := b.emergency[c.kind]
	for i, other := range ring {
		if other == c {
			b.emergency[c.kind] = append(ring[:i], ring[i+1:]...)
			return
		}
	}
}

// FullText returns the error text for a connection that is not admitted.
func (c *Conn) FullText() string { return c.b.FullText() }

// Close implements net.Conn.
func (c *Conn) Close() error {
	b, refused := c.b, false
	b.mu.Lock()
	switch c.phase {
	case admitted:
		b.drop(c)
	case emergency:
		b.refuse(c)
		refused = true
	case leaving:
		c.timer.Stop()
		b.leaving--
	case evicted, closed:
	}
	c.phase, c.farewell = closed, nil
	b.mu.Unlock()
	err := c.Conn.Close()
	if refused {
		b.report(budgetLimit, time.Now())
	}
	b.refillReserve()
	return err
}

// CloseWrite closes the writing side of the connection. The error is errors.ErrUnsupported if the
// connection cannot be closed on one side only.
func (c *Conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// RemoteAddr returns the client's address: the one that SetClient or a PROXY header gave,
// or else that of the connection.
func (c *Conn) RemoteAddr() net.Addr {
	if at := c.client.Load(); at != nil {
		return *at
	}
	return c.Conn.RemoteAddr()
}

// ReadHeader reads the PROXY header, if a trusted proxy sent one. From then on, RemoteAddr
// returns the client's address. The first Read does the same. Only the goroutine that
// reads may call it. On connections of other peers it does nothing.
func (c *Conn) ReadHeader() error {
	if c == nil || c.buffered == nil || c.begun {
		return nil
	}
	c.begun = true
	at, err := proxy.ReadHeader(c.buffered)
	if at != nil {
		c.first = at.String()
		c.SetClient(c.first)
	}
	return err
}

// Read implements net.Conn. On a connection that was closed for another one it returns
// io.EOF, as if the client had closed it: an eviction is no error of the reader.
func (c *Conn) Read(p []byte) (int, error) {
	n, err := c.read(p)
	if err != nil && errors.Is(err, net.ErrClosed) && c.Evicted() {
		err = io.EOF
	}
	return n, err
}

// Evicted reports whether the connection was closed for another one or refused.
func (c *Conn) Evicted() bool {
	if c == nil {
		return false
	}
	c.b.mu.Lock()
	defer c.b.mu.Unlock()
	return c.rejected
}

func (c *Conn) read(p []byte) (int, error) {
	if c.buffered == nil {
		return c.Conn.Read(p)
	}
	if err := c.ReadHeader(); err != nil {
		return 0, err
	}
	if c.buffered.Buffered() == 0 {
		c.buffered = nil
		return c.Conn.Read(p)
	}
	return c.buffered.Read(p)
}

// Unwrap returns the Conn below TLS or a WebSocket, or nil if a budget does not count the
// connection. Each wrapper in between needs a NetConn method.
func Unwrap(nc net.Conn) *Conn {
	for nc != nil {
		if c, ok := nc.(*Conn); ok {
			return c
		}
		in, ok := nc.(interface{ NetConn() net.Conn })
		if !ok {
			return nil
		}
		nc = in.NetConn()
	}
	return nil
}

type connKey struct{}

// WithConn returns a context that carries the connection of a request.
func WithConn(ctx context.Context, c *Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// FromContext returns the connection of a request, or nil if it is unknown.
func FromContext(ctx context.Context) *Conn {
	c, _ := ctx.Value(connKey{}).(*Conn)
	return c
}
