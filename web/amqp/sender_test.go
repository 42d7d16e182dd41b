package amqp_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/value"
	"mayfly/web/amqp"
	"mayfly/web/amqp/amqptest"
	"mayfly/web/amqp/wire"
)

// sentFrames returns the server's frames for link 0, in short: "message 1", "flow 3/0 drain"
// with the deliveries and the credit.
func sentFrames(c *amqptest.Client) (out []string) {
	for _, p := range frames(c) {
		switch p := p.(type) {
		case *wire.Transfer:
			out = append(out, "message "+string(c.DataOf(p.Payload)))
		case *wire.Flow:
			text := fmt.Sprintf("flow %d/%d", p.DeliveryCount.Or(99), p.LinkCredit.Or(99))
			if p.Drain {
				text += " drain"
			}
			if p.Echo {
				text += " echo"
			}
			out = append(out, text)
		case *wire.Detach:
			out = append(out, "detach "+string(p.Error.Condition))
		default:
			out = append(out, fmt.Sprintf("%T", p))
		}
	}
	return out
}

func flow(count, credit uint32, more func(*wire.Flow)) *wire.Flow {
	f := &wire.Flow{
		NextIncomingID: wire.Some[uint32](0), IncomingWindow: 1 << 20, OutgoingWindow: 1 << 20,
		Handle: wire.Some[uint32](0), DeliveryCount: wire.Some(count), LinkCredit: wire.Some(credit),
	}
	if more != nil {
		more(f)
	}
	return f
}

func drain(f *wire.Flow) { f.Drain = true }
func echo(f *wire.Flow)  { f.Echo = true }

// The credit is that of the client's last flow, and a drain is always answered (LOCK-14).
func TestCredit(t *testing.T) {
	for name, tc := range map[string]struct {
		there int // number of messages
		flows []*wire.Flow
		want  []string
	}{
		"none":                             {2, []*wire.Flow{flow(0, 0, nil)}, nil},
		"less than there are":              {3, []*wire.Flow{flow(0, 2, nil)}, []string{"message 0", "message 1"}},
		"more than there are":              {2, []*wire.Flow{flow(0, 9, nil)}, []string{"message 0", "message 1"}},
		"LOCK-14 drain of an empty queue":  {0, []*wire.Flow{flow(0, 5, drain)}, []string{"flow 5/0 drain"}},
		"drain takes what there is":        {2, []*wire.Flow{flow(0, 5, drain)}, []string{"message 0", "message 1", "flow 5/0 drain"}},
		"drain of credit that is used up":  {2, []*wire.Flow{flow(0, 2, nil), flow(2, 0, drain)}, []string{"message 0", "message 1", "flow 2/0 drain"}},
		"drain of credit just used up":     {2, []*wire.Flow{flow(0, 2, nil), flow(0, 2, drain)}, []string{"message 0", "message 1", "flow 2/0 drain"}},
		"drain without any credit":         {2, []*wire.Flow{flow(0, 0, drain)}, []string{"flow 0/0 drain"}},
		"drain with less credit":           {0, []*wire.Flow{flow(0, 9, nil), flow(0, 4, drain)}, []string{"flow 4/0 drain"}},
		"drain with more credit":           {0, []*wire.Flow{flow(0, 4, nil), flow(0, 9, drain)}, []string{"flow 9/0 drain"}},
		"drained twice":                    {1, []*wire.Flow{flow(0, 2, drain), flow(2, 2, drain)}, []string{"message 0", "flow 2/0 drain", "flow 4/0 drain"}},
		"a drain taken back at once":       {1, []*wire.Flow{flow(0, 0, nil), flow(0, 2, nil)}, []string{"message 0"}},
		"echo":                             {0, []*wire.Flow{flow(0, 7, echo)}, []string{"flow 0/7"}},
		"more credit than a signed number": {1, []*wire.Flow{flow(0, 1<<32-1, nil)}, []string{"message 0"}},
		"a count that has not come yet":    {1, []*wire.Flow{flow(7, 1, nil)}, []string{"message 0"}},
		"credit given before the last":     {3, []*wire.Flow{flow(0, 1, nil), flow(0, 2, nil)}, []string{"message 0", "message 1"}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				w.b.CreateQueue("q", engine.Config{})
				var bodies []string
				for i := range tc.there {
					bodies = append(bodies, fmt.Sprint(i))
				}
				w.send("q", "", bodies...)
				c := w.client()
				c.Attach(0, amqptest.ReceiverAttach(0, "q"))
				var got []string
				for _, f := range tc.flows {
					c.WriteFrames(0, f)
					got = append(got, sentFrames(c)...)
				}
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// If several flows with drain arrive together, the server answers once, as for the last of them.
func TestDrainInOneWrite(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.b.CreateQueue("q", engine.Config{})
		w.send("q", "", "0")
		c := w.client()
		c.Attach(0, amqptest.ReceiverAttach(0, "q"))
		c.WriteFrames(0, flow(0, 5, drain), flow(0, 3, nil), flow(0, 8, drain))
		got := sentFrames(c)
		if diff := cmp.Diff([]string{"message 0", "flow 8/0 drain"}, got); diff != "" {
			t.Error(diff)
		}
		w.send("q", "", "1")
		if got := sentFrames(c); got != nil {
			t.Errorf("without credit, received %q", got)
		}
	})
}

// A client that reduces its credit gets no more messages than the new credit allows. The others
// stay available to other receivers.
func TestCreditTakenBack(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.b.CreateQueue("q", engine.Config{})
		c := w.client()
		c.Attach(0, amqptest.ReceiverAttach(0, "q"))
		c.WriteFrames(0, flow(0, 9, nil))
		sentFrames(c)
		c.WriteFrames(0, flow(0, 1, nil))
		sentFrames(c)
		w.send("q", "", "0", "1", "2")
		if diff := cmp.Diff([]string{"message 0"}, sentFrames(c)); diff != "" {
			t.Error(diff)
		}
		if active, locked := w.count("q"); active != 2 || locked != 1 {
			t.Errorf("%d messages are active and %d locked", active, locked)
		}
	})
}

