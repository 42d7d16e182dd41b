package amqp

import (
	"errors"
	"io"
	"sync"
)

const (
	pipeHighWater = 256 << 10 // number of bytes in a pipe above which its writer waits
	pipeMaxBytes  = pipeHighWater + streamThreshold
)

// A pipe carries the data of a large message from the connection's reader to the store. A
// write never waits: the writer checks whether the pipe is full and waits then, so that
// the pipe holds no more than pipeHighWater and one write.
type pipe struct {
	roomSignal chan struct{} // has an element when a full pipe has room again

	mu           sync.Mutex
	ready        sync.Cond // signalled when there is data or the data ends
	buf          []byte    // a ring
	from         int       // index of the first byte in buf
	n            int       // bytes in buf
	err          error     // returned after the bytes in buf; io.EOF for complete data
	readerClosed bool      // closeReader has been called
	written      bool
}

func newPipe() *pipe {
	p := &pipe{roomSignal: make(chan struct{}, 1)}
	p.ready.L = &p.mu
	return p
}

// Write accepts all of b. It drops b after closeReader or closeWriter.
func (p *pipe) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.written = true
	if p.readerClosed || p.err != nil {
		return len(b), nil
	}
	if need := p.n + len(b); need > len(p.buf) {
		larger := make([]byte, max(need, min(2*len(p.buf), pipeMaxBytes)))
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

// peek copies the first len(to) bytes of the data without removing them.
func (p *pipe) peek(to []byte) {
	if len(to) > 0 {
		k := copy(to, p.buf[p.from:])
		copy(to[k:], p.buf)
	}
}

// Read waits until there is data, or until the writer has closed the pipe. Then it returns the
// error of closeWriter after all data.
func (p *pipe) Read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.n == 0 && p.err == nil {
		p.ready.Wait()
	}
	if p.n == 0 {
		return 0, p.err
	}
	was := p.n
	k := min(len(b), p.n)
	p.peek(b[:k])
	p.from = (p.from + k) % len(p.buf)
	p.n -= k
	if was > pipeHighWater && p.n <= pipeHighWater {
		p.signalRoom()
	}
	return k, nil
}

func (p *pipe) signalRoom() {
	select {
	case p.roomSignal <- struct{}{}:
	default: // it has an element already
	}
}

// closeWriter ends the data with err, unless the writer has closed the pipe before. Unless err is
// io.EOF, it also drops the data that has not been read.
func (p *pipe) closeWriter(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return
	}
	if p.err = err; !errors.Is(err, io.EOF) { // the buffered bytes are useless
		p.n = 0
	}
	p.ready.Broadcast()
	p.signalRoom()
}

// closeReader makes the pipe drop all bytes, because nothing reads from it any more.
func (p *pipe) closeReader() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.readerClosed, p.buf, p.n = true, nil, 0
	p.signalRoom()
}

// full reports whether the writer should wait for roomSignal.
func (p *pipe) full() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.n > pipeHighWater
}
