package amqp_test

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/value"
	"mayfly/web/amqp/amqptest"
	"mayfly/web/amqp/wire"
)

// brief returns the server's frames, by kind and condition.
func brief(all []wire.Performative) (out []string) {
	cond := func(name string, e *wire.Error) string {
		if e == nil {
			return name
		}
		return name + " " + string(e.Condition)
	}
	for _, p := range all {
		switch p := p.(type) {
		case *wire.Attach:
			out = append(out, "attach")
		case *wire.Detach:
			out = append(out, cond("detach", p.Error))
		case *wire.End:
			out = append(out, cond("end", p.Error))
		case *wire.Close:
			out = append(out, cond("close", p.Error))
		case *wire.Begin:
			out = append(out, "begin")
		case *wire.Flow:
			out = append(out, "flow")
		case *wire.Transfer:
			out = append(out, "transfer")
		case *wire.Disposition:
			out = append(out, "disposition")
		}
	}
	return out
}

// An invalid frame ends the session or the connection, with the right condition. Frames
// that crossed the server's end, and those that a client sends after its own, are ignored
// (§18.1). Link 0 receives, link 1 sends.
func TestOutOfOrder(t *testing.T) {
	attach := func(a wire.Attach) *wire.Attach { return &a }
	for name, tc := range map[string]struct {
		say  []wire.Performative
		want []string
	}{
		"a handle in use":         {[]wire.Performative{attach(amqptest.ReceiverAttach(0, "other"))}, []string{"end " + string(wire.CondHandleInUse)}},
		"and what comes after":    {[]wire.Performative{attach(amqptest.ReceiverAttach(0, "other")), flow(0, 1, nil), &wire.Detach{Closed: true}, &wire.End{}, &wire.Begin{}}, []string{"end " + string(wire.CondHandleInUse), "begin"}},
		"a transfer to a sender":  {[]wire.Performative{amqptest.MessageTransfer(0, 0, nil)}, []string{"close " + string(wire.CondNotAllowed)}},
		"a second open":           {[]wire.Performative{&wire.Open{ContainerID: "x"}}, []string{"close " + string(wire.CondIllegalState)}},
		"a second begin":          {[]wire.Performative{&wire.Begin{}}, []string{"close " + string(wire.CondNotAllowed)}},
		"a disposition backwards": {[]wire.Performative{settles(5, wire.Some[uint32](4), wire.Accepted{})}, []string{"close " + string(wire.CondInvalidField)}},
		"a detach twice":          {[]wire.Performative{&wire.Detach{Closed: true}, &wire.Detach{Closed: false}}, []string{"detach"}},
		"a detach of nothing":     {[]wire.Performative{&wire.Detach{Handle: 9}}, []string{"end " + string(wire.CondUnattachedHandle)}},
		"a flow of nothing":       {[]wire.Performative{flow(0, 1, func(f *wire.Flow) { f.Handle = wire.Some[uint32](9) })}, []string{"end " + string(wire.CondUnattachedHandle)}},
		"a transfer to nothing":   {[]wire.Performative{amqptest.MessageTransfer(9, 0, nil)}, []string{"end " + string(wire.CondUnattachedHandle)}},
		"frames after an end":     {[]wire.Performative{&wire.End{}, &wire.Detach{}, &wire.Detach{Handle: 1}, flow(0, 1, nil)}, []string{"end"}},
		"frames after a close":    {[]wire.Performative{&wire.Close{}, &wire.End{}}, []string{"close"}},
		"an end with links open":  {[]wire.Performative{&wire.End{}}, []string{"end"}},
		"a close with links open": {[]wire.Performative{&wire.Close{}}, []string{"close"}},
		"an empty session's flow": {[]wire.Performative{&wire.Flow{IncomingWindow: 1, OutgoingWindow: 1, Echo: true}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				w.b.CreateQueue("q", engine.Config{})
				w.b.CreateQueue("other", engine.Config{})
				c := w.client()
				c.Attach(0, amqptest.ReceiverAttach(0, "q"))
				c.AttachSender(0, 1, "q")
				c.WriteFrames(0, tc.say...)
				got := brief(frames(c))
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Error(diff)
				}
				if len(got) > 0 && got[0][:3] != "clo" || len(got) == 0 {
					c.Begin(7) // the connection stays
				}
			})
		})
	}
}

