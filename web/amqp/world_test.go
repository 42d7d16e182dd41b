package amqp_test

import (
	"context"
	"net"
	"testing"
	"testing/synctest"

	goamqp "github.com/Azure/go-amqp"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/brokertest"
	"mayfly/engine/value"
	"mayfly/storage/memory"
	"mayfly/web/amqp"
	"mayfly/web/amqp/amqptest"
	"mayfly/web/amqp/wire"
)

// A world is a broker in memory with a server in front of it. At the end of the test both
// are closed, and the engine's indexes are checked.
type world struct {
	t testing.TB
	b *brokertest.Broker
	s *amqp.Server
}

func newWorld(t testing.TB, o amqp.Options, bo broker.Options) *world {
	t.Helper()
	return newWorldOn(t, new(memory.Store), o, bo)
}

func newWorldOn(t testing.TB, store engine.Store, o amqp.Options, bo broker.Options) *world {
	t.Helper()
	b := brokertest.OpenOn(t, store, bo)
	w := &world{t: t, b: b, s: amqp.New(o)}
	w.s.Open(b.Broker)
	t.Cleanup(func() {
		w.s.Close(context.Background())
		if err := b.Read(context.Background(), broker.Reader.Check); err != nil {
			t.Error(err)
		}
	})
	return w
}

// listen serves on a port of its own and returns its address.
func (w *world) listen() string {
	w.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- w.s.Serve(l, "") }()
	w.t.Cleanup(func() {
		w.s.Close(context.Background())
		if err := <-served; err != nil {
			w.t.Error(err)
		}
	})
	return l.Addr().String()
}

// plug connects to the server without a network.
func (w *world) plug() net.Conn { return w.plugAt("") }

// plugAt connects to the server without a network, at a port of a namespace.
func (w *world) plugAt(namespace string) net.Conn {
	ours, theirs := net.Pipe()
	go w.s.ServeConn(theirs, namespace)
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

// send sends messages with these bodies directly to the broker.
func (w *world) send(to engine.Path, session string, bodies ...string) {
	w.t.Helper()
	var out []broker.Outgoing
	for _, b := range bodies {
		out = append(out, broker.Outgoing{Body: []byte(b), Content: engine.Content{SessionID: session}})
	}
	w.b.SendMessages(to, out...)
}

// client returns a raw client with a session on channel 0.
func (w *world) client() *amqptest.Client {
	w.t.Helper()
	c := amqptest.Connect(w.t, w.plug(), wire.Open{})
	c.Begin(0)
	return c
}

// asks returns the attach of a receiver that asks for a session: a string, or null for
// the next one.
func asks(handle uint32, address string, session value.Value, wait uint64) wire.Attach {
	a := amqptest.ReceiverAttach(handle, address)
	a.Source.Filter = value.Properties{{Name: "com.microsoft:session-filter", Value: session}}
	a.Properties = value.Properties{{Name: "com.microsoft:timeout", Value: value.OfUInt(uint32(wait))}}
	return a
}

// refused attaches a link that must be refused, and returns why: the answer lacks the
// server's terminus, and a detach follows it.
func refused(c *amqptest.Client, a wire.Attach) *wire.Error {
	c.WriteFrames(0, &a)
	answer := amqptest.Expect[*wire.Attach](c)
	if a.Role == wire.RoleReceiver && answer.Source != nil || a.Role == wire.RoleSender && (answer.Target != nil || answer.Coordinator != nil) {
		return &wire.Error{Description: "it was not refused"}
	}
	return amqptest.Expect[*wire.Detach](c).Error
}

// frames returns the frames that have arrived, without flows of the session alone.
func frames(c *amqptest.Client) (all []wire.Performative) {
	synctest.Wait()
	for range c.Pending() {
		f, err := c.Next()
		if err != nil {
			break
		}
		if p, ok := f.Body.(*wire.Flow); ok && !has(p.Handle) {
			continue
		}
		all = append(all, f.Body)
	}
	return all
}

func has[T comparable](o wire.Opt[T]) bool {
	_, ok := o.Get()
	return ok
}

// logRule logs the rule that a test without subtests covers, for engine.TestTraceability.
func logRule(t *testing.T, rule string) {
	t.Helper()
	t.Log(rule)
}

// count returns the numbers of messages at an entity.
func (w *world) count(path engine.Path) (active, locked int64) {
	w.t.Helper()
	synctest.Wait()
	c := w.b.Counts(path)
	return c.Active, c.Locked
}
