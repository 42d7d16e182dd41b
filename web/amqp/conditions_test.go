package amqp_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	goamqp "github.com/Azure/go-amqp"
	"github.com/google/go-cmp/cmp"

	"mayfly/engine"
)

// gone returns the AMQP error in err, with which the server ended or refused a link, a message or a
// settlement; or nil if there is none.
func gone(err error) (e *goamqp.Error) {
	if l, ok := errors.AsType[*goamqp.LinkError](err); ok {
		return l.RemoteErr
	}
	e, _ = errors.AsType[*goamqp.Error](err)
	return e
}

// TestConditions provokes each error of the engine that a link can have, and checks its
// condition and a description that ends with a tracking id (ERR-5).
func TestConditions(t *testing.T) {
	receive := func(ctx context.Context, s *goamqp.Session, path string, o *goamqp.ReceiverOptions) (*goamqp.Receiver, error) {
		if o == nil {
			o = &goamqp.ReceiverOptions{}
		}
		o.SettlementMode = goamqp.ReceiverSettleModeSecond.Ptr()
		return s.NewReceiver(ctx, path, o)
	}
	send := func(ctx context.Context, s *goamqp.Session, path string, m *goamqp.Message) error {
		l, err := s.NewSender(ctx, path, nil)
		if err != nil {
			return err
		}
		return l.Send(ctx, m, nil)
	}
	inSession := func(id any) *goamqp.ReceiverOptions {
		return &goamqp.ReceiverOptions{
			Filters:    []goamqp.LinkFilter{goamqp.NewLinkFilter("com.microsoft:session-filter", 0x137000000C, id)},
			Properties: map[string]any{"com.microsoft:timeout": uint32(1_000)},
		}
	}
	for name, tc := range map[string]struct {
		do   func(ctx context.Context, w *world, s *goamqp.Session) error
		cond goamqp.ErrCond
		text string
	}{
		"send to nothing": {func(ctx context.Context, _ *world, s *goamqp.Session) error {
			return send(ctx, s, "nothing", goamqp.NewMessage(nil))
		}, goamqp.ErrCondNotFound, "The messaging entity 'nothing' could not be found."},
		"receive from nothing": {func(ctx context.Context, _ *world, s *goamqp.Session) error {
			_, err := receive(ctx, s, "nothing", nil)
			return err
		}, goamqp.ErrCondNotFound, "The messaging entity 'nothing' could not be found."},
		"send to a subscription": {func(ctx context.Context, _ *world, s *goamqp.Session) error {
			return send(ctx, s, "t/Subscriptions/s", goamqp.NewMessage(nil))
		}, goamqp.ErrCondNotAllowed, ""},
		"send to a dead-letter queue": {func(ctx context.Context, _ *world, s *goamqp.Session) error {
			return send(ctx, s, "q/$DeadLetterQueue", goamqp.NewMessage(nil))
		}, goamqp.ErrCondNotAllowed, ""},
		"receive from a topic": {func(ctx context.Context, _ *world, s *goamqp.Session) error {
			_, err := receive(ctx, s, "t", nil)
			return err
		}, goamqp.ErrCondNotAllowed, ""},
		"receive where that is off": {func(ctx context.Context, _ *world, s *goamqp.Session) error {
			_, err := receive(ctx, s, "off", nil)
			return err
		}, "com.microsoft:entity-disabled", "Messaging entity 'off' is currently disabled"},
		"send where that is off": {func(ctx context.Context, _ *world, s *goamqp.Session) error {
			return send(ctx, s, "off", goamqp.NewMessage(nil))
		}, "com.microsoft:entity-disabled", "Messaging entity 'off' is currently disabled"},
		"send without a session": {func(ctx context.Context, _ *world, s *goamqp.Session) error {
			return send(ctx, s, "qs", goamqp.NewMessage(nil))
		}, goamqp.ErrCondNotAllowed, ""},
		"SES-13": {func(ctx context.Context, _ *world, s *goamqp.Session) error {
			_, err := receive(ctx, s, "qs", nil)
			return err
		}, goamqp.ErrCondNotAllowed, "It is not possible for an entity that requires sessions to create a non-sessionful message receiver."},
		"SES-14": {func(ctx context.Context, _ *world, s *goamqp.Session) error {
			_, err := receive(ctx, s, "q", inSession("a"))
			return err
		}, goamqp.ErrCondNotAllowed, "A sessionful message receiver cannot be created on an entity that does not require sessions."},
		"SES-3": {func(ctx context.Context, _ *world, s *goamqp.Session) error {
			_, err := receive(ctx, s, "qs", inSession(nil))
			return err
		}, "com.microsoft:timeout", engine.NoSessionText},
		"SES-4": {func(ctx context.Context, _ *world, s *goamqp.Session) error {
			if _, err := receive(ctx, s, "qs", inSession("a")); err != nil {
				return err
			}
			_, err := receive(ctx, s, "qs", inSession("a"))
			return err
		}, "com.microsoft:session-cannot-be-locked", "The requested session 'a' cannot be accepted. It may be locked by another receiver."},
		"SETL-1": {func(ctx context.Context, w *world, s *goamqp.Session) error {
			w.send("q", "", "x")
			r, err := receive(ctx, s, "q", nil)
			if err != nil {
				return err
			}
			m, err := r.Receive(ctx, nil)
			if err != nil {
				return err
			}
			time.Sleep(2 * time.Minute)
			synctest.Wait()
			return r.AcceptMessage(ctx, m)
		}, "com.microsoft:message-lock-lost", "The lock supplied is invalid."},
		"SES-6 settling": {func(ctx context.Context, w *world, s *goamqp.Session) error {
			w.send("qs", "a", "x")
			r, err := receive(ctx, s, "qs", inSession("a"))
			if err != nil {
				return err
			}
			m, err := r.Receive(ctx, nil)
			if err != nil {
				return err
			}
			time.Sleep(2 * time.Minute)
			synctest.Wait()
			return r.AcceptMessage(ctx, m)
		}, "com.microsoft:session-lock-lost", engine.SessionLockLostText},
		"receive from what forwards": {func(ctx context.Context, _ *world, s *goamqp.Session) error {
			_, err := receive(ctx, s, "on", nil)
			return err
		}, goamqp.ErrCondNotAllowed, engine.ForwardsText},
		"dead-letter what is dead": {func(ctx context.Context, w *world, s *goamqp.Session) error {
			w.send("q", "", "x")
			for _, path := range []string{"q", "q/$DeadLetterQueue"} {
				r, err := receive(ctx, s, path, nil)
				if err != nil {
					return err
				}
				m, err := r.Receive(ctx, nil)
				if err != nil {
					return err
				}
				if err := r.RejectMessage(ctx, m, &goamqp.Error{Condition: "com.microsoft:dead-letter"}); err != nil {
					return err
				}
			}
			return nil
		}, goamqp.ErrCondNotAllowed, "A message in a dead-letter queue cannot be dead-lettered"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				w.b.CreateQueue("q", engine.Config{LockDuration: time.Minute})
				w.b.CreateQueue("qs", engine.Config{LockDuration: time.Minute, RequiresSession: true})
				w.b.CreateQueue("off", engine.Config{Status: engine.StatusDisabled})
				w.b.CreateQueue("on", engine.Config{ForwardTo: "q"})
				w.b.CreateEntity(engine.Topic, "t", engine.Config{})
				w.b.CreateEntity(engine.Subscription, "t/Subscriptions/s", engine.Config{})
				s, err := w.dial().NewSession(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				bystander, err := s.NewSender(t.Context(), "q", nil)
				if err != nil {
					t.Fatal(err)
				}
				err = tc.do(t.Context(), w, s)
				e := gone(err)
				if e == nil || e.Condition != tc.cond || !strings.Contains(e.Description, tc.text) {
					t.Fatalf("%v", err)
				}
				if !tracked.MatchString(e.Description) {
					t.Errorf("the text is %q", e.Description)
				}
				if err := bystander.Send(t.Context(), goamqp.NewMessage(nil), nil); err != nil { // ERR-6
					t.Errorf("another link cannot be used any more: %v", err)
				}
			})
		})
	}
}

