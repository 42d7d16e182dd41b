package amqp_test

import (
	"context"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/value"
	"mayfly/storage/memory"
	"mayfly/web/amqp"
	"mayfly/web/amqp/amqptest"
	"mayfly/web/amqp/wire"
)

const sessionLockLost = "com.microsoft:session-lock-lost"

// described returns a session filter's value as Go's SDK writes it.
func described(v value.Value) value.Value {
	return value.OfRaw(wire.AppendDescribed(nil, value.OfULong(0x137000000C), v))
}

// The answer names the accepted session in the form of the client's filter, with the end
// of its lock in ticks (SES-2).
func TestAccept(t *testing.T) {
	for name, tc := range map[string]struct{ ask, want value.Value }{
		"by name":             {value.OfString("a"), value.OfString("a")},
		"the next":            {value.Value{}, value.OfString("a")},
		"by name, described":  {described(value.OfString("a")), described(value.OfString("a"))},
		"the next, described": {described(value.Value{}), described(value.OfString("a"))},
		"that nobody sent to": {value.OfString("b"), value.OfString("b")},
		"with an empty name":  {value.OfString(""), value.OfString("")},
	} {
		t.Run("SES-2 "+name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				w.b.CreateQueue("q", engine.Config{RequiresSession: true, LockDuration: time.Minute})
				w.send("q", "a", "x")
				c := w.client()
				a := c.Attach(0, asks(0, "q", tc.ask, 1_000))
				got, _ := a.Source.Filter.Lookup("com.microsoft:session-filter")
				if !got.Equal(tc.want) {
					t.Errorf("the filter is %v, want %v", got, tc.want)
				}
				until, _ := a.Properties.Lookup("com.microsoft:locked-until-utc")
				if want := wire.DotNetTicks(time.Now().Add(time.Minute).UnixMilli()); until.Kind() != value.Long || !until.Equal(value.OfLong(want)) {
					t.Errorf("locked until %v, want %d", until, want)
				}
				if _, ok := a.Properties.Lookup("com.microsoft:timeout"); ok {
					t.Error("the answer has the client's own properties")
				}
			})
		})
	}
}

// A link that is impossible is refused at once, with the reason (sdk-demands 9).
func TestRefusedSessions(t *testing.T) {
	for name, tc := range map[string]struct {
		attach wire.Attach
		want   wire.Condition
	}{
		"by a number":              {asks(0, "q", value.OfUInt(7), 0), wire.CondInvalidField},
		"by true":                  {asks(0, "q", value.OfBool(true), 0), wire.CondInvalidField},
		"by a list":                {asks(0, "q", value.OfRaw(wire.AppendList(nil)), 0), wire.CondInvalidField},
		"by a described number":    {asks(0, "q", described(value.OfInt(1)), 0), wire.CondInvalidField},
		"held by another":          {asks(0, "q", value.OfString("held"), 60_000), "com.microsoft:session-cannot-be-locked"},
		"SES-13 without":           {amqptest.ReceiverAttach(0, "q"), wire.CondNotAllowed},
		"SES-14 where none are":    {asks(0, "plain", value.OfString("a"), 0), wire.CondNotAllowed},
		"SES-3 none in time":       {asks(0, "q", value.Value{}, 0), "com.microsoft:timeout"},
		"of an entity that is not": {asks(0, "nothing", value.OfString("a"), 0), wire.CondNotFound},
		"shared":                   {shared(), wire.CondNotImplemented},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				w.b.CreateQueue("q", engine.Config{RequiresSession: true})
				w.b.CreateQueue("plain", engine.Config{})
				holder := w.client()
				holder.Attach(0, asks(0, "q", value.OfString("held"), 0))
				c := w.client()
				before := time.Now()
				why := refused(c, tc.attach)
				if why == nil || why.Condition != tc.want {
					t.Errorf("refused with error %+v", why)
				}
				if d := time.Since(before); d != 0 {
					t.Errorf("after %v", d)
				}
				c.Attach(0, amqptest.ReceiverAttach(0, "plain")) // the handle is free, and the session stays
			})
		})
	}
}