// Messages and replies wait for room in the session's window.
func TestWindow(t *testing.T) {
	window := func(seen, room uint32) *wire.Flow {
		return &wire.Flow{NextIncomingID: wire.Some(seen), IncomingWindow: room, OutgoingWindow: 1}
	}
	bubble(t, func(t *testing.T, w *world) {
		w.b.CreateQueue("q", engine.Config{})
		w.send("q", "", "0", "1", "2", "3")
		c := amqptest.Connect(t, w.plug(), wire.Open{})
		c.WriteFrames(0, &wire.Begin{IncomingWindow: 0, OutgoingWindow: 1})
		amqptest.Expect[*wire.Begin](c)
		c.Attach(0, amqptest.ReceiverAttach(0, "q"))
		c.WriteFrames(0, flow(0, 9, func(f *wire.Flow) { f.IncomingWindow = 0; f.NextIncomingID = wire.Opt[uint32]{} }))
		for _, step := range []struct {
			flow *wire.Flow
			want []string
		}{
			{window(0, 0), nil},
			{window(0, 1), []string{"message 0"}},
			{window(0, 1), nil}, // message 0, which was already sent, fills the window
			{window(1, 0), nil},
			{window(1, 2), []string{"message 1", "message 2"}},
			{window(1, 1<<32-1), []string{"message 3"}},
		} {
			c.WriteFrames(0, step.flow)
			if diff := cmp.Diff(step.want, sentFrames(c)); diff != "" {
				t.Errorf("%d transfers seen, window of %d: %s", step.flow.NextIncomingID.Or(0), step.flow.IncomingWindow, diff)
			}
		}
	})
}

// A reply of $management is sent in as many transfers as the window and the frames require, and not
// before there is credit for it.
func TestWindowOfAnswers(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.b.CreateQueue("q", engine.Config{})
		w.send("q", "", string(make([]byte, 3_000)))
		c := amqptest.Connect(t, w.plug(), wire.Open{MaxFrameSize: wire.Some[uint32](1_024)})
		c.WriteFrames(0, &wire.Begin{IncomingWindow: 1, OutgoingWindow: 1})
		amqptest.Expect[*wire.Begin](c)
		m := manages(c, "q")
		m.ask("com.microsoft:peek-message", nil)
		if got := transfers(frames(c)); got != 0 {
			t.Errorf("received %d transfers without credit", got)
		}
		c.WriteFrames(0, flow(0, 1, func(f *wire.Flow) { f.Handle = wire.Some[uint32](1); f.IncomingWindow = 1 }))
		for seen := range uint32(3) {
			if got := transfers(frames(c)); got != 1 {
				t.Fatalf("received %d transfers with a window of one", got)
			}
			c.WriteFrames(0, &wire.Flow{NextIncomingID: wire.Some(seen + 1), IncomingWindow: 1, OutgoingWindow: 1})
		}
		if got := frames(c); transfers(got) != 1 || got[0].(*wire.Transfer).More {
			t.Errorf("the last transfer is %+v", got)
		}
	})
}

func transfers(all []wire.Performative) (n int) {
	for _, p := range all {
		if _, ok := p.(*wire.Transfer); ok {
			n++
		}
	}
	return n
}

