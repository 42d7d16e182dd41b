package amqp_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/google/go-cmp/cmp"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/web/amqp"
)

// TestSDK uses the Go SDK of Service Bus over a socket, as programs do.
func TestSDK(t *testing.T) {
	w := newWorld(t, amqp.Options{}, broker.Options{})
	c, err := azservicebus.NewClientFromConnectionString("Endpoint=sb://"+w.listen()+
		";SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey=SAS_KEY_VALUE;UseDevelopmentEmulator=true;", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	for name, config := range map[string]engine.Config{"one": {}, "batch": {}, "settle": {}, "deferred": {}, "later": {}, "sessions": {RequiresSession: true}} {
		w.b.CreateQueue(engine.Path(name), config)
	}
	for name, test := range map[string]func(*testing.T, *azservicebus.Client) error{
		"a message comes as it went": testMessage,
		"a batch":                    testBatch,
		"settlements":                testSettlements,
		"deferred messages":          testDeferred,
		"schedules":                  testSchedules,
		"sessions":                   testSessions,
		"no such entity":             testNoEntity,
	} {
		t.Run(name, func(t *testing.T) {
			if err := test(t, c); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// send sends messages in one batch.
func send(ctx context.Context, c *azservicebus.Client, to string, all ...*azservicebus.Message) error {
	s, err := c.NewSender(to, nil)
	if err != nil {
		return err
	}
	b, err := s.NewMessageBatch(ctx, nil)
	if err != nil {
		return err
	}
	for _, m := range all {
		if err := b.AddMessage(m, nil); err != nil {
			return err
		}
	}
	return errors.Join(s.SendMessageBatch(ctx, b, nil), s.Close(ctx))
}

func bodies(all []*azservicebus.ReceivedMessage) (out []string) {
	for _, m := range all {
		out = append(out, string(m.Body))
	}
	return out
}

func testMessage(t *testing.T, c *azservicebus.Client) error {
	ctx := t.Context()
	s, err := c.NewSender("one", nil)
	if err != nil {
		return err
	}
	if err := s.SendMessage(ctx, &azservicebus.Message{Body: []byte("hello"), ApplicationProperties: map[string]any{"n": int64(3)}}, nil); err != nil {
		return err
	}
	r, err := c.NewReceiverForQueue("one", nil)
	if err != nil {
		return err
	}
	peeked, err := r.PeekMessages(ctx, 10, nil)
	if err != nil {
		return err
	}
	got, err := r.ReceiveMessages(ctx, 1, nil)
	if err != nil {
		return err
	}
	if diff := cmp.Diff([][]string{{"hello"}, {"hello"}}, [][]string{bodies(peeked), bodies(got)}); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]any{"n": int64(3)}, got[0].ApplicationProperties); diff != "" {
		t.Error(diff)
	}
	return r.CompleteMessage(ctx, got[0], nil)
}

func testBatch(t *testing.T, c *azservicebus.Client) error {
	ctx := t.Context()
	var all []*azservicebus.Message
	for i := range 5 {
		all = append(all, &azservicebus.Message{Body: fmt.Append(nil, i)})
	}
	if err := send(ctx, c, "batch", all...); err != nil {
		return err
	}
	r, err := c.NewReceiverForQueue("batch", &azservicebus.ReceiverOptions{ReceiveMode: azservicebus.ReceiveModeReceiveAndDelete})
	if err != nil {
		return err
	}
	var got []*azservicebus.ReceivedMessage
	for len(got) < len(all) {
		some, err := r.ReceiveMessages(ctx, len(all)-len(got), nil)
		if err != nil {
			return err
		}
		got = append(got, some...)
	}
	if diff := cmp.Diff([]string{"0", "1", "2", "3", "4"}, bodies(got)); diff != "" {
		t.Error(diff)
	}
	return r.Close(ctx)
}

func testSettlements(t *testing.T, c *azservicebus.Client) error {
	ctx := t.Context()
	if err := send(ctx, c, "settle", &azservicebus.Message{Body: []byte("x")}); err != nil {
		return err
	}
	r, err := c.NewReceiverForQueue("settle", nil)
	if err != nil {
		return err
	}
	got, err := r.ReceiveMessages(ctx, 1, nil)
	if err != nil {
		return err
	}
	if err := errors.Join(r.RenewMessageLock(ctx, got[0], nil), r.AbandonMessage(ctx, got[0], nil)); err != nil {
		return err
	}
	if got, err = r.ReceiveMessages(ctx, 1, nil); err != nil {
		return err
	}
	if got[0].DeliveryCount != 2 {
		t.Errorf("delivery count %d after one abandon", got[0].DeliveryCount)
	}
	if err := r.DeadLetterMessage(ctx, got[0], &azservicebus.DeadLetterOptions{Reason: new("why"), ErrorDescription: new("because")}); err != nil {
		return err
	}
	dlq, err := c.NewReceiverForQueue("settle", &azservicebus.ReceiverOptions{SubQueue: azservicebus.SubQueueDeadLetter})
	if err != nil {
		return err
	}
	dead, err := dlq.ReceiveMessages(ctx, 1, nil)
	if err != nil {
		return err
	}
	if diff := cmp.Diff([]string{"why", "because"}, []string{*dead[0].DeadLetterReason, *dead[0].DeadLetterErrorDescription}); diff != "" {
		t.Error(diff)
	}
	return dlq.CompleteMessage(ctx, dead[0], nil)
}

func testDeferred(t *testing.T, c *azservicebus.Client) error {
	ctx := t.Context()
	if err := send(ctx, c, "deferred", &azservicebus.Message{Body: []byte("x")}); err != nil {
		return err
	}
	r, err := c.NewReceiverForQueue("deferred", nil)
	if err != nil {
		return err
	}
	got, err := r.ReceiveMessages(ctx, 1, nil)
	if err != nil {
		return err
	}
	if err := r.DeferMessage(ctx, got[0], nil); err != nil {
		return err
	}
	later, err := r.ReceiveDeferredMessages(ctx, []int64{*got[0].SequenceNumber}, nil)
	if err != nil {
		return err
	}
	if diff := cmp.Diff([]string{"x"}, bodies(later)); diff != "" {
		t.Error(diff)
	}
	return errors.Join(r.RenewMessageLock(ctx, later[0], nil), r.CompleteMessage(ctx, later[0], nil))
}

func testSchedules(t *testing.T, c *azservicebus.Client) error {
	ctx := t.Context()
	s, err := c.NewSender("later", nil)
	if err != nil {
		return err
	}
	seqs, err := s.ScheduleMessages(ctx, []*azservicebus.Message{{Body: []byte("later")}}, time.Now().Add(time.Hour), nil)
	if err != nil {
		return err
	}
	if len(seqs) != 1 {
		t.Errorf("one scheduled message got the numbers %v", seqs)
	}
	return s.CancelScheduledMessages(ctx, seqs, nil)
}

func testSessions(t *testing.T, c *azservicebus.Client) error {
	ctx := t.Context()
	if err := send(ctx, c, "sessions", &azservicebus.Message{SessionID: new("a"), Body: []byte("in a")}); err != nil {
		return err
	}
	r, err := c.AcceptNextSessionForQueue(ctx, "sessions", nil)
	if err != nil {
		return err
	}
	if err := errors.Join(r.SetSessionState(ctx, []byte("state"), nil), r.RenewSessionLock(ctx, nil)); err != nil {
		return err
	}
	state, err := r.GetSessionState(ctx, nil)
	if err != nil {
		return err
	}
	got, err := r.ReceiveMessages(ctx, 1, nil)
	if err != nil {
		return err
	}
	if diff := cmp.Diff([]string{"a", "state", "in a"}, []string{r.SessionID(), string(state), string(got[0].Body)}); diff != "" {
		t.Error(diff)
	}
	return errors.Join(r.CompleteMessage(ctx, got[0], nil), r.Close(ctx))
}

func testNoEntity(t *testing.T, c *azservicebus.Client) error {
	ctx := t.Context()
	r, err := c.NewReceiverForQueue("nothing", nil)
	if err != nil {
		return err
	}
	_, err = r.ReceiveMessages(ctx, 1, nil)
	if err == nil || !strings.Contains(err.Error(), "The messaging entity 'nothing' could not be found.") {
		t.Errorf("a receiver of a missing entity failed with %v", err)
	}
	return nil
}
