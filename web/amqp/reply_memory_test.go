package amqp_test

import (
	"context"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/value"
	"mayfly/web/amqp"
	"mayfly/web/amqp/amqptest"
	"mayfly/web/amqp/wire"
)

// asked is a store that counts the bodies that it is asked for, and returns them when the
// test lets it.
type asked struct {
	late
	n atomic.Int64
}

func (s *asked) Body(ctx context.Context, k engine.Key) (io.ReadSeekCloser, error) {
	s.n.Add(1)
	return s.late.Body(ctx, k)
}

// While 40 links of a connection request large replies at once, the server makes replies for up to
// 16 MiB, and one more, at a time. The other requests wait until the client has read these, or get
// the error busy after a minute.
func TestAnswersMadeAtOnce(t *testing.T) {
	const links = 40
	for name, tc := range map[string]struct {
		size  int   // bytes of a reply's message
		made  int64 // replies made at once
		hears bool
	}{
		"on the dot":             {1 << 20, 17, true},
		"a byte more":            {1<<20 + 1, 16, true},
		"the client has no room": {1 << 20, 17, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &asked{late: late{goOn: make(chan struct{})}}
				w := newWorldOn(t, store, amqp.Options{}, broker.Options{CacheBytes: 1})
				w.b.CreateQueue("q", engine.Config{MaxMessageSizeInKilobytes: 10 << 10})
				c := w.client()
				answers := amqptest.ReceiverAttach(1, "q/$management")
				answers.Target = &wire.Target{Address: wire.Some("answers")}
				c.Attach(0, answers)
				peek := func(handle uint32, seq int64) {
					c.AttachSender(0, handle, "q/$management")
					d := amqptest.MessageTransfer(handle, handle, request(uint64(handle), "com.microsoft:peek-message", value.Properties{prop("from-sequence-number", value.OfLong(seq)), prop("message-count", value.OfInt(1))}))
					d.Settled = wire.Some(true)
					c.WriteFrames(0, d)
				}
				message := func() (size int) {
					a := readAnswer(c.ReceiveDelivery().Payload)
					if a.Status != 200 {
						return int(-a.Status)
					}
					return len(peeked(t, a))
				}
				const probe = 1<<20 - 500
				w.send("q", "", string(pattern(probe)))
				c.GrantCredit(0, 1, 0, 1)
				peek(9, 1)
				synctest.Wait()
				store.goOn <- struct{}{}
				around := message() - probe
				w.send("q", "", string(pattern(tc.size-around)))
				store.n.Store(0)

				if tc.hears {
					c.GrantCredit(0, 1, 1, links)
				}
				for i := range uint32(links) {
					peek(10+i, 2)
				}
				synctest.Wait()
				if n := store.n.Load(); n != tc.made {
					t.Errorf("%d replies are being made", n)
				}
				close(store.goOn)
				synctest.Wait()
				got, busy := 0, 0
				if !tc.hears {
					time.Sleep(time.Minute + time.Second) // longer than a request may take
					c.GrantCredit(0, 1, 1, links)
				}
				for range links {
					switch n := message(); n {
					case tc.size:
						got++
					case -503:
						busy++
					default:
						t.Errorf("a reply has the status %d", n)
					}
				}
				if want := int(tc.made); tc.hears && got != links || !tc.hears && (got != want || busy != links-want) {
					t.Errorf("%d requests got a reply, and %d the error busy", got, busy)
				}
				if n := w.s.ReservedReplyBytes(); n != 0 {
					t.Errorf("%d bytes are still counted", n)
				}
			})
		})
	}
}

// While there is no room for replies, a request that may have a large one waits, and has
// no effect until there is. A request with a small reply does not wait.
func TestLargeRepliesWaitForMemory(t *testing.T) {
	text := value.OfString
	session := prop("session-id", text("s"))
	for name, tc := range map[string]struct {
		entity, operation string
		with              value.Properties
		waits             bool
	}{
		"peek":              {"q", "com.microsoft:peek-message", nil, true},
		"fetch":             {"q", "com.microsoft:receive-by-sequence-number", value.Properties{prop("sequence-numbers", arrayOf(value.Long, value.OfLong(1))), prop("receiver-settle-mode", value.OfUInt(0))}, true},
		"state":             {"qs", "com.microsoft:get-session-state", value.Properties{session}, true},
		"rules":             {"t/Subscriptions/s", "com.microsoft:enumerate-rules", nil, true},
		"set a state":       {"qs", "com.microsoft:set-session-state", value.Properties{session, prop("session-state", value.OfBinary([]byte("y")))}, false},
		"renew a lock":      {"qs", "com.microsoft:renew-session-lock", value.Properties{session}, false},
		"list the sessions": {"qs", "com.microsoft:get-message-sessions", value.Properties{prop("last-updated-time", value.OfTimestamp(253402300800000))}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &asked{late: late{goOn: make(chan struct{}), opens: true}}
				w := newWorldOn(t, store, amqp.Options{}, broker.Options{CacheBytes: 1})
				close(store.goOn)
				d := newManagementClient(w)
				c := d.c
				ask := func(handle uint32, to, operation string, with value.Properties) {
					c.AttachSender(0, handle, to+"/$management")
					m := amqptest.MessageTransfer(handle, handle, request(uint64(handle), operation, with))
					m.Settled = wire.Some(true)
					c.WriteFrames(0, m)
				}
				hear := func(handle uint32, entity string) {
					c.Attach(0, amqptest.ReceiverAttach(handle, entity+"/$management"))
					c.GrantCredit(0, handle, 0, 100)
				}
				hear(1, "q")
				ask(2, "q", "com.microsoft:update-disposition", value.Properties{prop("disposition-status", text("defered")), prop("lock-tokens", arrayOf(value.UUID, d.token))})
				if a := readAnswer(c.ReceiveDelivery().Payload); a.Status != 200 {
					t.Fatalf("deferring: %+v", a)
				}
				w.b.CreateQueue("large", engine.Config{MaxMessageSizeInKilobytes: 20 << 10})
				w.send("large", "", string(pattern(17<<20)))
				hear(3, "large")
				if tc.entity != "q" {
					hear(4, tc.entity)
				}
				store.goOn = make(chan struct{})
				ask(5, "large", "com.microsoft:peek-message", nil)
				synctest.Wait()
				ask(6, tc.entity, tc.operation, tc.with)
				synctest.Wait()
				if n := len(c.Pending()); n != 0 == tc.waits {
					t.Errorf("%d replies have arrived", n)
				}
				if rows, err := w.b.Peek(t.Context(), "q", 1, 9, "tester"); err != nil || len(rows) != 2 {
					t.Errorf("got %d messages in q, %v", len(rows), err)
				}
				close(store.goOn)
				for range 2 {
					if a := readAnswer(c.ReceiveDelivery().Payload); a.Status != 200 && a.Status != 204 {
						t.Errorf("then: %d %s", a.Status, a.Text)
					}
				}
			})
		})
	}
}

// peeked returns the only message in a reply.
func peeked(t *testing.T, a answer) []byte {
	t.Helper()
	v, _ := a.Body.Lookup("messages")
	raw, _ := v.Bytes()
	list, err := wire.ParseList(raw)
	if err != nil || len(list) != 1 {
		t.Fatalf("%d messages, %v", len(list), err)
	}
	raw, _ = list[0].Bytes()
	entry, err := wire.ParseMap(raw)
	if err != nil {
		t.Fatal(err)
	}
	message, _ := entry.Lookup("message")
	b, _ := message.Bytes()
	return b
}
