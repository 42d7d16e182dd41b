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
	"mayfly/web/peers"
)

// dialAs connects go-amqp as a container.
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

func (w *world) only(q peers.Query) peers.Connection {
	w.t.Helper()
	l := w.s.Connections(q)
	if len(l.Connections) != 1 {
		w.t.Fatalf("there are %d connections", len(l.Connections))
	}
	return l.Connections[0]
}

// What is told of a client that receives, holds locks, waits for a session and
// sends.
func TestLook(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.queue("Orders", engine.Config{})
		w.queue("replies", engine.Config{RequiresSession: true})
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

		got := w.only(peers.Query{Entity: "orders", Links: 1})
		if len(got.Links) != 1 || got.Links[0].Role != peers.Sender || got.Attached != 2 {
			t.Errorf("asked for one link: %+v", got)
		}
		got, ok := w.s.Connection(got.ID, 10)
		if !ok {
			t.Fatal("it is gone")
		}
		if got.Client != "AMQP orders-worker" || got.SDK != peers.Go || got.Version != "1.11.0" || got.Platform != "go1.26 · linux" || got.TLS || got.WebSocket {
			t.Errorf("it is %+v", got)
		}
		if got.FramesIn == 0 || got.FramesOut == 0 || got.BytesIn < 5*8 || got.BytesOut < 3*8 {
			t.Errorf("its traffic is %+v", got.Traffic)
		}
		if want := (peers.Sum{Attached: 2, Receivers: 1, Senders: 1, Credit: got.Credit, Unsettled: 3, Locks: 3, Sent: 5, Given: 3}); got.Sum != want {
			t.Errorf("it comes to %+v, not %+v", got.Sum, want)
		}
		if want := []peers.Link{
			{Name: got.Links[0].Name, Path: "orders", Role: peers.Sender, Since: got.Since, Credit: got.Links[0].Credit, Messages: 5},
			{Name: "mine", Path: "orders", Role: peers.Receiver, Since: got.Since.Add(time.Second), Credit: got.Credit, Unsettled: 3, Locks: 3, Messages: 3},
		}; !gocmp.Equal(got.Links, want) {
			t.Errorf("its links: %s", gocmp.Diff(want, got.Links))
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
		got = w.only(peers.Query{Client: "AMQP orders-worker", Links: 10})
		if got.Receivers != 2 || !got.Links[2].At("orders") || got.Links[2].At("order") || got.Links[2].At("replies") {
			t.Errorf("of the dead letters: %+v", got.Links[2])
		}
		if got.FramesIn <= before || !got.Heard.After(got.Since.Add(time.Minute)) {
			t.Errorf("it was heard %s after it came, %d frames", got.Heard.Sub(got.Since), got.FramesIn)
		}
		if n := len(w.s.Connections(peers.Query{Entity: "replies"}).Connections); n != 0 {
			t.Errorf("%d connections are at an entity that nobody is at", n)
		}
	})
}

// A receiver that waits for a session is told of, and what it holds then.
func TestLookAtSessions(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.queue("replies", engine.Config{RequiresSession: true})
		c := amqptest.Connect(t, w.plug(), wire.Open{ContainerID: "a\x00b\u202ec" + strings.Repeat("d", 300)})
		c.Begin(0)
		a := amqptest.Receives(0, "replies")
		a.Source.Filter = value.Properties{{Name: "com.microsoft:session-filter", Value: value.Value{}}}
		c.Say(0, &a)
		synctest.Wait()
		got := w.only(peers.Query{Links: 5})
		if len(got.Links) != 1 || !got.Links[0].Waits || got.Links[0].Holds || len(got.Container) > 128 || !strings.HasPrefix(got.Container, "abcd") {
			t.Fatalf("it is %+v", got)
		}
		if _, err := w.b.Send(t.Context(), "replies", []broker.Outgoing{{Content: engine.Content{SessionID: "s-1"}}}, "tester"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if l := w.only(peers.Query{Links: 5}).Links[0]; l.Waits || !l.Holds || l.Session != "s-1" {
			t.Errorf("then it is %+v", l)
		}
	})
}

// Who has gone is remembered, for its locks outlive it; who is disconnected
// hears why.
func TestDisconnect(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		old := w.dialAs("twin", nil)
		synctest.Wait()
		c := w.dialAs("twin", map[string]any{"user-agent": "azsdk-python-servicebus/7.14.3 Python/3.12"})
		synctest.Wait()
		if _, ok := w.s.Client("twin"); ok {
			t.Error("a name without a door is known")
		}
		who, ok := w.s.Client("AMQP twin")
		if !ok || who.SDK != peers.Python || who.Version != "7.14.3" || !who.Gone.IsZero() {
			t.Errorf("the newest twin is %+v", who)
		}
		if _, ok := w.s.Disconnect("1-77"); ok {
			t.Error("nobody was disconnected")
		}
		if was, ok := w.s.Disconnect(who.ID); !ok || was.Client != "AMQP twin" {
			t.Errorf("it was %+v", was)
		}
		<-c.Done()
		if e, ok := errors.AsType[*goamqp.ConnError](c.Err()); !ok || e.RemoteErr == nil || e.RemoteErr.Condition != goamqp.ErrCondConnectionForced || !strings.HasPrefix(e.RemoteErr.Description, "An operator closed this connection. TrackingId:") {
			t.Errorf("it hears %v", c.Err())
		}
		synctest.Wait()
		if left, ok := w.s.Client("AMQP twin"); !ok || left.ID == who.ID || left.ID == "" {
			t.Errorf("then it is %+v", left)
		}
		_ = old.Close() // the server is as fast
		time.Sleep(time.Hour)
		if left, ok := w.s.Client("AMQP twin"); !ok || left.ID != "" || time.Since(left.Gone) != time.Hour {
			t.Errorf("at last it is %+v", left)
		}
		for i := range 300 {
			_ = w.dialAs(fmt.Sprint("other", i), nil).Close() // the server is as fast
		}
		synctest.Wait()
		if left, ok := w.s.Client("AMQP twin"); ok {
			t.Errorf("after 300 others it is still remembered: %+v", left)
		}
	})
}

