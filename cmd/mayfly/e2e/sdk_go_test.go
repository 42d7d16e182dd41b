package e2e

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"mayfly/engine/longtest"
)

// A goSDK is the Go SDK with the servers that it is tested with.
type goSDK struct {
	*testing.T
	standard, premium *served
	c, large          *azservicebus.Client
}

// TestGoSDK tests the Go SDK with servers in their own processes. Tests that need no process are
// in web/amqp.
func TestGoSDK(t *testing.T) {
	longtest.Require(t, "the SDK for Go")
	dir := t.TempDir()
	g := &goSDK{
		standard: start(t, "--store", "sqlite:"+filepath.Join(dir, "standard.db"),
			"--limit", "min-lock=100ms", "--limit", "min-ttl=1ms", "--limit", "min-auto-delete=1s"),
		premium: start(t, "--store", "sqlite:"+filepath.Join(dir, "premium.db"), "--profile", "premium", "--limit", "min-megabytes=1"),
	}
	retry := azservicebus.ClientOptions{RetryOptions: azservicebus.RetryOptions{MaxRetries: 10, RetryDelay: 10 * time.Millisecond, MaxRetryDelay: 100 * time.Millisecond}}
	g.c, g.large = NewSDKClient(t, g.standard.at.AMQP, retry), NewSDKClient(t, g.premium.at.AMQP, retry)
	var passed atomic.Int32
	for _, test := range []struct {
		name string
		f    func(*goSDK, context.Context)
	}{
		{"every property", (*goSDK).properties},
		{"expiry into the dead letters", (*goSDK).expiry},
		{"a lock is lost", (*goSDK).lockLost},
		{"a lock outlives its link", (*goSDK).lockOutlives},
		{"an update", (*goSDK).updated},
		{"claims on one connection", (*goSDK).claims},
		{"sessions", (*goSDK).sessions},
		{"no session in time", (*goSDK).noSession},
		{"codes", (*goSDK).codes},
		{"a large message", (*goSDK).largeMessage},
		{"full", (*goSDK).full},
		{"deletes itself when idle", (*goSDK).idle},
		{"topics", (*goSDK).topics},
		{"duplicates", (*goSDK).duplicates},
		{"after a restart", (*goSDK).restarted},
	} {
		t.Run(test.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			one := *g
			one.T = t
			test.f(&one, ctx)
			passed.Add(1)
		})
	}
	fmt.Printf("go: %d passed\n", passed.Load())
}

func (g *goSDK) must(err error) {
	g.Helper()
	if err != nil {
		g.Fatal(err)
	}
}

func (g *goSDK) equal(got, want any) {
	g.Helper()
	if got, want := fmt.Sprint(got), fmt.Sprint(want); got != want {
		g.Fatalf("got %s; want %s", got, want)
	}
}

// make creates an entity; properties is JSON without its braces.
func (g *goSDK) make(s *served, kind, path, properties string) string {
	g.Helper()
	s.create(g.T, kind, path, `{`+properties+`}`)
	return path
}

func (g *goSDK) queue(path, properties string) string {
	g.Helper()
	return g.make(g.standard, "queue", path, properties)
}

func (g *goSDK) send(ctx context.Context, to string, all ...*azservicebus.Message) {
	g.Helper()
	s, err := g.c.NewSender(to, nil)
	g.must(err)
	defer s.Close(ctx)
	for _, m := range all {
		g.must(s.SendMessage(ctx, m, nil))
	}
}

func (g *goSDK) one(ctx context.Context, r interface {
	ReceiveMessages(context.Context, int, *azservicebus.ReceiveMessagesOptions) ([]*azservicebus.ReceivedMessage, error)
}) *azservicebus.ReceivedMessage {
	g.Helper()
	for {
		got, err := r.ReceiveMessages(ctx, 1, nil)
		g.must(err)
		if len(got) == 1 {
			return got[0]
		} // the SDK returns no messages after it has recovered its link
	}
}

// fails checks that an error has this code.
func (g *goSDK) fails(code azservicebus.Code, err error) {
	g.Helper()
	if e, ok := errors.AsType[*azservicebus.Error](err); !ok || e.Code != code {
		g.Fatalf("got %v; want the code %s", err, code)
	}
}

func (g *goSDK) receiver(queue string, o *azservicebus.ReceiverOptions) *azservicebus.Receiver {
	g.Helper()
	r, err := g.c.NewReceiverForQueue(queue, o)
	g.must(err)
	g.Cleanup(func() { _ = r.Close(context.Background()) })
	return r
}

func (g *goSDK) properties(ctx context.Context) {
	q := g.queue("go-properties", "")
	all := map[string]any{
		"text": "ä€", "yes": true, "i8": int8(-1), "i16": int16(-300), "i32": int32(70_000), "i64": int64(1 << 40), "u8": uint8(200),
		"u16": uint16(60_000), "u32": uint32(4e9), "u64": uint64(1 << 63), "f32": float32(1.5), "f64": 2.25, "null": nil,
		"bytes": []byte{0, 255}, "time": time.UnixMilli(1_767_323_045_678).UTC(),
	}
	m := &azservicebus.Message{
		Body: []byte("body"), ApplicationProperties: all, MessageID: new("id"), CorrelationID: new("cid"), ContentType: new("text/plain"),
		Subject: new("subject"), ReplyTo: new("rt"), To: new("to"), PartitionKey: new("pk"), TimeToLive: new(5 * time.Minute), ReplyToSessionID: new("rts"),
	}
	g.send(ctx, q, m)
	r := g.receiver(q, nil)
	for trip := range 2 { // sdk-demands 24
		got := g.one(ctx, r)
		back := got.Message()
		g.equal(back.ApplicationProperties, all)
		for name, value := range all {
			g.equal(fmt.Sprintf("%T", back.ApplicationProperties[name]), fmt.Sprintf("%T", value))
		}
		g.equal([]string{*back.MessageID, *back.CorrelationID, *back.ContentType, *back.Subject, *back.ReplyTo, *back.To, *back.PartitionKey, *back.ReplyToSessionID, string(back.Body)},
			[]string{"id", "cid", "text/plain", "subject", "rt", "to", "pk", "rts", "body"})
		g.equal(*back.TimeToLive, 5*time.Minute)
		g.equal(got.ExpiresAt.Sub(*got.EnqueuedTime), 5*time.Minute)
		g.equal([]any{*got.SequenceNumber, got.DeliveryCount, got.State}, []any{trip + 1, 1, azservicebus.MessageStateActive})
		g.must(r.CompleteMessage(ctx, got, nil))
		if trip == 0 {
			g.send(ctx, q, back)
		}
	}
}
