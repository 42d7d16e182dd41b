package amqp_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/brokertest"
	"mayfly/storage/memory"
	"mayfly/web/amqp"
	"mayfly/web/amqp/amqptest"
	"mayfly/web/amqp/wire"
)

// A bubbleWorld is a server with its broker, in a synctest bubble.
type bubbleWorld struct {
	*testing.T
	b *brokertest.Broker
	s *amqp.Server
}

// inBubble runs f with a bubbleWorld that has the queue q. limits override those of the premium
// tier.
func inBubble(t *testing.T, limits map[string]string, f func(h bubbleWorld)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		inBubbleWithStore(t, limits, new(memory.Store), f)
	})
}

func inBubbleWithStore(t *testing.T, limits map[string]string, store engine.Store, f func(h bubbleWorld)) {
	t.Helper()
	l, err := engine.Profile("premium")
	if err != nil {
		t.Fatal(err)
	}
	for name, to := range limits {
		if err := l.Set(name, to); err != nil {
			t.Fatal(err)
		}
	}
	b := brokertest.OpenOn(t, store, broker.Options{Limits: &l})
	s := amqp.New(amqp.Options{Logger: slog.New(slog.DiscardHandler)})
	s.Open(b.Broker)
	h := bubbleWorld{t, b, s}
	h.b.CreateQueue("q", engine.Config{})
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		s.Close(ctx)
	}()
	f(h)
}

// pipe returns a connection to the server. A goroutine serves the other end.
func (h bubbleWorld) pipe() net.Conn {
	near, far := net.Pipe()
	go h.s.ServeConn(far, "")
	return near
}

func (h bubbleWorld) connect() *amqptest.Client {
	h.Helper()
	return amqptest.Connect(h, h.pipe(), wire.Open{})
}

// connectFrom returns a client whose connection has the given remote address.
func (h bubbleWorld) connectFrom(address string) *amqptest.Client {
	h.Helper()
	near, far := net.Pipe()
	go h.s.ServeConn(remote{far, address}, "")
	return amqptest.Connect(h, near, wire.Open{})
}

// sender returns a client with a session on channel 0 and a link on handle 0 to q.
func (h bubbleWorld) sender() *amqptest.Client {
	h.Helper()
	return h.senderFrom("pipe")
}

// senderFrom is like sender, but the client has the given remote address.
func (h bubbleWorld) senderFrom(address string) *amqptest.Client {
	h.Helper()
	c := h.connectFrom(address)
	c.Begin(0)
	c.AttachSender(0, 0, "q")
	return c
}

// A remote is a connection with a remote address of the test's choice.
type remote struct {
	net.Conn
	address string
}

func (r remote) RemoteAddr() net.Addr { return r }
func (r remote) Network() string      { return "tcp" }
func (r remote) String() string       { return r.address }

// active returns the number of active messages of an entity.
func (h bubbleWorld) active(path engine.Path) int {
	h.Helper()
	rows, err := h.b.Peek(h.Context(), path, 1, 250, "a test")
	if err != nil {
		h.Fatal(err)
	}
	return len(rows)
}

func condition(s wire.State) wire.Condition {
	if r, ok := s.(wire.Rejected); ok && r.Error != nil {
		return r.Error.Condition
	}
	return ""
}

func show(s wire.State) string {
	if r, ok := s.(wire.Rejected); ok && r.Error != nil {
		return fmt.Sprintf("rejected with %s: %s", r.Error.Condition, r.Error.Description)
	}
	return fmt.Sprintf("%T%+v", s, s)
}

func (h bubbleWorld) accepted(s wire.State) {
	h.Helper()
	if _, ok := s.(wire.Accepted); !ok {
		h.Errorf("the outcome is %s, want accepted", show(s))
	}
}

func (h bubbleWorld) rejected(s wire.State, want wire.Condition) {
	h.Helper()
	if got := condition(s); got != want {
		h.Errorf("the outcome is %s; want rejected with %s", show(s), want)
	}
}
