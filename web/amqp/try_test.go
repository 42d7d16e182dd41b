package amqp_test

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	goamqp "github.com/Azure/go-amqp"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/storage/memory"
	"mayfly/web/amqp"
)

func TestTry(t *testing.T) {
	b, err := broker.Open(t.Context(), func(context.Context) (engine.Store, error) { return new(memory.Store), nil }, broker.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if _, err := b.Create(t.Context(), engine.Queue, "q", engine.Config{}, "me"); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := amqp.New(amqp.Options{})
	s.Open(b)
	go s.Serve(l)
	defer s.Close(context.Background())
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	c, err := goamqp.Dial(ctx, "amqp://"+l.Addr().String(), &goamqp.ConnOptions{SASLType: goamqp.SASLTypeAnonymous()})
	if err != nil {
		t.Fatal(err)
	}
	ses, err := c.NewSession(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ses.NewSender(ctx, "nothing", nil); err == nil {
		t.Fatal("a sender to nothing")
	} else {
		fmt.Println(err)
	}
	snd, err := ses.NewSender(ctx, "q", nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		if err := snd.Send(ctx, goamqp.NewMessage(fmt.Append(nil, i)), nil); err != nil {
			t.Fatal(err)
		}
	}
	r, err := ses.NewReceiver(ctx, "q", &goamqp.ReceiverOptions{Credit: 100, SettlementMode: goamqp.ReceiverSettleModeSecond.Ptr()})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		m, err := r.Receive(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		if string(m.GetData()) != fmt.Sprint(i) {
			t.Fatal(string(m.GetData()), i)
		}
		if err := r.AcceptMessage(ctx, m); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}