// Lists come in pieces, newest first.
func TestConnectionsInPieces(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		for i := range 7 {
			w.dialAs(fmt.Sprint("c", i), nil)
			synctest.Wait()
		}
		var all []string
		q := peers.Query{Limit: 3}
		for {
			l := w.s.Connections(q)
			for _, c := range l.Connections {
				all = append(all, c.Container)
			}
			if l.All != 7 {
				t.Errorf("%d in all", l.All)
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

// What each SDK says of itself in its open.
func TestKits(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		for name, tc := range map[string]struct {
			said map[string]any
			want peers.Kit
		}{
			"Go": {
				map[string]any{"product": "MSGolangClient", "version": "v1.11.0", "platform": "linux", "framework": "go1.26", "user-agent": "azsdk-go-azservicebus/v1.11.0 (go1.26; linux)"},
				peers.Kit{SDK: peers.Go, Product: "MSGolangClient", Version: "1.11.0", Platform: "go1.26 · linux"},
			},
			"a program with a name": {
				map[string]any{"product": "MSGolangClient", "user-agent": "shop/orders-worker azsdk-go-azservicebus/v1.11.0 (go1.26; linux)"},
				peers.Kit{SDK: peers.Go, Product: "MSGolangClient", Version: "1.11.0", Application: "shop/orders-worker"},
			},
			"Python": {
				map[string]any{"product": "azure-servicebus", "version": "7.14.3", "framework": "Python 3.12.1", "platform": "linux", "user-agent": "azsdk-python-servicebus/7.14.3 Python/3.12.1 (Linux)"},
				peers.Kit{SDK: peers.Python, Product: "azure-servicebus", Version: "7.14.3", Platform: "Python 3.12.1 · linux"},
			},
			"JavaScript": {
				map[string]any{"product": "MSJSClient", "version": "7.9.5", "framework": "Node/v22", "platform": "(x64-Linux)", "user-agent": "azsdk-js-azureservicebus/7.9.5 (NODE-VERSION v22; Linux)"},
				peers.Kit{SDK: peers.JavaScript, Product: "MSJSClient", Version: "7.9.5", Platform: "Node/v22 · (x64-Linux)"},
			},
			"Java": {
				map[string]any{"product": "azure-messaging-servicebus", "version": "7.17.20", "user-agent": "azsdk-java-azure-messaging-servicebus/7.17.20 (21; Linux)"},
				peers.Kit{SDK: peers.Java, Product: "azure-messaging-servicebus", Version: "7.17.20"},
			},
			".NET": {
				map[string]any{"product": "Azure.Messaging.ServiceBus", "user-agent": "azsdk-net-Azure.Messaging.ServiceBus/7.20.1 (.NET 9)"},
				peers.Kit{SDK: peers.DotNET, Product: "Azure.Messaging.ServiceBus", Version: "7.20.1"},
			},
			"another": {map[string]any{"product": "qpid\x01-proton", "version": int32(7)}, peers.Kit{Product: "qpid-proton"}},
			"nothing": {nil, peers.Kit{}},
		} {
			w.dialAs(name, tc.said)
			synctest.Wait()
			if got := w.only(peers.Query{Client: "AMQP " + name}).Kit; got != tc.want {
				t.Errorf("%s: got %+v, want %+v", name, got, tc.want)
			}
		}
	})
}

// Looking at a thousand connections with a link each, and how long a look keeps
// the largest of them from its work.
func BenchmarkConnections(b *testing.B) {
	w := newWorld(b, amqp.Options{}, broker.Options{})
	w.queue("q", engine.Config{})
	const clients = 1_000
	for i := range clients {
		c := amqptest.Connect(b, w.plug(), wire.Open{ContainerID: fmt.Sprint("client", i)})
		c.Begin(0)
		a := amqptest.Receives(0, "q")
		c.Attach(0, a)
	}
	for name, q := range map[string]peers.Query{"page": {Limit: 50, Links: 4}, "all": {Links: 4}, "at": {Entity: "q", Limit: 50, Links: 4}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if l := w.s.Connections(q); l.All != clients || len(l.Connections) != cmp.Or(q.Limit, clients) {
					b.Fatal(l.All, len(l.Connections))
				}
			}
		})
	}
}