// After a client's close the server closes the connection. A client that does not answer
// the server's close has two seconds, whatever it sends.
func TestClosed(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		c := w.client()
		c.WriteFrames(0, &wire.Close{})
		if e := c.WaitForClose(); e != nil {
			t.Errorf("closed with error %+v", e)
		}
	})
	bubble(t, func(t *testing.T, w *world) {
		c := w.client()
		w.s.StandBy("Ask another.", nil)
		if e := amqptest.Expect[*wire.Close](c).Error; e == nil || e.Condition != wire.CondConnectionForced {
			t.Errorf("closed with error %+v", e)
		}
		before := time.Now()
		for c.ReadError() == nil && time.Since(before) < time.Minute {
			c.WriteFrames(0, &wire.End{})
			time.Sleep(700 * time.Millisecond)
			synctest.Wait()
			frames(c)
			if time.Since(before) > 2*time.Second {
				break
			}
		}
		if err := c.ReadError(); !errors.Is(err, io.EOF) {
			t.Errorf("after %v the connection is still open: %v", time.Since(before), err)
		}
	})
}

// A client that is silent for twice the idle time-out gets an error at exactly that time,
// whether it had sent much before or little. Half a frame is not lost before that.
func TestSilence(t *testing.T) {
	for name, before := range map[string]int{"little": 1, "much": 20_000} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				c := w.client()
				b := wire.AppendHeartbeat(nil)
				c.Write(bytes.Repeat(b, before))
				c.Write(b[:5])
				time.Sleep(3 * time.Minute)
				synctest.Wait()
				c.Write(b[5:])
				c.Begin(1)
				since := time.Now()
				if e := c.WaitForClose(); e == nil || e.Condition != wire.CondConnectionForced || time.Since(since) != 4*time.Minute {
					t.Errorf("after %v closed with error %+v", time.Since(since), e)
				}
			})
		})
	}
}

// Attaching a name again detaches the former link of that name. The same name in the other
// direction is another link.
func TestStolen(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.b.CreateQueue("q", engine.Config{RequiresSession: true})
		c := w.client()
		a := asks(0, "q", value.OfString("a"), 0)
		a.Name = "mine"
		c.Attach(0, a)
		snd := amqptest.SenderAttach(1, "q")
		snd.Name = "mine"
		c.Attach(0, snd)
		b := asks(2, "q", value.OfString("b"), 0)
		b.Name = "mine"
		c.WriteFrames(0, &b)
		got := frames(c)
		if diff := cmp.Diff([]string{"flow", "detach " + string(wire.CondStolen), "attach"}, brief(got)); diff != "" {
			t.Error(diff)
		}
	})
}

// A connection can have one link to send tokens on: a second one is refused until the first is
// detached (sdk-demands 2).
func TestOneCBS(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		c := w.client()
		c.AttachSender(0, 0, "$cbs")
		c.Begin(1)
		a := amqptest.SenderAttach(0, "$cbs")
		a.Name = "another"
		c.WriteFrames(1, &a)
		if diff := cmp.Diff([]string{"attach", "detach " + string(wire.CondNotAllowed)}, brief(frames(c))); diff != "" {
			t.Error(diff)
		}
		c.WriteFrames(0, &wire.Detach{Closed: true})
		amqptest.Expect[*wire.Detach](c)
		c.AttachSender(1, 1, "$cbs")
	})
}

// Links are detached when their entity is deleted or nothing can be received from it any
// more. Other links stay.
func TestEntityGone(t *testing.T) {
	for name, tc := range map[string]struct {
		act  func(w *world) error
		want string
	}{
		"deleted": {func(w *world) error { return w.b.Delete(w.t.Context(), "q", broker.Unconfirmed, "operator") }, string(wire.CondNotFound)},
		"disabled": {func(w *world) error {
			_, err := w.b.Update(w.t.Context(), "q", engine.Config{Status: engine.StatusDisabled}, "operator")
			return err
		}, "com.microsoft:entity-disabled"},
		"ERR-6 receiving disabled": {func(w *world) error {
			_, err := w.b.Update(w.t.Context(), "q", engine.Config{Status: engine.StatusReceiveDisabled}, "operator")
			return err
		}, "com.microsoft:entity-disabled"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				w.b.CreateQueue("q", engine.Config{})
				w.b.CreateQueue("other", engine.Config{})
				c := w.client()
				c.Attach(0, amqptest.ReceiverAttach(0, "q"))
				c.Attach(0, amqptest.ReceiverAttach(1, "other"))
				if err := tc.act(w); err != nil {
					t.Fatal(err)
				}
				got := frames(c)
				if diff := cmp.Diff([]string{"detach " + tc.want}, brief(got)); diff != "" {
					t.Fatal(diff)
				}
				if d := got[0].(*wire.Detach); d.Handle != 0 || !d.Closed {
					t.Errorf("the detach is %+v", d)
				}
				w.send("other", "", "x")
				c.WriteFrames(0, flow(0, 1, func(f *wire.Flow) { f.Handle = wire.Some[uint32](1) }))
				c.ReceiveDelivery()
			})
		})
	}
}
