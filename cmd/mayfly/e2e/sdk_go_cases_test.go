package e2e

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	goamqp "github.com/Azure/go-amqp"
)

func (g *goSDK) expiry(ctx context.Context) {
	q := g.queue("go-ttl", `"DeadLetteringOnMessageExpiration":true`)
	g.send(ctx, q, &azservicebus.Message{Body: []byte("brief"), TimeToLive: new(200 * time.Millisecond)})
	m := g.one(ctx, g.receiver(q, &azservicebus.ReceiverOptions{SubQueue: azservicebus.SubQueueDeadLetter}))
	g.equal(*m.DeadLetterReason, "TTLExpiredException")
}

func (g *goSDK) lockLost(ctx context.Context) {
	q := g.queue("go-lost", `"LockDuration":"PT0.3S"`)
	g.send(ctx, q, &azservicebus.Message{})
	r := g.receiver(q, nil)
	m := g.one(ctx, r)
	again := g.one(ctx, g.receiver(q, &azservicebus.ReceiverOptions{ReceiveMode: azservicebus.ReceiveModeReceiveAndDelete}))
	g.equal(again.DeliveryCount, 2) // the SDK counts this delivery as well
	g.fails(azservicebus.CodeLockLost, r.CompleteMessage(ctx, m, nil))
	g.fails(azservicebus.CodeLockLost, r.RenewMessageLock(ctx, m, nil))
}

func (g *goSDK) lockOutlives(ctx context.Context) {
	q := g.queue("go-outlives", `"LockDuration":"PT1M"`)
	g.send(ctx, q, &azservicebus.Message{Body: []byte("a")}, &azservicebus.Message{Body: []byte("b")})
	r := g.receiver(q, nil)
	a, b := g.one(ctx, r), g.one(ctx, r)
	g.must(r.Close(ctx))
	if err := r.CompleteMessage(ctx, a, nil); err == nil {
		g.Fatal("a closed receiver settled a message")
	}
	other := g.receiver(q, nil)
	g.must(other.RenewMessageLock(ctx, b, nil))
	g.must(other.CompleteMessage(ctx, a, nil)) // by $management, which still finds the lock (sdk-demands 4)
	g.must(other.AbandonMessage(ctx, b, nil))
	b = g.one(ctx, other)
	g.equal(string(b.Body), "b")
	g.must(other.CompleteMessage(ctx, b, nil))
	left, err := other.PeekMessages(ctx, 10, &azservicebus.PeekMessagesOptions{FromSequenceNumber: new(int64(1))})
	g.must(err)
	g.equal(len(left), 0)
}

func (g *goSDK) updated(ctx context.Context) {
	q := g.queue("go-updated", `"LockDuration":"PT1M"`)
	s, err := g.c.NewSender(q, nil)
	g.must(err)
	g.must(s.SendMessage(ctx, &azservicebus.Message{Body: []byte("a")}, nil))
	r := g.receiver(q, nil)
	m := g.one(ctx, r)
	g.standard.call(g.T, http.StatusOK, http.MethodPatch, "/entities/"+q, `{"properties":{"MaxDeliveryCount":5,"LockDuration":"PT30S"}}`)
	seen, err := r.PeekMessages(ctx, 1, nil) // sdk-demands 7
	g.must(err)
	g.equal(string(seen[0].Body), "a")
	g.must(r.CompleteMessage(ctx, m, nil))
	g.must(s.SendMessage(ctx, &azservicebus.Message{Body: []byte("b")}, nil))
	g.equal(string(g.one(ctx, r).Body), "b")
}