func shared() wire.Attach {
	a := amqptest.ReceiverAttach(0, "q")
	a.Source.Filter = value.Properties{{Name: "com.microsoft:non-exclusive-session-filter", Value: value.OfString("a")}}
	return a
}

// A client that waits for any session is refused after the time-out that it asks for, or after 65 s
// without one. If it detaches earlier, it gets no session, and no answer to the wait (SES-3).
func TestAcceptPatience(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.b.CreateQueue("q", engine.Config{RequiresSession: true})
		c := w.client()
		var before time.Time
		for wait, want := range map[uint64]time.Duration{1_500: 1500 * time.Millisecond, 0: 0} {
			before = time.Now()
			if why := refused(c, asks(0, "q", value.Value{}, wait)); why == nil || why.Condition != "com.microsoft:timeout" || time.Since(before) != want {
				t.Errorf("after %v: %+v", time.Since(before), why)
			}
		}
		a := asks(0, "q", value.Value{}, 0)
		a.Properties = nil
		before = time.Now()
		if why := refused(c, a); why == nil || time.Since(before) != 65*time.Second {
			t.Errorf("without a time, after %v: %+v", time.Since(before), why)
		}
	})
	for name, bye := range map[string]wire.Performative{"detach": &wire.Detach{Closed: true}, "end": &wire.End{}, "close": &wire.Close{}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				w.b.CreateQueue("q", engine.Config{RequiresSession: true})
				c := w.client()
				a := asks(0, "q", value.Value{}, 10_000)
				c.WriteFrames(0, &a)
				frames(c)
				c.WriteFrames(0, bye)
				want := []string{name}
				if name == "detach" {
					want = []string{"attach", "detach"} // no link is detached before its attach is answered
				}
				if got := brief(frames(c)); !slices.Equal(got, want) {
					t.Errorf("the server sent %v", got)
				}
				w.send("q", "a", "x")
				time.Sleep(time.Minute)
				if got := frames(c); len(got) > 0 {
					t.Errorf("and later %v", got)
				}
				w.client().Attach(0, asks(0, "q", value.OfString("a"), 0)) // no client holds it
			})
		})
	}
}

// A client that attaches and disconnects before the answer holds no session.
func TestAcceptAndGone(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.b.CreateQueue("q", engine.Config{RequiresSession: true})
		w.send("q", "a", "x")
		for range 20 {
			c := w.client()
			a := asks(0, "q", value.Value{}, 10_000)
			c.WriteFrames(0, &a, &wire.Detach{Closed: true})
			frames(c)
			c.Disconnect()
		}
		w.client().Attach(0, asks(0, "q", value.OfString("a"), 0))
	})
}

