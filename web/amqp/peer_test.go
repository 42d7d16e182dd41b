package amqp_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	goamqp "github.com/Azure/go-amqp"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/web/amqp"
)

// bubble runs a test in a synctest bubble, with a new world whose broker and clients are in the
// bubble too.
func bubble(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, newWorld(t, amqp.Options{}, broker.Options{})) })
}

// TestThrough sends a thousand messages through a queue with go-amqp, which receives them in order
// and settles each on its own.
func TestThrough(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		const messages = 1_000
		w.b.CreateQueue("q", engine.Config{})
		ctx := t.Context()
		s, err := w.dial().NewSession(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		snd, err := s.NewSender(ctx, "q", nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range messages {
			if err := snd.Send(ctx, goamqp.NewMessage(fmt.Append(nil, i)), nil); err != nil {
				t.Fatal(err)
			}
		}
		r, err := s.NewReceiver(ctx, "q", &goamqp.ReceiverOptions{Credit: 100, SettlementMode: goamqp.ReceiverSettleModeSecond.Ptr()})
		if err != nil {
			t.Fatal(err)
		}
		for i := range messages {
			m, err := r.Receive(ctx, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := string(m.GetData()), fmt.Sprint(i); got != want {
				t.Fatalf("received %q, want %q", got, want)
			}
			if err := r.AcceptMessage(ctx, m); err != nil {
				t.Fatal(err)
			}
		}
	})
}