// Clients disconnect with three thousand messages in flight, twenty of them at once, and
// no message is lost or duplicated, or counted although it was given back (sdk-demands
// 13).
func TestRecoveries(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		const messages = 3_000
		w.b.CreateQueue("q", engine.Config{MaxDeliveryCount: 10})
		for range 6 {
			w.send("q", "", make([]string, messages/6)...)
		}
		ctx := t.Context()
		s, err := w.dial().NewSession(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		open := func(credit int32) *goamqp.Receiver {
			r, err := s.NewReceiver(ctx, "q", &goamqp.ReceiverOptions{Credit: credit, SettlementMode: goamqp.ReceiverSettleModeSecond.Ptr()})
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		r := open(-1)
		take := func(r *goamqp.Receiver, n int) (all []*goamqp.Message) {
			if err := r.IssueCredit(uint32(n)); err != nil {
				t.Fatal(err)
			}
			for range n {
				m, err := r.Receive(ctx, nil)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, m)
			}
			return all
		}
		got := take(r, messages)
		if _, locked := w.count("q"); locked != messages {
			t.Fatalf("%d messages are locked", locked)
		}
		for _, m := range got[:2_000] {
			if err := r.ReleaseMessage(ctx, m); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.Close(ctx); err != nil {
			t.Fatal(err)
		}
		if active, locked := w.count("q"); active != 2_000 || locked != 1_000 {
			t.Fatalf("%d messages are active and %d locked", active, locked)
		}
		// Each of twenty has a hundred deliveries in progress when it disconnects.
		var wait []chan error
		for range 20 {
			r, done := open(-1), make(chan error, 1)
			wait = append(wait, done)
			go func() {
				err := r.IssueCredit(100)
				for range 10 {
					var m *goamqp.Message
					if m, err = r.Receive(ctx, nil); err != nil {
						break
					}
					if m.Header.DeliveryCount != 0 {
						err = errors.New("a release was counted")
						break
					}
					if err = r.ReleaseMessage(ctx, m); err != nil {
						break
					}
				}
				done <- errors.Join(err, r.DrainCredit(ctx, nil), r.Close(ctx))
			}()
		}
		for _, done := range wait {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		time.Sleep(time.Minute + time.Second) // until the locks of unsettled messages have expired, which counts as a delivery
		synctest.Wait()
		if active, locked := w.count("q"); active != messages || locked != 0 {
			t.Errorf("%d messages are active and %d locked", active, locked)
		}
	})
}

// TestGoAMQP checks that go-amqp can drain a link, detach it, attach it again and continue, and can
// send and receive any message in frames of 512 bytes.
func TestGoAMQP(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.b.CreateQueue("q", engine.Config{})
		ctx := t.Context()
		c, err := goamqp.NewConn(ctx, w.plug(), &goamqp.ConnOptions{MaxFrameSize: 512})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		s, err := c.NewSession(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		snd, err := s.NewSender(ctx, "q", nil)
		if err != nil {
			t.Fatal(err)
		}
		body := strings.Repeat("x", 100_000)
		var got []string
		for range 3 {
			r, err := s.NewReceiver(ctx, "q", &goamqp.ReceiverOptions{Credit: -1, Name: "mine", SettlementMode: goamqp.ReceiverSettleModeSecond.Ptr()})
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(r.IssueCredit(3), r.DrainCredit(ctx, nil), r.IssueCredit(1)); err != nil {
				t.Fatal(err)
			}
			if err := snd.Send(ctx, goamqp.NewMessage([]byte(body)), nil); err != nil {
				t.Fatal(err)
			}
			m, err := r.Receive(ctx, nil)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, string(m.GetData()))
			if err := errors.Join(r.AcceptMessage(ctx, m), r.Close(ctx)); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff([]string{body, body, body}, got); diff != "" {
			t.Error("the received message differs from the sent one")
		}
	})
}

// A client that sends a frame larger than the server accepts gets an error.
func TestFrameTooLarge(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		c := w.client()
		frame := make([]byte, 70_000)
		copy(frame, []byte{0, 1, 0x11, 0x70, 2, 0, 0, 0})
		c.Write(frame)
		if e := c.WaitForClose(); e == nil || e.Condition != "amqp:connection:framing-error" {
			t.Errorf("closed with error %+v", e)
		}
	})
}
