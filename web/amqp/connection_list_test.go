package amqp_test

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	goamqp "github.com/Azure/go-amqp"
	gocmp "github.com/google/go-cmp/cmp"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/value"
	"mayfly/web/amqp"
	"mayfly/web/amqp/amqptest"
	"mayfly/web/amqp/wire"
	"mayfly/web/connections"
)

// dialAs connects go-amqp with a container id.
func (w *world) dialAs(container string, properties map[string]any) *goamqp.Conn {
	w.t.Helper()
	c, err := goamqp.NewConn(w.t.Context(), w.plug(), &goamqp.ConnOptions{
		SASLType: goamqp.SASLTypeAnonymous(), ContainerID: container, Properties: properties,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = c.Close() })
	return c
}

func (w *world) only(q connections.Query) connections.Connection {
	w.t.Helper()
	l := w.s.Connections(q)
	if len(l.Connections) != 1 {
		w.t.Fatalf("there are %d connections", len(l.Connections))
	}
	return l.Connections[0]
}

// TestConnectionList checks the description of a client that receives, holds locks, waits for a
// session and sends.
func TestConnectionList(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.b.CreateQueue("Orders", engine.Config{})
		w.b.CreateQueue("replies", engine.Config{RequiresSession: true})
		c := w.dialAs("orders-worker", map[string]any{"product": "MSGolangClient", "version": "v1.11.0", "platform": "linux", "framework": "go1.26"})
		s, err := c.NewSession(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		snd, err := s.NewSender(ctx, "orders", nil)
		if err != nil {
			t.Fatal(err)
		}
		for range 5 {
			if err := snd.Send(ctx, goamqp.NewMessage([]byte("hello")), nil); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Second)
		rcv, err := s.NewReceiver(ctx, "orders", &goamqp.ReceiverOptions{Credit: 3, Name: "mine", SettlementMode: goamqp.ReceiverSettleModeSecond.Ptr()})
		if err != nil {
			t.Fatal(err)
		}
		m, err := rcv.Receive(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()

		got := w.only(connections.Query{Entity: "orders", Links: 1})
		if len(got.Links) != 1 || got.Links[0].Role != connections.Sender || got.Attached != 2 {
			t.Errorf("with at most one link: %+v", got)
		}
		got, ok := w.s.Connection(got.ID, 10)
		if !ok {
			t.Fatal("the connection is not listed")
		}
		if got.Client != "AMQP orders-worker" || got.SDK != connections.Go || got.Version != "1.11.0" || got.Platform != "go1.26 · linux" || got.TLS || got.WebSocket {
			t.Errorf("got %+v", got)
		}
		if got.FramesIn == 0 || got.FramesOut == 0 || got.BytesIn < 5*8 || got.BytesOut < 3*8 {
			t.Errorf("the traffic is %+v", got.Traffic)
		}
		if want := (connections.Totals{Attached: 2, Receivers: 1, Senders: 1, Credit: got.Credit, Unsettled: 3, Locks: 3, Sent: 5, Delivered: 3}); got.Totals != want {
			t.Errorf("the totals are %+v, want %+v", got.Totals, want)
		}
		if want := []connections.Link{
			{Name: got.Links[0].Name, Path: "orders", Role: connections.Sender, Since: got.Since, Credit: got.Links[0].Credit, Messages: 5},
			{Name: "mine", Path: "orders", Role: connections.Receiver, Since: got.Since.Add(time.Second), Credit: got.Credit, Unsettled: 3, Locks: 3, Messages: 3},
		}; !gocmp.Equal(got.Links, want) {
			t.Errorf("the links are: %s", gocmp.Diff(want, got.Links))
		}
		if err := rcv.AcceptMessage(ctx, m); err != nil {
			t.Fatal(err)
		}
		before := got.FramesIn
		time.Sleep(time.Minute)
		if _, err := s.NewReceiver(ctx, "orders/$DeadLetterQueue", nil); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		got = w.only(connections.Query{Client: "AMQP orders-worker", Links: 10})
		if got.Receivers != 2 || !got.Links[2].ConcernsEntity("orders") || got.Links[2].ConcernsEntity("order") || got.Links[2].ConcernsEntity("replies") {
			t.Errorf("the link to the dead letters is %+v", got.Links[2])
		}
		if got.FramesIn <= before || !got.LastReceived.After(got.Since.Add(time.Minute)) {
			t.Errorf("the last frame arrived %s after the connection, %d frames", got.LastReceived.Sub(got.Since), got.FramesIn)
		}
		if n := len(w.s.Connections(connections.Query{Entity: "replies"}).Connections); n != 0 {
			t.Errorf("%d connections are listed for an entity without links", n)
		}
	})
}