// A client that detaches, ends or closes has released its session when it gets the answer, so that
// it can accept it again at once (SES-7). A client that vanishes keeps it (DEC-5).
func TestSessionReturned(t *testing.T) {
	for name, tc := range map[string]struct {
		bye  func(c *amqptest.Client)
		free bool
	}{
		"SES-7 detach": {func(c *amqptest.Client) {
			c.WriteFrames(0, &wire.Detach{Closed: true})
			amqptest.Expect[*wire.Detach](c)
		}, true},
		"SES-7 end": {func(c *amqptest.Client) {
			c.WriteFrames(0, &wire.End{})
			amqptest.Expect[*wire.End](c)
		}, true},
		"SES-7 close": {func(c *amqptest.Client) {
			c.WriteFrames(0, &wire.Close{})
			amqptest.Expect[*wire.Close](c)
		}, true},
		"hang": {func(c *amqptest.Client) {
			c.Disconnect()
			frames(c)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				w.b.CreateQueue("q", engine.Config{RequiresSession: true})
				w.send("q", "a", "x")
				c := w.client()
				c.Attach(0, asks(0, "q", value.OfString("a"), 0))
				c.WriteFrames(0, flow(0, 1, nil))
				frames(c)
				tc.bye(c)
				other := w.client()
				if !tc.free {
					if why := refused(other, asks(0, "q", value.OfString("a"), 0)); why == nil || why.Condition != "com.microsoft:session-cannot-be-locked" {
						t.Errorf("refused with error %+v", why)
					}
					return
				}
				other.Attach(0, asks(0, "q", value.OfString("a"), 0))
				other.WriteFrames(0, flow(0, 1, nil))
				var m wire.Message
				var h wire.Header
				if err := m.Decode(other.ReceiveDelivery().Payload); err != nil {
					t.Fatal(err)
				}
				if err := h.Decode(m.Header); err != nil || h.DeliveryCount.Or(99) != 0 {
					t.Errorf("the delivery was counted: %d, %v", h.DeliveryCount.Or(99), err)
				}
			})
		})
	}
}

// slow is a store that takes a second to write.
type slow struct{ engine.Store }

func (s slow) Commit(ctx context.Context, b *engine.Batch) error {
	time.Sleep(time.Second)
	return s.Store.Commit(ctx, b)
}

// While the broker is busy, a detach, end or close is not answered. Once it is answered, the
// session is released and can be accepted again.
func TestGoodbyeWaits(t *testing.T) {
	for name, bye := range map[string]wire.Performative{"detach": &wire.Detach{Closed: true}, "end": &wire.End{}, "close": &wire.Close{}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorldOn(t, slow{new(memory.Store)}, amqp.Options{}, broker.Options{})
				w.b.CreateQueue("q", engine.Config{RequiresSession: true})
				c := w.client()
				c.Attach(0, asks(0, "q", value.OfString("a"), 0))
				sent := make(chan struct{})
				go func() {
					defer close(sent)
					w.send("q", "b", "x")
				}()
				synctest.Wait()
				c.WriteFrames(0, bye)
				if got := brief(frames(c)); got != nil {
					t.Errorf("the server answered %q before the session was released", got)
				}
				<-sent
				time.Sleep(2 * time.Second)
				if got := frames(c); len(got) != 1 || got[0].Code() != bye.Code() {
					t.Errorf("the server sent %q", brief(got))
				}
				w.client().Attach(0, asks(0, "q", value.OfString("a"), 0))
			})
		})
	}
}

// A link that the broker has not attached yet is detached in the same way: the client has withdrawn
// its request, but the broker may already have given it the session.
func TestDetachOfAnUnansweredAttach(t *testing.T) {
	for name, bye := range map[string]wire.Performative{"detach": &wire.Detach{Closed: true}, "end": &wire.End{}, "close": &wire.Close{}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorldOn(t, slow{new(memory.Store)}, amqp.Options{}, broker.Options{})
				w.b.CreateQueue("q", engine.Config{RequiresSession: true})
				w.send("q", "a", "x")
				c, next := w.client(), w.client()
				a := asks(0, "q", value.OfString("a"), 0)
				sent := make(chan struct{})
				go func() {
					defer close(sent)
					w.send("q", "b", "x")
				}()
				synctest.Wait()
				c.WriteFrames(0, &a, bye)
				if got := brief(frames(c)); got != nil {
					t.Errorf("the server answered %q before the session was released", got)
				}
				<-sent
				if name == "detach" {
					amqptest.Expect[*wire.Attach](c)
				}
				if amqptest.Expect[wire.Performative](c).Code() != bye.Code() {
					t.Error("the server answered otherwise")
				}
				next.Attach(0, a)
			})
		})
	}
}

