package main

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A wire is between two programs, and can be cut.
type wire struct {
	net.Listener
	to      string
	wg      sync.WaitGroup
	waiting atomic.Int64  // connections that came since it was cut
	late    atomic.Int64  // by how much what comes back is late, a time.Duration
	ended   chan struct{} // closed at the end of the test
	mu      sync.Mutex
	all     map[net.Conn]struct{}
	cut     chan struct{} // closed when the wire is whole; new connections wait for that
}

// lay puts a wire before the program that listens at an address.
func lay(t *testing.T, to string) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{Listener: l, to: to, all: map[net.Conn]struct{}{}, cut: make(chan struct{}), ended: make(chan struct{})}
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
		w.sever()
		w.mend()
		w.wg.Wait()
	})
	return w
}

func (w *wire) keep(c net.Conn) (whole chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all[c] = struct{}{}
	return w.cut
}

func (w *wire) carry(c net.Conn) {
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

// delay is how long what comes back is on its way.
func (w *wire) delay() {
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

func (w *wire) pipe(to, from net.Conn, before func()) {
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

// sever breaks every connection off, and keeps new ones waiting.
func (w *wire) sever() {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-w.cut:
		w.cut = make(chan struct{})
	default: // it is severed
	}
	for c := range w.all {
		_ = c.Close()
		delete(w.all, c)
	}
}

func (w *wire) mend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-w.cut: // it is whole
	default:
		close(w.cut)
	}
}