// TestConnectionListWithSessions checks the description of a receiver that waits for a session, and
// after it has accepted one.
func TestConnectionListWithSessions(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.b.CreateQueue("replies", engine.Config{RequiresSession: true})
		c := amqptest.Connect(t, w.plug(), wire.Open{ContainerID: "a\x00b\u202ec" + strings.Repeat("d", 300)})
		c.Begin(0)
		a := amqptest.ReceiverAttach(0, "replies")
		a.Source.Filter = value.Properties{{Name: "com.microsoft:session-filter", Value: value.Value{}}}
		c.WriteFrames(0, &a)
		synctest.Wait()
		got := w.only(connections.Query{Links: 5})
		if len(got.Links) != 1 || !got.Links[0].WaitsForSession || got.Links[0].HoldsSession || len(got.Container) > 128 || !strings.HasPrefix(got.Container, "abcd") {
			t.Fatalf("got %+v", got)
		}
		w.b.SendMessages("replies", broker.Outgoing{Content: engine.Content{SessionID: "s-1"}})
		synctest.Wait()
		if l := w.only(connections.Query{Links: 5}).Links[0]; l.WaitsForSession || !l.HoldsSession || l.Session != "s-1" {
			t.Errorf("then got %+v", l)
		}
	})
}

// Disconnected clients are remembered, because their locks outlive them. A client that an
// operator disconnects gets the reason.
func TestDisconnect(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		old := w.dialAs("twin", nil)
		synctest.Wait()
		c := w.dialAs("twin", map[string]any{"user-agent": "azsdk-python-servicebus/7.14.3 Python/3.12"})
		synctest.Wait()
		if _, ok := w.s.Client("twin"); ok {
			t.Error("a client name without a protocol was found")
		}
		client, ok := w.s.Client("AMQP twin")
		if !ok || client.SDK != connections.Python || client.Version != "7.14.3" || !client.DisconnectedAt.IsZero() {
			t.Errorf("the newest twin is %+v", client)
		}
		if _, ok := w.s.Disconnect("1-77"); ok {
			t.Error("no connection was closed")
		}
		if was, ok := w.s.Disconnect(client.ID); !ok || was.Client != "AMQP twin" {
			t.Errorf("got %+v", was)
		}
		<-c.Done()
		if e, ok := errors.AsType[*goamqp.ConnError](c.Err()); !ok || e.RemoteErr == nil || e.RemoteErr.Condition != goamqp.ErrCondConnectionForced || !strings.HasPrefix(e.RemoteErr.Description, "An operator closed this connection. TrackingId:") {
			t.Errorf("the client got %v", c.Err())
		}
		synctest.Wait()
		if left, ok := w.s.Client("AMQP twin"); !ok || left.ID == client.ID || left.ID == "" {
			t.Errorf("then got %+v", left)
		}
		_ = old.Close() // the server may be faster
		time.Sleep(time.Hour)
		if left, ok := w.s.Client("AMQP twin"); !ok || left.ID != "" || time.Since(left.DisconnectedAt) != time.Hour {
			t.Errorf("at last got %+v", left)
		}
		for i := range 300 {
			_ = w.dialAs(fmt.Sprint("other", i), nil).Close() // the server may be faster
		}
		synctest.Wait()
		if left, ok := w.s.Client("AMQP twin"); ok {
			t.Errorf("after 300 other clients this one is still remembered: %+v", left)
		}
	})
}

