package amqp_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine"
	"mayfly/engine/value"
	"mayfly/web/amqp/amqptest"
	"mayfly/web/amqp/wire"
)

// received attaches link 0 to a queue with n messages, and receives them.
func received(t *testing.T, w *world, n int) *amqptest.Client {
	t.Helper()
	w.b.CreateQueue("q", engine.Config{LockDuration: time.Minute})
	w.send("q", "", make([]string, n)...)
	c := w.client()
	c.Attach(0, amqptest.ReceiverAttach(0, "q"))
	c.WriteFrames(0, flow(0, uint32(n), nil))
	if got := transfers(frames(c)); got != n {
		t.Fatalf("received %d of %d messages", got, n)
	}
	return c
}

func settles(first uint32, last wire.Opt[uint32], s wire.State) *wire.Disposition {
	return &wire.Disposition{Role: wire.RoleReceiver, First: first, Last: last, State: s}
}

// dispositions returns the dispositions that have arrived, in short: "0-2 accepted".
func dispositions(c *amqptest.Client) (out []string) {
	for _, p := range frames(c) {
		d, ok := p.(*wire.Disposition)
		if !ok {
			out = append(out, fmt.Sprintf("%T", p))
			continue
		}
		text := fmt.Sprintf("%d-%d", d.First, d.Last.Or(99))
		switch s := d.State.(type) {
		case wire.Accepted:
			text += " accepted"
		case wire.Released:
			text += " released"
		case wire.Modified:
			text += " modified"
		case wire.Rejected:
			text += " rejected"
			if s.Error != nil {
				text += " " + string(s.Error.Condition)
			}
		}
		if d.Role != wire.RoleSender || !d.Settled {
			text += " of the wrong kind"
		}
		out = append(out, text)
	}
	return out
}

// A disposition is answered with the same outcome, settled, and a range of deliveries with ranges.
// Failed settlements are answered one by one (SETL-1), and the link stays.
func TestSettlement(t *testing.T) {
	some := wire.Some[uint32]
	none := wire.Opt[uint32]{}
	dead := wire.Rejected{Error: &wire.Error{Condition: "com.microsoft:dead-letter", Info: value.Properties{{Name: "DeadLetterReason", Value: value.OfString("why")}}}}
	for name, tc := range map[string]struct {
		say  []wire.Performative
		want []string
	}{
		"one, last and settled absent":  {[]wire.Performative{settles(1, none, wire.Accepted{})}, []string{"1-1 accepted"}},
		"complete":                      {[]wire.Performative{settles(1, some(1), wire.Accepted{})}, []string{"1-1 accepted"}},
		"abandon":                       {[]wire.Performative{settles(0, none, wire.Modified{DeliveryFailed: true})}, []string{"0-0 modified"}},
		"defer":                         {[]wire.Performative{settles(0, none, wire.Modified{UndeliverableHere: true})}, []string{"0-0 modified"}},
		"release":                       {[]wire.Performative{settles(0, none, wire.Released{})}, []string{"0-0 released"}},
		"dead-letter":                   {[]wire.Performative{settles(0, none, dead)}, []string{"0-0 rejected"}},
		"all":                           {[]wire.Performative{settles(0, some(4), wire.Accepted{})}, []string{"0-4 accepted"}},
		"more than all":                 {[]wire.Performative{settles(0, some(1<<31-2), wire.Accepted{})}, []string{"0-4 accepted"}},
		"around the end of the numbers": {[]wire.Performative{settles(1<<32-5, some(1), wire.Accepted{})}, []string{"0-1 accepted"}},
		"around a hole":                 {[]wire.Performative{settles(2, none, wire.Accepted{}), settles(0, some(4), wire.Released{})}, []string{"2-2 accepted", "0-1 released", "3-4 released"}},
		"one by one":                    {[]wire.Performative{settles(0, none, wire.Accepted{}), settles(1, none, wire.Accepted{})}, []string{"0-0 accepted", "1-1 accepted"}},
		"twice":                         {[]wire.Performative{settles(0, none, wire.Accepted{}), settles(0, none, wire.Accepted{})}, []string{"0-0 accepted"}},
		"what was never sent":           {[]wire.Performative{settles(7, none, wire.Accepted{})}, nil},
		"settled by the client":         {[]wire.Performative{&wire.Disposition{Role: wire.RoleReceiver, Settled: true, State: wire.Accepted{}}}, nil},
		"without a state":               {[]wire.Performative{settles(0, none, nil)}, nil},
		"of its own deliveries":         {[]wire.Performative{&wire.Disposition{Role: wire.RoleSender, Settled: true, State: wire.Accepted{}}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				c := received(t, w, 5)
				c.WriteFrames(0, tc.say...)
				if diff := cmp.Diff(tc.want, dispositions(c)); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// Deliveries of a range that are not locked any more fail one by one. The others are
// settled (SETL-1, ERR-6).
func TestPartialSettlement(t *testing.T) {
	t.Run("SETL-1 ERR-6", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world) {
			w.b.CreateQueue("q", engine.Config{LockDuration: time.Minute})
			w.send("q", "", "0", "1")
			c := w.client()
			c.Attach(0, amqptest.ReceiverAttach(0, "q"))
			c.WriteFrames(0, flow(0, 2, nil))
			frames(c)
			time.Sleep(30 * time.Second)
			synctest.Wait()
			w.send("q", "", "2", "3")
			c.WriteFrames(0, flow(2, 2, nil))
			frames(c)
			time.Sleep(30 * time.Second) // the locks of the first two have expired
			synctest.Wait()
			c.WriteFrames(0, settles(0, wire.Some[uint32](3), wire.Accepted{}))
			const lost = "com.microsoft:message-lock-lost"
			if diff := cmp.Diff([]string{"0-0 rejected " + lost, "1-1 rejected " + lost, "2-3 accepted"}, dispositions(c)); diff != "" {
				t.Error(diff)
			}
			c.WriteFrames(0, flow(4, 2, nil))
			if got := transfers(frames(c)); got != 2 {
				t.Errorf("the link cannot be used any more: received %d messages", got)
			}
		})
	})
}

// Successful settlements are answered in ranges around the failed ones.
func TestRangesAroundFailures(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.b.CreateQueue("q", engine.Config{})
		w.send("q", "", make([]string, 6)...)
		c := w.client()
		c.Attach(0, amqptest.ReceiverAttach(0, "q"))
		c.WriteFrames(0, flow(0, 6, nil))
		for i := range 6 {
			token := engine.LockToken(wire.TagOfLockToken([16]byte(c.ReceiveDelivery().DeliveryTag)))
			if i != 2 && i != 5 {
				continue
			}
			if err := w.b.BreakLock(t.Context(), token.Key(), "operator"); err != nil {
				t.Fatal(err)
			}
		}
		c.WriteFrames(0, settles(0, wire.Some[uint32](5), wire.Accepted{}))
		const lost = " rejected com.microsoft:message-lock-lost"
		if diff := cmp.Diff([]string{"0-1 accepted", "2-2" + lost, "3-4 accepted", "5-5" + lost}, dispositions(c)); diff != "" {
			t.Error(diff)
		}
	})
}