// claims checks that a second $cbs link on a connection is refused as not allowed until the first
// is closed. The SDK attaches a second one by mistake after an interruption, and recovers if it
// gets this error.
func (g *goSDK) claims(ctx context.Context) {
	c, err := goamqp.Dial(ctx, "amqp://"+g.standard.at.AMQP, &goamqp.ConnOptions{SASLType: goamqp.SASLTypeAnonymous()})
	g.must(err)
	defer c.Close()
	attach := func() (*goamqp.Sender, error) {
		session, err := c.NewSession(ctx, nil)
		g.must(err)
		return session.NewSender(ctx, "$cbs", nil)
	}
	first, err := attach()
	g.must(err)
	_, err = attach()
	if e, ok := errors.AsType[*goamqp.Error](err); !ok || e.Condition != goamqp.ErrCondNotAllowed { // sdk-demands 2
		g.Fatalf("a second link is %v", err)
	}
	g.must(first.Close(ctx))
	_, err = attach()
	g.must(err)
}

func (g *goSDK) sessions(ctx context.Context) {
	q := g.queue("go-sessions", `"RequiresSession":true`)
	g.send(ctx, q, &azservicebus.Message{SessionID: new("a"), Body: []byte("x")})
	s, err := g.c.AcceptSessionForQueue(ctx, q, "a", nil) // its filter is a described value
	g.must(err)
	_, err = g.c.AcceptSessionForQueue(ctx, q, "a", nil)
	if err == nil || !strings.Contains(err.Error(), "session-cannot-be-locked") {
		g.Fatalf("a session twice: %v", err)
	}
	g.must(s.SetSessionState(ctx, []byte("state"), nil))
	state, err := s.GetSessionState(ctx, nil)
	g.must(err)
	g.equal(string(state), "state")
	g.must(s.RenewSessionLock(ctx, nil))
	g.equal(string(g.one(ctx, s).Body), "x")
	g.must(s.Close(ctx))
	next, err := g.c.AcceptNextSessionForQueue(ctx, q, nil)
	g.must(err)
	g.equal(next.SessionID(), "a")
	empty, err := g.c.AcceptSessionForQueue(ctx, q, "", nil) // sdk-demands 10
	g.must(err)
	g.equal(empty.SessionID(), "")
}

func (g *goSDK) noSession(ctx context.Context) {
	q := g.queue("go-no-session", `"RequiresSession":true`)
	brief, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	if _, err := g.c.AcceptNextSessionForQueue(brief, q, nil); err == nil {
		g.Fatal("got a session")
	}
	g.send(ctx, q, &azservicebus.Message{SessionID: new("a")})
	s, err := g.c.AcceptNextSessionForQueue(ctx, q, nil) // a cancelled accept did not get the session
	g.must(err)
	g.equal(s.SessionID(), "a")
}

func (g *goSDK) codes(ctx context.Context) {
	s, err := g.c.NewSender("go-nothing", nil)
	g.must(err)
	g.fails(azservicebus.CodeNotFound, s.SendMessage(ctx, &azservicebus.Message{}, nil))
	_, err = g.receiver("go-nothing", nil).ReceiveMessages(ctx, 1, nil)
	g.fails(azservicebus.CodeNotFound, err)
	q := g.queue("go-codes", "")
	s, err = g.c.NewSender(q, nil)
	g.must(err)
	if err := s.SendMessage(ctx, &azservicebus.Message{Body: make([]byte, 1_000_000)}, nil); err == nil { // sdk-demands 26
		g.Fatal("1 MB was sent")
	}
	b, err := s.NewMessageBatch(ctx, nil)
	g.must(err)
	if err := b.AddMessage(&azservicebus.Message{Body: make([]byte, 300_000)}, nil); err != azservicebus.ErrMessageTooLarge { //nolint:errorlint // as the SDK documents it
		g.Fatal(err)
	}
	r := g.receiver(q, nil)
	if _, err := r.ReceiveDeferredMessages(ctx, []int64{77}, nil); err == nil {
		g.Fatal("got a deferred message")
	}
	g.must(s.SendMessage(ctx, &azservicebus.Message{Body: []byte("still")}, nil))
	g.equal(string(g.one(ctx, r).Body), "still")
}

