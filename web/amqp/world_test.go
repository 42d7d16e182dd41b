package amqp_test

import (
	"context"
	"net"
	"testing"

	goamqp "github.com/Azure/go-amqp"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/storage/memory"
	"mayfly/web/amqp"
)

// A world is a broker in memory with a server in front of it. At the test's end
// both are closed, and the engine's indexes must be right.
type world struct {
	t testing.TB
	b *broker.Broker
	s *amqp.Server
}

func newWorld(t testing.TB, o amqp.Options, bo broker.Options) *world {
	t.Helper()
	b, err := broker.Open(t.Context(), func(context.Context) (engine.Store, error) { return new(memory.Store), nil }, bo)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, b: b, s: amqp.New(o)}
	w.s.Open(b)
	t.Cleanup(func() {
		w.s.Close(context.Background())
		b.Close()
	})
	return w
}

// queue makes a queue.
func (w *world) queue(path engine.Path, c engine.Config) {
	w.t.Helper()
	if _, err := w.b.Create(w.t.Context(), engine.Queue, path, c, "tester"); err != nil {
		w.t.Fatal(err)
	}
}

// listen serves on a port of its own and returns where.
func (w *world) listen() string {
	w.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- w.s.Serve(l) }()
	w.t.Cleanup(func() {
		w.s.Close(context.Background())
		if err := <-served; err != nil {
			w.t.Error(err)
		}
	})
	return l.Addr().String()
}

// plug connects to the server without a network.
func (w *world) plug() net.Conn {
	ours, theirs := net.Pipe()
	go w.s.ServeConn(theirs)
	return ours
}

// dial connects go-amqp.
func (w *world) dial() *goamqp.Conn {
	w.t.Helper()
	c, err := goamqp.NewConn(w.t.Context(), w.plug(), &goamqp.ConnOptions{SASLType: goamqp.SASLTypeAnonymous()})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = c.Close() }) // the server may have closed it before
	return c
}