// A disposition for deliveries of a detached link has neither effect nor answer. The
// locks stay, and messages are settled from any connection (sdk-demands 3, 4).
func TestSettlementOfDetached(t *testing.T) {
	logRule(t, "LOCK-8 by another connection")
	bubble(t, func(t *testing.T, w *world) {
		w.b.CreateQueue("q", engine.Config{LockDuration: time.Minute})
		w.send("q", "", "0", "1")
		c := w.client()
		c.Attach(0, amqptest.ReceiverAttach(0, "q"))
		c.WriteFrames(0, flow(0, 2, nil))
		var tokens []value.Value
		for range 2 {
			token := wire.TagOfLockToken([16]byte(c.ReceiveDelivery().DeliveryTag))
			tokens = append(tokens, value.OfUUID(token))
		}
		c.WriteFrames(0, &wire.Detach{Handle: 0, Closed: true})
		amqptest.Expect[*wire.Detach](c)
		c.WriteFrames(0, settles(0, wire.Some[uint32](1), wire.Accepted{}))
		if got := dispositions(c); got != nil {
			t.Errorf("the server sent %q", got)
		}
		if _, locked := w.count("q"); locked != 2 {
			t.Fatalf("%d messages are locked", locked)
		}
		c.Disconnect()
		other := w.client()
		m := manages(other, "q")
		if a := m.do("com.microsoft:renew-lock", value.Properties{{Name: "lock-tokens", Value: value.OfRaw(wire.AppendArray(nil, value.UUID, tokens...))}}); a.Status != 200 {
			t.Errorf("renewed from another connection: %+v", a)
		}
		a := m.do("com.microsoft:update-disposition", value.Properties{
			{Name: "disposition-status", Value: value.OfString("completed")},
			{Name: "lock-tokens", Value: value.OfRaw(wire.AppendArray(nil, value.UUID, tokens...))},
		})
		if a.Status != 200 {
			t.Errorf("settled from another connection: %+v", a)
		}
		if active, locked := w.count("q"); active+locked != 0 {
			t.Errorf("%d messages are active and %d locked", active, locked)
		}
	})
}