func (g *goSDK) largeMessage(ctx context.Context) {
	q := g.make(g.premium, "queue", "go-large", `"MaxMessageSizeInKilobytes":102400`)
	s, err := g.large.NewSender(q, nil)
	g.must(err)
	body := bytes.Repeat([]byte("0123456789abcdef"), 10<<16)
	g.must(s.SendMessage(ctx, &azservicebus.Message{Body: body}, nil))
	r, err := g.large.NewReceiverForQueue(q, nil)
	g.must(err)
	m := g.one(ctx, r)
	g.equal(bytes.Equal(m.Body, body), true)
	g.must(r.CompleteMessage(ctx, m, nil))
}

func (g *goSDK) full(ctx context.Context) {
	q := g.make(g.premium, "queue", "go-full", `"MaxSizeInMegabytes":1`)
	s, err := g.large.NewSender(q, nil)
	g.must(err)
	for range 8 {
		if err = s.SendMessage(ctx, &azservicebus.Message{Body: make([]byte, 200_000)}, nil); err != nil {
			break
		}
	}
	if err == nil || !strings.Contains(err.Error(), "amqp:resource-limit-exceeded") {
		g.Fatal(err)
	}
}

func (g *goSDK) idle(ctx context.Context) {
	q := g.queue("go-idle", `"AutoDeleteOnIdle":"PT1S"`)
	for look := time.NewTicker(20 * time.Millisecond); ; <-look.C {
		answer, err := http.Get(g.standard.at.Dashboard + "/api/v1/entities/" + q)
		g.must(err)
		g.must(answer.Body.Close())
		if answer.StatusCode == http.StatusNotFound {
			break
		}
		g.must(ctx.Err())
	}
	s, err := g.c.NewSender(q, nil)
	g.must(err)
	g.fails(azservicebus.CodeNotFound, s.SendMessage(ctx, &azservicebus.Message{}, nil))
}

func (g *goSDK) topics(ctx context.Context) {
	t := g.make(g.standard, "topic", "go-topic", "")
	g.make(g.standard, "subscription", t+"/Subscriptions/s", "")
	g.send(ctx, t, &azservicebus.Message{Body: []byte("x")})
	r, err := g.c.NewReceiverForSubscription(t, "s", nil)
	g.must(err)
	m := g.one(ctx, r)
	g.must(r.DeadLetterMessage(ctx, m, &azservicebus.DeadLetterOptions{Reason: new("why"), ErrorDescription: new("because")}))
	dead, err := g.c.NewReceiverForSubscription(t, "s", &azservicebus.ReceiverOptions{SubQueue: azservicebus.SubQueueDeadLetter})
	g.must(err)
	m = g.one(ctx, dead)
	g.equal([]string{*m.DeadLetterReason, *m.DeadLetterErrorDescription}, []string{"why", "because"})
}

func (g *goSDK) duplicates(ctx context.Context) {
	q := g.queue("go-duplicates", `"RequiresDuplicateDetection":true`)
	for _, id := range []string{"a", "b", "a"} {
		g.send(ctx, q, &azservicebus.Message{MessageID: new(id)})
	}
	got, err := g.receiver(q, nil).PeekMessages(ctx, 10, nil)
	g.must(err)
	g.equal(len(got), 2)
}

func (g *goSDK) restarted(ctx context.Context) {
	q := g.queue("go-restart", `"LockDuration":"PT1M"`)
	s, err := g.c.NewSender(q, nil)
	g.must(err)
	r := g.receiver(q, nil)
	g.must(s.SendMessage(ctx, &azservicebus.Message{Body: []byte("a")}, nil))
	g.must(r.CompleteMessage(ctx, g.one(ctx, r), nil))
	g.standard.restart(g.T)
	g.must(s.SendMessage(ctx, &azservicebus.Message{Body: []byte("b")}, nil))
	g.equal(string(g.one(ctx, r).Body), "b")
}
