package amqp

import (
	"errors"
	"io"
	"sync"
)

const (
	pipeFull  = 256 << 10 // bytes in a pipe from which on its writer waits
	pipeTakes = pipeFull + streamOver
)

// A pipe is how the data of a large message gets from the connection's reader to
// the store. A write never waits: whoever writes asks whether the pipe is full,
// and waits then, so that it holds no more than pipeFull and one write.
type pipe struct {
	moved chan struct{} // has an element when a full pipe is not full any more

	mu    sync.Mutex
	ready sync.Cond // something came, or the end
	buf   []byte    // a ring
	from  int       // in buf, of what is there
	n     int       // bytes there
	err   error     // after what is there; io.EOF: all of it came
	gone  bool      // nobody reads any more
	begun bool
}

func newPipe() *pipe {
	p := &pipe{moved: make(chan struct{}, 1)}
	p.ready.L = &p.mu
	return p
}

// Write takes all of b. What nobody will read is dropped.
func (p *pipe) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begun = true
	if p.gone || p.err != nil {
		return len(b), nil
	}
	if need := p.n + len(b); need > len(p.buf) {
		larger := make([]byte, max(need, min(2*len(p.buf), pipeTakes)))
		p.peek(larger[:p.n])
		p.buf, p.from = larger, 0
	}
	at := (p.from + p.n) % max(1, len(p.buf))
	k := copy(p.buf[at:], b)
	copy(p.buf, b[k:])
	p.n += len(b)
	p.ready.Signal()
	return len(b), nil
}

// peek copies the first of what is there.
func (p *pipe) peek(to []byte) {
	if len(to) > 0 {
		k := copy(to, p.buf[p.from:])
		copy(to[k:], p.buf)
	}
}

// Read waits for data or the end.
func (p *pipe) Read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.n == 0 && p.err == nil {
		p.ready.Wait()
	}
	if p.n == 0 {
		return 0, p.err //nolint:wrapcheck // of whoever ended it
	}
	was := p.n
	k := min(len(b), p.n)
	p.peek(b[:k])
	p.from = (p.from + k) % len(p.buf)
	p.n -= k
	if was > pipeFull && p.n <= pipeFull {
		p.move()
	}
	return k, nil
}

func (p *pipe) move() {
	select {
	case p.moved <- struct{}{}:
	default: // it is known already
	}
}

// end has err come after what is there, unless the end is known.
func (p *pipe) end(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return
	}
	if p.err = err; !errors.Is(err, io.EOF) { // what is there is of no use
		p.n = 0
	}
	p.ready.Broadcast()
	p.move()
}

// leave says that nobody reads any more.
func (p *pipe) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gone, p.buf, p.n = true, nil, 0
	p.move()
}

// full tells whether a writer is to wait for moved.
func (p *pipe) full() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.n > pipeFull
}
