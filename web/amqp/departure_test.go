package amqp_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine"
	"mayfly/engine/value"
	"mayfly/web/amqp/amqptest"
	"mayfly/web/amqp/wire"
)

// No link is detached before its attach is answered: the answer then lacks the server's
// terminus, as in a refusal. AMQPNetLite closes its connection over any other detach, and
// rhea, which carries the SDK for JavaScript, loses it.
func TestAttachIsAnsweredFirst(t *testing.T) {
	attach := func(a wire.Attach) *wire.Attach { return &a }
	sends, receives := amqptest.SenderAttach(0, "q"), amqptest.ReceiverAttach(0, "q")
	waits := asks(0, "sessions", value.Value{}, 60_000)
	again := amqptest.SenderAttach(1, "q")
	again.Name = sends.Name
	detach := &wire.Detach{Handle: 0, Closed: true}
	for name, tc := range map[string]struct {
		say   []wire.Performative // sent in one write
		later []wire.Performative // sent when nothing more happens
		want  []string
	}{
		"a sender":                   {[]wire.Performative{&sends, detach}, nil, []string{"attach without", "detach"}},
		"a receiver":                 {[]wire.Performative{&receives, detach}, nil, []string{"attach without", "detach"}},
		"a transfer without credit":  {[]wire.Performative{&sends, amqptest.MessageTransfer(0, 0, amqptest.DataMessage(nil))}, nil, []string{"attach without", "detach amqp:link:transfer-limit-exceeded"}},
		"a wait that is given up":    {[]wire.Performative{&waits}, []wire.Performative{detach}, []string{"attach without", "detach"}},
		"a wait that is over":        {[]wire.Performative{attach(asks(0, "sessions", value.Value{}, 10))}, nil, []string{"attach without", "detach com.microsoft:timeout"}},
		"a name that is taken again": {[]wire.Performative{&sends, &again}, nil, []string{"attach without", "detach amqp:link:stolen", "attach", "flow"}},
		"and ends":                   {[]wire.Performative{&sends, detach, &wire.End{}}, nil, []string{"attach without", "detach", "end"}},
		"and closes":                 {[]wire.Performative{&sends, detach, &wire.Close{}}, nil, []string{"attach without", "detach", "close"}},
		"refused, and ends":          {[]wire.Performative{attach(amqptest.SenderAttach(0, "nowhere")), detach, &wire.End{}}, nil, []string{"attach without", "detach", "end"}},
		"a wait, and ends":           {[]wire.Performative{&waits}, []wire.Performative{detach, &wire.End{}}, []string{"attach without", "detach", "end"}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, nil, func(h bubbleWorld) {
				h.b.CreateQueue("sessions", engine.Config{RequiresSession: true})
				c := h.connect()
				c.Begin(0)
				c.WriteFrames(0, tc.say...)
				synctest.Wait()
				if len(tc.later) > 0 {
					c.WriteFrames(0, tc.later...)
				}
				if name == "a wait that is over" {
					time.Sleep(20 * time.Millisecond)
				}
				var got []string
				for _, p := range frames(c) {
					text := brief([]wire.Performative{p})
					if a, ok := p.(*wire.Attach); ok && (a.Role == wire.RoleReceiver && a.Target == nil || a.Role == wire.RoleSender && a.Source == nil) {
						text = []string{"attach without"}
					}
					got = append(got, text...)
				}
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// After giving up a link, the client library rhea attaches and detaches it once more when its
// attach is answered. The server does not answer that echo, because the exchange would never end.
// It answers a later wait that the client gives up, and always answers clients of other products.
func TestEchoOfAGivenUpLinkIsNotAnswered(t *testing.T) {
	inBubble(t, nil, func(h bubbleWorld) {
		h.b.CreateQueue("sessions", engine.Config{RequiresSession: true})
		product := func(name string) *amqptest.Client {
			c := amqptest.Connect(h, h.pipe(), wire.Open{Properties: value.Properties{{Name: "product", Value: value.OfString(name)}}})
			c.Begin(0)
			return c
		}
		waits := asks(0, "sessions", value.Value{}, 60_000)
		for name, want := range map[string]int{"qpid-proton": 2, "MSJSClient": 0} {
			c := product(name)
			for _, want := range []int{2, want} {
				c.WriteFrames(0, &waits)
				synctest.Wait()
				c.WriteFrames(0, &wire.Detach{Handle: 0, Closed: true})
				if got := frames(c); len(got) != want {
					t.Errorf("%s: answered with %v", name, brief(got))
				}
			}
		}
		c := h.connect()
		c.Begin(0)
		for i, tc := range []struct {
			after time.Duration
			want  int // number of frames
		}{{0, 2}, {10 * time.Millisecond, 0}, {10 * time.Millisecond, 2}, {2 * time.Second, 2}} {
			time.Sleep(tc.after)
			c.WriteFrames(0, &waits)
			synctest.Wait()
			c.WriteFrames(0, &wire.Detach{Handle: 0, Closed: true})
			if got := frames(c); len(got) != tc.want {
				t.Errorf("%d: answered with %v", i, brief(got))
			}
		}
	})
}

// A client that sends and then detaches gets the outcomes of all that it has sent before
// its detach is answered, even if it ends its session at once: of messages, and of
// requests to a coordinator.
func TestSendsAreAnsweredBeforeDetach(t *testing.T) {
	for name, tc := range map[string]struct {
		say  func(c *transactionClient) // called while the broker is busy
		want []string
	}{
		"small ones": {func(c *transactionClient) {
			c.WriteFrames(0, amqptest.MessageTransfer(0, 0, amqptest.DataMessage(nil)), amqptest.MessageTransfer(0, 1, amqptest.DataMessage(nil)), &wire.Detach{Closed: true}, &wire.End{})
		}, []string{"disposition", "disposition", "detach", "end"}},
		"large ones": {func(c *transactionClient) {
			c.SendInPieces(0, 0, 0, amqptest.DataMessage(pattern(100_000)), 60_000)
			c.SendInPieces(0, 0, 1, amqptest.DataMessage(pattern(600_000)), 60_000)
			c.WriteFrames(0, &wire.Detach{Closed: true})
		}, []string{"disposition", "disposition", "detach"}},
		"one that does not come whole": {func(c *transactionClient) {
			part := amqptest.MessageTransfer(0, 1, amqptest.DataMessage(pattern(100)))
			part.More = true
			c.WriteFrames(0, amqptest.MessageTransfer(0, 0, amqptest.DataMessage(nil)), part, &wire.Detach{Closed: true})
		}, []string{"disposition", "detach"}},
		"settled ones": {func(c *transactionClient) {
			d := amqptest.MessageTransfer(0, 0, amqptest.DataMessage(nil))
			d.Settled = wire.Some(true)
			c.WriteFrames(0, d, &wire.Detach{Closed: true})
		}, []string{"detach"}},
		"a declare": {func(c *transactionClient) {
			c.WriteFrames(0, amqptest.MessageTransfer(50, 0, wire.AppendSection(nil, wire.SectionValue, (&wire.Declare{}).Append(nil))), &wire.Detach{Handle: 50, Closed: true})
		}, []string{"detach"}},
		"an end alone": {func(c *transactionClient) {
			c.WriteFrames(0, amqptest.MessageTransfer(0, 0, amqptest.DataMessage(nil)), &wire.End{})
		}, []string{"end"}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, nil, func(h bubbleWorld) {
				c := h.transactionClient()
				var got []string
				h.occupied(func() {
					go tc.say(c)
					got = brief(frames(c.Client))
					if slices.Contains(got, "detach") || slices.Contains(got, "disposition") {
						t.Errorf("while the broker is busy, received %v", got)
					}
				})
				got = slices.DeleteFunc(append(got, brief(frames(c.Client))...), func(s string) bool { return s == "flow" })
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// A discharge is answered before the detach of its coordinator: so the client learns
// whether its transaction was committed.
func TestDischargeIsAnsweredBeforeDetach(t *testing.T) {
	inBubble(t, nil, func(h bubbleWorld) {
		c := h.transactionClient()
		id := c.declare()
		c.in(c.sendIn(id, 0, []byte("x")), id)
		h.occupied(func() {
			go func() {
				c.discharges(id, false)
				c.WriteFrames(0, &wire.Detach{Handle: 50, Closed: true})
			}()
			synctest.Wait()
		})
		if diff := cmp.Diff([]string{"discharge accepted", "*wire.Detach"}, c.outcomes()); diff != "" {
			t.Error(diff)
		}
		if n := h.active("q"); n != 1 {
			t.Errorf("got %d messages", n)
		}
	})
}
