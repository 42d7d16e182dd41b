package amqp_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/brokertest"
	"mayfly/web/amqp"
	"mayfly/web/amqp/amqptest"
	"mayfly/web/amqp/wire"
	"mayfly/web/connections"
)

// shop adds a second namespace.
func (w *world) shop() (*amqp.Namespace, *brokertest.Broker) {
	w.t.Helper()
	b := brokertest.Open(w.t, broker.Options{Name: "shop"})
	w.t.Cleanup(func() { w.s.Close(context.Background()) })
	sp := w.s.Add("shop")
	sp.Open(b.Broker)
	return sp, b
}

// A connection is for the namespace of its port, or else for the one that the first label
// of its open's host names. A client of one namespace neither sees the other's entities
// nor appears there.
func TestNamespaceByHost(t *testing.T) {
	for at, inShop := range map[[2]string]bool{
		{"", "shop"}: true, {"", "SHOP.localhost"}: true, {"", "shop.localhost:5672"}: true, {"", "shop.servicebus.windows.net"}: true,
		{"", ""}: false, {"", "localhost"}: false, {"", "127.0.0.1"}: false, {"", "other.example"}: false, {"", "a.shop"}: false,
		{"shop", ""}: true, {"shop", "localhost"}: true, {"shop", "default.localhost"}: true, {"shop", "other.localhost"}: true,
		{"default", "localhost"}: false, {"default", "shop.localhost"}: false, {"default", "other.localhost"}: false,
	} {
		port, host := at[0], at[1]
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, amqp.Options{}, broker.Options{})
			shop, b := w.shop()
			w.b.CreateQueue("orders", engine.Config{})
			if _, err := b.Create(t.Context(), engine.Queue, "orders", engine.Config{}, "tester"); err != nil {
				t.Fatal(err)
			}
			var open wire.Open
			if host != "" {
				open.Hostname = wire.Some(host)
			}
			c := amqptest.Connect(t, w.plugAt(port), open)
			c.Begin(0)
			c.AttachSender(0, 0, "orders")
			c.Send(0, 0, 0, amqptest.DataMessage([]byte("x")))
			for _, of := range []struct {
				b  *broker.Broker
				of connections.Source
				in bool
			}{{w.b.Broker, w.s, !inShop}, {b.Broker, shop, inShop}} {
				n, clients := depth(t, of.b), of.of.Connections(connections.Query{}).Total
				if want := map[bool]int{true: 1}[of.in]; int(n) != want || clients != want {
					t.Errorf("%q at the port of %q, in %s: %d messages and %d clients; want %d", host, port, of.b.Name(), n, clients, want)
				}
			}
		})
	}
}

func depth(t *testing.T, b *broker.Broker) (n int64) {
	t.Helper()
	if err := b.Read(t.Context(), func(r broker.Reader) error {
		c, _ := r.Totals()
		n = c.MessageCount()
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestNamespaceStandsByAndIsRemoved checks that when one namespace is added, becomes a standby or
// is removed, its clients get an error with the reason, and clients of other namespaces stay
// connected.
func TestNamespaceStandsByAndIsRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, amqp.Options{NamespacesIncomplete: true}, broker.Options{})
		refusedAt := func(port, host string, condition wire.Condition, why string) {
			t.Helper()
			if e := amqptest.Connect(t, w.plugAt(port), wire.Open{Hostname: wire.Some(host)}).WaitForClose(); e == nil || e.Condition != condition || !strings.Contains(e.Description, why) {
				t.Errorf("%s at the port of %q was closed with %v; want %s, %q", host, port, e, condition, why)
			}
		}
		refused := func(host string, condition wire.Condition, why string) {
			t.Helper()
			refusedAt("", host, condition, why)
		}
		refused("shop", wire.CondConnectionForced, "still loading its namespaces") // the client may try again
		refusedAt("shop", "localhost", wire.CondConnectionForced, "still loading its namespaces")
		shop, b := w.shop()
		refused("other.localhost", wire.CondConnectionForced, "still loading")
		w.s.NamespacesComplete()
		refused("other.localhost", wire.CondNotFound, "The namespace 'other' does not exist.")
		refused("A.Other.LOCALHOST:5672", wire.CondNotFound, "The namespace 'a' does not exist.")
		refusedAt("other", "localhost", wire.CondNotFound, "The namespace 'other' does not exist.")
		refusedAt("other", "shop.localhost", wire.CondNotFound, "The namespace 'other' does not exist.")
		ours := amqptest.Connect(t, w.plug(), wire.Open{})
		theirs := func() *amqptest.Client { return amqptest.Connect(t, w.plug(), wire.Open{Hostname: wire.Some("shop")}) }
		ended := func(c *amqptest.Client, why string) {
			t.Helper()
			if e := c.WaitForClose(); e == nil || e.Condition != wire.CondConnectionForced || !strings.Contains(e.Description, why) {
				t.Errorf("the connection was closed with %v; want %q", e, why)
			}
		}
		first := theirs()
		synctest.Wait()
		shop.StandBy("Ask another.", nil)
		ended(first, "Ask another.")
		ended(theirs(), "Ask another.")
		refusedAt("shop", "localhost", wire.CondConnectionForced, "Ask another.")
		shop.Open(b.Broker)
		second := theirs()
		synctest.Wait()
		w.s.Remove("shop", "The namespace shop was removed.")
		ended(second, "The namespace shop was removed.")
		refused("shop.localhost", wire.CondNotFound, "The namespace 'shop' does not exist.")
		refusedAt("shop", "localhost", wire.CondNotFound, "The namespace 'shop' does not exist.")
		third := theirs() // the name belongs to no namespace now, so it selects the server's own
		synctest.Wait()
		if n := w.s.Connections(connections.Query{}).Total; n != 2 {
			t.Errorf("%d clients are connected to the server's own namespace; want 2", n)
		}
		third.Begin(0)
		ours.Begin(0)
	})
}
