package e2e

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A FaultyProxy is a TCP proxy between two programs that can be cut.
type FaultyProxy struct {
	net.Listener
	to      string
	wg      sync.WaitGroup
	waiting atomic.Int64  // connections that wait for Repair
	late    atomic.Int64  // delay of responses, a time.Duration
	ended   chan struct{} // closed at the end of the test
	mu      sync.Mutex
	all     map[net.Conn]struct{}
	cut     chan struct{} // closed unless the proxy is cut; new connections wait until it is closed
}

// NewFaultyProxy starts a proxy to an address.
func NewFaultyProxy(t *testing.T, to string) *FaultyProxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &FaultyProxy{Listener: l, to: to, all: map[net.Conn]struct{}{}, cut: make(chan struct{}), ended: make(chan struct{})}
	close(w.cut)
	w.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			w.wg.Go(func() { w.carry(c) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		close(w.ended)
		w.Cut()
		w.Repair()
		w.wg.Wait()
	})
	return w
}

func (w *FaultyProxy) keep(c net.Conn) (whole chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all[c] = struct{}{}
	return w.cut
}

func (w *FaultyProxy) carry(c net.Conn) {
	defer c.Close()
	whole := w.keep(c)
	w.waiting.Add(1)
	<-whole
	w.waiting.Add(-1)
	far, err := net.Dial("tcp", w.to)
	if err != nil {
		return
	}
	defer far.Close()
	w.keep(far)
	there := make(chan struct{})
	go func() { // waited for below
		defer close(there)
		w.pipe(far, c, func() {})
	}()
	w.pipe(c, far, w.delay)
	<-there
}

// delay waits for the delay of responses.
func (w *FaultyProxy) delay() {
	late := time.Duration(w.late.Load())
	if late == 0 {
		return
	}
	over := time.NewTimer(late)
	defer over.Stop()
	select {
	case <-over.C:
	case <-w.ended:
	}
}

func (w *FaultyProxy) pipe(to, from net.Conn, before func()) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			before()
			if _, werr := to.Write(buf[:n]); werr != nil {
				err = werr
			}
		}
		if err != nil {
			_, _ = to.Close(), from.Close()
			return
		}
	}
}

// Cut cuts every connection, and keeps new ones waiting.
func (w *FaultyProxy) Cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-w.cut:
		w.cut = make(chan struct{})
	default: // already cut
	}
	for c := range w.all {
		_ = c.Close()
		delete(w.all, c)
	}
}

func (w *FaultyProxy) Repair() {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-w.cut: // not cut
	default:
		close(w.cut)
	}
}