// A link whose session's lock expires while it only waits stays until another receiver
// has the session; nothing can be done with it (sdk-demands 8). With unsettled messages
// it ends at once (SES-6).
func TestSessionLost(t *testing.T) {
	open := func(t *testing.T, w *world) *amqptest.Client {
		w.b.CreateQueue("q", engine.Config{RequiresSession: true, LockDuration: 10 * time.Second})
		c := w.client()
		c.Attach(0, asks(0, "q", value.OfString("a"), 0))
		c.WriteFrames(0, flow(0, 5, nil))
		return c
	}
	accept := func(w *world, id *string) { // as the JSON API and the dashboard do
		s, err := w.b.AcceptSession(w.t.Context(), broker.AcceptRequest{Path: "Q", Session: id, Client: "API"})
		if err != nil {
			w.t.Fatal(err)
		}
		if err := s.Close(w.t.Context()); err != nil {
			w.t.Fatal(err)
		}
	}
	a, b := "a", "b"
	for by, take := range map[string]func(w *world){
		"a client by name":      func(w *world) { w.client().Attach(0, asks(0, "q", value.OfString(a), 0)) },
		"a client for the next": func(w *world) { w.send("q", a, "x"); w.client().Attach(0, asks(0, "q", value.Value{}, 0)) },
		"another API by name":   func(w *world) { accept(w, &a) },
		"another API, the next": func(w *world) { w.send("q", a, "x"); accept(w, nil) },
	} {
		t.Run("waiting, until taken by "+by, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				c := open(t, w)
				time.Sleep(time.Minute)
				if got := sentFrames(c); got != nil {
					t.Errorf("the server sent %q", got)
				}
				c.WriteFrames(0, flow(0, 5, drain))
				if diff := cmp.Diff([]string{"flow 5/0 drain"}, sentFrames(c)); diff != "" {
					t.Error(diff)
				}
				accept(w, &b)
				if got := sentFrames(c); got != nil {
					t.Errorf("for another session the server sent %q", got)
				}
				take(w)
				if diff := cmp.Diff([]string{"detach " + sessionLockLost}, sentFrames(c)); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
	// Messages that arrive in the session then are not delivered on the link, which is detached.
	scheduled := func(w *world, session string) {
		w.b.SendMessages("q", broker.Outgoing{Content: engine.Content{SessionID: session, ScheduledFor: engine.At(time.Now().Add(time.Minute))}})
	}
	become := func(w *world, status engine.Status) {
		c := engine.Config{RequiresSession: true, LockDuration: 10 * time.Second, Status: status}
		if _, err := w.b.Update(w.t.Context(), "q", c, "tester"); err != nil {
			w.t.Fatal(err)
		}
	}
	for name, tc := range map[string]struct {
		does  func(w *world)
		hears bool
	}{
		"SES-20 a message comes":                    {func(w *world) { w.send("q", "a", "x") }, true},
		"SES-20 a message comes by schedule":        {func(w *world) { scheduled(w, "a"); time.Sleep(2 * time.Minute) }, true},
		"SES-20 a message is only scheduled":        {func(w *world) { scheduled(w, "a") }, false},
		"SES-20 a message comes to another session": {func(w *world) { w.send("q", "b", "x"); scheduled(w, "b"); time.Sleep(2 * time.Minute) }, false},
		"SES-20 receivers are refused":              {func(w *world) { become(w, engine.StatusReceiveDisabled) }, true},
		"SES-20 the queue is deleted": {func(w *world) {
			if err := w.b.Delete(w.t.Context(), "q", broker.Unconfirmed, "tester"); err != nil {
				w.t.Fatal(err)
			}
		}, true},
	} {
		t.Run("waiting, until "+name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				c := open(t, w)
				time.Sleep(time.Minute)
				if got := sentFrames(c); got != nil {
					t.Errorf("the server sent %q", got)
				}
				tc.does(w)
				var want []string
				if tc.hears {
					want = []string{"detach " + sessionLockLost}
				}
				if diff := cmp.Diff(want, sentFrames(c)); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
	t.Run("SES-20 waiting, and asking for what was there before", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world) {
			c := open(t, w)
			c.WriteFrames(0, flow(0, 0, nil))
			synctest.Wait()
			w.send("q", "a", "x")
			time.Sleep(time.Minute)
			if got := sentFrames(c); got != nil {
				t.Errorf("the server sent %q", got)
			}
			c.WriteFrames(0, flow(0, 1, nil))
			if diff := cmp.Diff([]string{"detach " + sessionLockLost}, sentFrames(c)); diff != "" {
				t.Error(diff)
			}
		})
	})
	t.Run("SES-20 waiting, and asking for nothing that is there", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world) {
			c := open(t, w)
			time.Sleep(time.Minute)
			for range 3 {
				c.WriteFrames(0, flow(0, 1, nil))
				c.WriteFrames(0, flow(0, 1, drain))
				if diff := cmp.Diff([]string{"flow 1/0 drain"}, sentFrames(c)); diff != "" {
					t.Error(diff)
				}
			}
		})
	})
	t.Run("waiting, and gone first", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world) {
			c := open(t, w)
			time.Sleep(time.Minute)
			c.WriteFrames(0, &wire.Detach{Closed: true})
			amqptest.Expect[*wire.Detach](c)
			c.Attach(0, asks(0, "q", value.OfString("a"), 0))
			if got := sentFrames(c); got != nil {
				t.Errorf("the server sent %q", got)
			}
		})
	})
	t.Run("waiting, and forgotten", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world) {
			c := open(t, w)
			time.Sleep(time.Minute)
			all := w.s.SenderProbes()
			c.Disconnect()
			synctest.Wait()
			runtime.GC()
			if len(all) != 1 || all[0]() {
				t.Errorf("of %d receivers, one is left whose client has disconnected", len(all))
			}
		})
	})
	t.Run("SES-6 holding", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world) {
			c := open(t, w)
			w.send("q", "a", "x")
			sentFrames(c)
			time.Sleep(time.Minute)
			if diff := cmp.Diff([]string{"detach " + sessionLockLost}, sentFrames(c)); diff != "" {
				t.Error(diff)
			}
		})
	})
	// The client may settle before it learns that the lock is lost. Until it has answered
	// the detach, each outcome is answered with that error.
	t.Run("SES-6 settling as it is lost", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world) {
			c := open(t, w)
			for _, body := range []string{"x", "y", "z"} {
				w.send("q", "a", body)
			}
			c.WriteFrames(0, flow(0, 5, nil))
			synctest.Wait()
			sentFrames(c)
			time.Sleep(time.Minute)
			if diff := cmp.Diff([]string{"detach " + sessionLockLost}, sentFrames(c)); diff != "" {
				t.Fatal(diff)
			}
			settle := func(id uint32, settled bool) {
				c.WriteFrames(0, &wire.Disposition{Role: wire.RoleReceiver, First: id, Settled: settled, State: wire.Accepted{}})
			}
			settle(0, false)
			d := amqptest.Expect[*wire.Disposition](c)
			if r, ok := d.State.(wire.Rejected); !ok || d.First != 0 || !d.Settled || r.Error == nil || r.Error.Condition != sessionLockLost {
				t.Errorf("the server sent %+v", d)
			}
			settle(0, false) // one answer is enough
			settle(1, true)  // the client does not wait for an answer
			c.WriteFrames(0, &wire.Detach{Closed: true})
			settle(2, false) // no client has such a delivery any more
			if got := sentFrames(c); got != nil {
				t.Errorf("the server sent %q", got)
			}
		})
	})
	t.Run("broken by an operator", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world) {
			c := open(t, w)
			sentFrames(c)
			if err := w.b.BreakSession(t.Context(), "q", "a", "operator"); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"detach " + sessionLockLost}, sentFrames(c)); diff != "" {
				t.Error(diff)
			}
		})
	})
}