// Lists come in pages, newest first.
func TestConnectionsInPieces(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		for i := range 7 {
			w.dialAs(fmt.Sprint("c", i), nil)
			synctest.Wait()
		}
		var all []string
		q := connections.Query{Limit: 3}
		for {
			l := w.s.Connections(q)
			for _, c := range l.Connections {
				all = append(all, c.Container)
			}
			if l.Total != 7 {
				t.Errorf("got %d connections in all", l.Total)
			}
			if q.Before = l.Before; l.Before == 0 {
				break
			}
		}
		if want := []string{"c6", "c5", "c4", "c3", "c2", "c1", "c0"}; !slices.Equal(all, want) {
			t.Errorf("got %v", all)
		}
	})
}

// TestKits checks how the server recognizes each SDK by the properties of its open.
func TestKits(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		for name, tc := range map[string]struct {
			properties map[string]any
			want       connections.Library
		}{
			"Go": {
				map[string]any{"product": "MSGolangClient", "version": "v1.11.0", "platform": "linux", "framework": "go1.26", "user-agent": "azsdk-go-azservicebus/v1.11.0 (go1.26; linux)"},
				connections.Library{SDK: connections.Go, Product: "MSGolangClient", Version: "1.11.0", Platform: "go1.26 · linux"},
			},
			"a program with a name": {
				map[string]any{"product": "MSGolangClient", "user-agent": "shop/orders-worker azsdk-go-azservicebus/v1.11.0 (go1.26; linux)"},
				connections.Library{SDK: connections.Go, Product: "MSGolangClient", Version: "1.11.0", Application: "shop/orders-worker"},
			},
			"Python": {
				map[string]any{"product": "azure-servicebus", "version": "7.14.3", "framework": "Python 3.12.1", "platform": "linux", "user-agent": "azsdk-python-servicebus/7.14.3 Python/3.12.1 (Linux)"},
				connections.Library{SDK: connections.Python, Product: "azure-servicebus", Version: "7.14.3", Platform: "Python 3.12.1 · linux"},
			},
			"JavaScript": {
				map[string]any{"product": "MSJSClient", "version": "7.9.5", "framework": "Node/v22", "platform": "(x64-Linux)", "user-agent": "azsdk-js-azureservicebus/7.9.5 (NODE-VERSION v22; Linux)"},
				connections.Library{SDK: connections.JavaScript, Product: "MSJSClient", Version: "7.9.5", Platform: "Node/v22 · (x64-Linux)"},
			},
			"Java": {
				map[string]any{"product": "azure-messaging-servicebus", "version": "7.17.20", "user-agent": "azsdk-java-azure-messaging-servicebus/7.17.20 (21; Linux)"},
				connections.Library{SDK: connections.Java, Product: "azure-messaging-servicebus", Version: "7.17.20"},
			},
			".NET": {
				map[string]any{"product": "Azure.Messaging.ServiceBus", "user-agent": "azsdk-net-Azure.Messaging.ServiceBus/7.20.1 (.NET 9)"},
				connections.Library{SDK: connections.DotNET, Product: "Azure.Messaging.ServiceBus", Version: "7.20.1"},
			},
			"another": {map[string]any{"product": "qpid\x01-proton", "version": int32(7)}, connections.Library{Product: "qpid-proton"}},
			"nothing": {nil, connections.Library{}},
		} {
			w.dialAs(name, tc.properties)
			synctest.Wait()
			if got := w.only(connections.Query{Client: "AMQP " + name}).Library; got != tc.want {
				t.Errorf("%s: got %+v, want %+v", name, got, tc.want)
			}
		}
	})
}

// BenchmarkConnections lists a thousand connections with a link each, and measures how
// long that locks the largest of them.
func BenchmarkConnections(b *testing.B) {
	w := newWorld(b, amqp.Options{}, broker.Options{})
	w.b.CreateQueue("q", engine.Config{})
	const clients = 1_000
	for i := range clients {
		c := amqptest.Connect(b, w.plug(), wire.Open{ContainerID: fmt.Sprint("client", i)})
		c.Begin(0)
		a := amqptest.ReceiverAttach(0, "q")
		c.Attach(0, a)
	}
	for name, q := range map[string]connections.Query{"page": {Limit: 50, Links: 4}, "all": {Links: 4}, "at": {Entity: "q", Limit: 50, Links: 4}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if l := w.s.Connections(q); l.Total != clients || len(l.Connections) != cmp.Or(q.Limit, clients) {
					b.Fatal(l.Total, len(l.Connections))
				}
			}
		})
	}
}