// When the window opens, a link with one message gets its turn among the first, although another
// link of the session has 500 messages to send.
func TestFair(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.b.CreateQueue("many", engine.Config{})
		w.b.CreateQueue("few", engine.Config{})
		for range 10 {
			w.send("many", "", make([]string, 50)...)
		}
		w.send("few", "", "x")
		c := w.client()
		c.Attach(0, amqptest.ReceiverAttach(0, "many"))
		c.Attach(0, amqptest.ReceiverAttach(1, "few"))
		c.WriteFrames(0,
			flow(0, 500, func(f *wire.Flow) { f.IncomingWindow = 0 }),
			flow(0, 1, func(f *wire.Flow) { f.IncomingWindow = 0; f.Handle = wire.Some[uint32](1) }))
		frames(c)
		c.WriteFrames(0, flow(0, 500, nil))
		at := -1
		for i, p := range frames(c) {
			if tr, ok := p.(*wire.Transfer); ok && tr.Handle == 1 {
				at = i
			}
		}
		if at < 0 || at > 2 {
			t.Errorf("the message of the other link was number %d", at)
		}
	})
}

// If the limit on unsettled deliveries per link is set, a receiver that has reached it gets no more
// messages until it settles some. A drain is answered even then.
func TestUnsettledLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := engine.DefaultLimits()
		l.LinkUnsettled = 5_000
		w := newWorld(t, amqp.Options{}, broker.Options{Limits: &l})
		w.b.CreateQueue("q", engine.Config{})
		for range 11 {
			w.send("q", "", make([]string, 500)...)
		}
		c := w.client()
		c.Attach(0, amqptest.ReceiverAttach(0, "q"))
		c.WriteFrames(0, flow(0, 10_000, nil))
		if got := transfers(frames(c)); got != 5_000 {
			t.Fatalf("received %d messages", got)
		}
		c.WriteFrames(0, flow(5_000, 5_000, drain))
		if diff := cmp.Diff([]string{"flow 10000/0 drain"}, sentFrames(c)); diff != "" {
			t.Error(diff)
		}
		c.WriteFrames(0, &wire.Disposition{Role: wire.RoleReceiver, First: 0, Last: wire.Some[uint32](9), Settled: true, State: wire.Accepted{}})
		c.WriteFrames(0, flow(10_000, 100, nil))
		if got := transfers(frames(c)); got != 10 {
			t.Errorf("received %d messages after ten were settled", got)
		}
	})
}

// Without a limit of its own, a receiver can hold thousands of messages, also in a
// session: the SDK's live test has 6,000.
func TestManyUnsettled(t *testing.T) {
	const many = 6_000
	for name, session := range map[string]string{"a queue": "", "a session": "s"} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				w.b.CreateQueue("q", engine.Config{RequiresSession: session != "", LockDuration: 5 * time.Minute})
				for range many / 500 {
					w.send("q", session, make([]string, 500)...)
				}
				c := w.client()
				if session == "" {
					c.Attach(0, amqptest.ReceiverAttach(0, "q"))
				} else {
					c.Attach(0, asks(0, "q", value.OfString(session), 0))
				}
				c.WriteFrames(0, flow(0, 10_000, nil))
				if got := transfers(frames(c)); got != many {
					t.Errorf("received %d messages", got)
				}
			})
		})
	}
}

// A receiver that has locked the maximum number of messages of its session gets no more, and the
// log shows why.
func TestSessionLocksLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := engine.DefaultLimits()
		l.SessionLocks = 3
		var log bytes.Buffer
		w := newWorld(t, amqp.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}, broker.Options{Limits: &l})
		w.b.CreateQueue("q", engine.Config{RequiresSession: true})
		w.send("q", "s", make([]string, 5)...)
		c := w.client()
		c.Attach(0, asks(0, "q", value.OfString("s"), 0))
		c.WriteFrames(0, flow(0, 10, nil))
		if got := transfers(frames(c)); got != 3 {
			t.Errorf("received %d messages", got)
		}
		if got := log.String(); strings.Count(got, "--limit session-locks") != 1 || !strings.Contains(got, "session=s unsettled=3") {
			t.Errorf("the log has %q", got)
		}
	})
}

// An idle link stays attached, and its connection open, for as long as the client sends heartbeats:
// the idle timers of LOCK-9 are off.
func TestIdleStays(t *testing.T) {
	t.Run("LOCK-9", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world) {
			w.b.CreateQueue("q", engine.Config{})
			c := w.dial() // sends heartbeats
			s, err := c.NewSession(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			r, err := s.NewReceiver(t.Context(), "q", nil)
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Hour)
			synctest.Wait()
			w.send("q", "", "x")
			if m, err := r.Receive(t.Context(), nil); err != nil || string(m.GetData()) != "x" {
				t.Errorf("after an hour, got %v, %v", m, err)
			}
		})
	})
}
