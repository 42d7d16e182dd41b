package amqp_test

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/storage/memory"
	"mayfly/web/amqp"
)

func TestSDK(t *testing.T) {
	b, err := broker.Open(t.Context(), func(context.Context) (engine.Store, error) { return new(memory.Store), nil }, broker.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err = b.Create(t.Context(), engine.Queue, "q", engine.Config{}, "me")
	must(err)
	_, err = b.Create(t.Context(), engine.Queue, "qs", engine.Config{RequiresSession: true}, "me")
	must(err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	s := amqp.New(amqp.Options{})
	s.Open(b)
	go s.Serve(l)
	defer s.Close(context.Background())
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	c, err := azservicebus.NewClientFromConnectionString("Endpoint=sb://"+l.Addr().String()+";SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey=SAS_KEY_VALUE;UseDevelopmentEmulator=true;", nil)
	must(err)
	defer c.Close(ctx)
	snd, err := c.NewSender("q", nil)
	must(err)
	must(snd.SendMessage(ctx, &azservicebus.Message{Body: []byte("hello"), ApplicationProperties: map[string]any{"n": int64(3)}}, nil))
	batch, err := snd.NewMessageBatch(ctx, nil)
	must(err)
	for i := range 5 {
		must(batch.AddMessage(&azservicebus.Message{Body: fmt.Append(nil, i)}, nil))
	}
	must(snd.SendMessageBatch(ctx, batch, nil))
	r, err := c.NewReceiverForQueue("q", nil)
	must(err)
	peeked, err := r.PeekMessages(ctx, 10, nil)
	must(err)
	fmt.Println("peeked", len(peeked))
	got, err := r.ReceiveMessages(ctx, 3, nil)
	must(err)
	fmt.Println("got", len(got), string(got[0].Body), got[0].ApplicationProperties, *got[0].SequenceNumber, got[0].DeliveryCount, got[0].LockedUntil)
	must(r.CompleteMessage(ctx, got[0], nil))
	if len(got) > 2 {
		must(r.AbandonMessage(ctx, got[1], nil))
		must(r.DeferMessage(ctx, got[2], nil))
		def, err := r.ReceiveDeferredMessages(ctx, []int64{*got[2].SequenceNumber}, nil)
		must(err)
		must(r.RenewMessageLock(ctx, def[0], nil))
		must(r.DeadLetterMessage(ctx, def[0], &azservicebus.DeadLetterOptions{Reason: new("why"), ErrorDescription: new("because")}))
	}
	dlq, err := c.NewReceiverForQueue("q", &azservicebus.ReceiverOptions{SubQueue: azservicebus.SubQueueDeadLetter})
	must(err)
	dead, err := dlq.ReceiveMessages(ctx, 1, nil)
	must(err)
	fmt.Println("dead", *dead[0].DeadLetterReason)
	seqs, err := snd.ScheduleMessages(ctx, []*azservicebus.Message{{Body: []byte("later")}}, time.Now().Add(time.Hour), nil)
	must(err)
	must(snd.CancelScheduledMessages(ctx, seqs, nil))
	ss, err := c.NewSender("qs", nil)
	must(err)
	must(ss.SendMessage(ctx, &azservicebus.Message{SessionID: new("a"), Body: []byte("in a")}, nil))
	ses, err := c.AcceptNextSessionForQueue(ctx, "qs", nil)
	must(err)
	must(ses.SetSessionState(ctx, []byte("state"), nil))
	state, err := ses.GetSessionState(ctx, nil)
	must(err)
	must(ses.RenewSessionLock(ctx, nil))
	m, err := ses.ReceiveMessages(ctx, 1, nil)
	must(err)
	must(ses.CompleteMessage(ctx, m[0], nil))
	fmt.Println(ses.SessionID(), string(state), string(m[0].Body))
	must(ses.Close(ctx))
	if _, err := c.NewReceiverForQueue("nothing", nil); err == nil {
		r, _ := c.NewReceiverForQueue("nothing", nil)
		_, err = r.ReceiveMessages(ctx, 1, nil)
		fmt.Println(err)
	}
}