// Several tokens in one update-disposition are settled together: if one is invalid, the
// others stay locked, those before it and those after it.
func TestSettledTogether(t *testing.T) {
	for name, tc := range map[string]struct {
		which  []int // of three deliveries; -1 is an invalid token
		status int64
		locked int64
	}{
		"all":               {[]int{0, 1, 2}, 200, 0},
		"some":              {[]int{2, 0}, 200, 1},
		"a bad one alone":   {[]int{-1}, 410, 3},
		"a bad one first":   {[]int{-1, 0, 1}, 410, 3},
		"one in the middle": {[]int{0, -1, 1}, 410, 3},
		"one at the end":    {[]int{0, 1, -1}, 410, 3},
		"one twice":         {[]int{0, 1, 0}, 410, 3},
	} {
		t.Run("SETL-3 "+name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				w.b.CreateQueue("q", engine.Config{LockDuration: time.Minute})
				w.send("q", "", "0", "1", "2")
				c := w.client()
				c.Begin(1)
				c.Attach(1, amqptest.ReceiverAttach(0, "q"))
				c.WriteFrames(1, flow(0, 3, nil))
				tokens := map[int]value.Value{-1: value.OfUUID([16]byte{1})}
				for i := range 3 {
					tokens[i] = value.OfUUID(wire.TagOfLockToken([16]byte(c.ReceiveDelivery().DeliveryTag)))
				}
				var asked []value.Value
				for _, i := range tc.which {
					asked = append(asked, tokens[i])
				}
				a := manages(c, "q").do("com.microsoft:update-disposition", value.Properties{
					prop("disposition-status", value.OfString("completed")), prop("lock-tokens", arrayOf(value.UUID, asked...)),
				})
				if active, locked := w.count("q"); a.Status != tc.status || locked != tc.locked || active != 0 {
					t.Errorf("%d %s; %d are active and %d locked", a.Status, a.Text, active, locked)
				}
				if lost := "com.microsoft:message-lock-lost"; tc.status == 410 && a.Condition != lost {
					t.Errorf("the condition is %s, but SDKs match %s", a.Condition, lost)
				}
			})
		})
	}
}

// A disposition that is followed at once by a detach, end or close still takes effect.
func TestSettledGoodbye(t *testing.T) {
	for name, bye := range map[string]wire.Performative{"detach": &wire.Detach{Closed: true}, "end": &wire.End{}, "close": &wire.Close{}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				w.b.CreateQueue("q", engine.Config{RequiresSession: true})
				w.send("q", "a", "0", "1")
				c := w.client()
				c.Attach(0, asks(0, "q", value.OfString("a"), 0))
				c.WriteFrames(0, flow(0, 2, nil))
				frames(c)
				c.WriteFrames(0, &wire.Disposition{Role: wire.RoleReceiver, First: 0, Settled: true, State: wire.Accepted{}}, bye)
				if active, locked := w.count("q"); active != 1 || locked != 0 {
					t.Errorf("%d messages are active and %d locked", active, locked)
				}
			})
		})
	}
}

// Messages that wait for the session's window, so that the client has not received them, become
// available again without counting as delivered, when the link ends in any way or its credit is
// withdrawn.
func TestUnseen(t *testing.T) {
	for name, bye := range map[string]func(c *amqptest.Client){
		"detach": func(c *amqptest.Client) { c.WriteFrames(0, &wire.Detach{Closed: true}) },
		"end":    func(c *amqptest.Client) { c.WriteFrames(0, &wire.End{}) },
		"close":  func(c *amqptest.Client) { c.WriteFrames(0, &wire.Close{}) },
		"hang":   func(c *amqptest.Client) { c.Disconnect() },
		"credit": func(c *amqptest.Client) {
			c.WriteFrames(0, flow(0, 0, func(f *wire.Flow) { f.IncomingWindow = 0 }))
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				w.b.CreateQueue("q", engine.Config{})
				w.send("q", "", "0", "1", "2")
				c := w.client()
				c.Attach(0, amqptest.ReceiverAttach(0, "q"))
				c.WriteFrames(0, flow(0, 3, func(f *wire.Flow) { f.IncomingWindow = 0 }))
				if _, locked := w.count("q"); locked != 3 {
					t.Fatalf("%d messages are locked", locked)
				}
				bye(c)
				if active, _ := w.count("q"); active != 3 {
					t.Fatalf("%d messages are active", active)
				}
				other := w.client()
				other.Attach(0, amqptest.ReceiverAttach(0, "q"))
				other.WriteFrames(0, flow(0, 3, nil))
				for range 3 {
					var m wire.Message
					var h wire.Header
					if err := m.Decode(other.ReceiveDelivery().Payload); err != nil {
						t.Fatal(err)
					}
					if err := h.Decode(m.Header); err != nil {
						t.Fatal(err)
					}
					if n := h.DeliveryCount.Or(99); n != 0 {
						t.Errorf("a delivery that the client has not received made the count %d", n)
					}
				}
			})
		})
	}
}
