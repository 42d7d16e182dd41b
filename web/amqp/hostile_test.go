package amqp_test

import (
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/value"
	"mayfly/web/amqp/amqptest"
	"mayfly/web/amqp/wire"
)

// occupied runs f while the broker is blocked.
func (h bubbleWorld) occupied(f func()) {
	in, out := make(chan struct{}), make(chan struct{})
	left := make(chan error)
	go func() {
		left <- h.b.Read(h.Context(), func(broker.Reader) error { close(in); <-out; return nil })
	}()
	<-in
	f()
	close(out)
	if err := <-left; err != nil {
		h.Error(err)
	}
}

// While the broker is blocked, a client that attaches and detaches again and again has at most
// about a thousand attaches in progress: then the server stops reading from it.
func TestAttachesAreBounded(t *testing.T) {
	inBubble(t, nil, func(h bubbleWorld) {
		c := h.connect()
		c.Begin(0)
		sent := make(chan struct{})
		h.occupied(func() {
			before := runtime.NumGoroutine()
			go func() {
				defer close(sent)
				for range 1_500 {
					to, from := amqptest.SenderAttach(0, "q"), amqptest.ReceiverAttach(1, "q")
					c.WriteFrames(0, &to, &from, &wire.Detach{Handle: 0, Closed: true}, &wire.Detach{Handle: 1, Closed: true})
				}
			}()
			synctest.Wait()
			if n := runtime.NumGoroutine() - before; n > 1_010 || n < 500 {
				t.Errorf("%d goroutines serve one client", n)
			}
		})
		<-sent
		synctest.Wait()
		if f := c.Pending(); len(f) == 0 || h.s.IncomingBytes() != 0 {
			t.Errorf("received %d frames", len(f))
		}
	})
}

// A message to $cbs that is larger than a token can be is refused, and the parts of it that arrive
// are not kept: any client may send to $cbs, so it would take memory from others.
func TestTokenTooLarge(t *testing.T) {
	inBubble(t, nil, func(h bubbleWorld) {
		c := h.connect()
		c.Begin(0)
		c.AttachSender(0, 0, "$cbs")
		c.SendInPieces(0, 0, 0, pattern(1 << 20)[:1<<20-1], 30_000)
		h.rejected(c.WaitForOutcome(0), wire.CondMessageSizeExceeded)
		part := amqptest.MessageTransfer(0, 1, pattern(50_000))
		part.More = true
		c.WriteFrames(0, part, &wire.Transfer{Handle: 0, More: true, Payload: pattern(50_000)})
		synctest.Wait()
		if n := h.s.IncomingBytes(); n != 0 {
			t.Errorf("%d bytes are kept of a token that is too large", n)
		}
	})
}

// request returns a request to $management as a message.
func request(id uint64, operation string, arguments value.Properties, more ...value.Property) []byte {
	props := wire.Properties{MessageID: value.OfULong(id)}
	b := wire.AppendAnnotations(props.Append(nil), wire.SectionApplicationProperties, append(value.Properties{prop("operation", value.OfString(operation))}, more...))
	return wire.AppendSection(b, wire.SectionValue, wire.AppendMap(nil, arguments))
}

// A request to $management that waits for the broker counts for incomplete-bytes with its whole
// size, not only with its body. When the client's part is used up, further requests are not
// accepted.
func TestWaitingRequestsAreCounted(t *testing.T) {
	inBubble(t, map[string]string{"incomplete-bytes": "4000000"}, func(h bubbleWorld) {
		c := h.connect()
		c.Begin(0)
		manages(c, "q")
		pad := prop("pad", value.OfString(strings.Repeat("x", 300_000)))
		taken := 0
		h.occupied(func() {
			for id := range uint32(20) {
				c.SendInPieces(0, 0, id, request(uint64(id), "com.microsoft:peek-message", nil, pad), 60_000)
				synctest.Wait()
			}
			if n := h.s.IncomingBytes(); n > 2_000_000 || n < 1_500_000 {
				t.Errorf("%d bytes are kept", n)
			}
			for id := range uint32(20) {
				if _, ok := c.WaitForOutcome(id).(wire.Accepted); ok {
					taken++
				}
			}
		})
		if taken != 6 {
			t.Errorf("%d requests of 300,000 bytes fit into two million", taken)
		}
		synctest.Wait()
		if n := h.s.IncomingBytes(); n != 0 {
			t.Errorf("%d bytes are kept at the end", n)
		}
	})
}

// A client that does not read its replies gets the error busy for requests beyond some
// megabytes of replies, and those requests have no effect. When it reads them, it is
// served again.
func TestUnheardAnswers(t *testing.T) {
	inBubble(t, nil, func(h bubbleWorld) {
		h.b.CreateQueue("other", engine.Config{})
		h.b.SendMessages("q", broker.Outgoing{Body: pattern(900_000)})
		c := h.connect()
		peek := value.Properties{prop("from-sequence-number", value.OfLong(0)), prop("message-count", value.OfInt(1))}
		const sessions, each = 4, 15
		for s := range uint16(sessions) { // on as many pairs of links
			c.Begin(s)
			c.AttachSender(s, 0, "q/$management")
			c.Attach(s, amqptest.ReceiverAttach(1, "q/$management"))
			for id := range uint32(each) {
				c.WriteFrames(s, amqptest.MessageTransfer(0, id, request(uint64(id), "com.microsoft:peek-message", peek)))
				h.accepted(c.WaitForOutcome(id))
				synctest.Wait()
			}
		}
		done, busy := 0, 0
		for s := range uint16(sessions) {
			c.GrantCredit(s, 1, 0, each)
			for range each {
				switch a := readAnswer(c.ReceiveDelivery().Payload); a.Status {
				case 200:
					done++
				case 503:
					busy++
				default:
					t.Errorf("%+v", a)
				}
			}
		}
		if done != 19 || busy != sessions*each-19 { // 16 MiB of replies
			t.Errorf("%d replies waited, and %d requests were refused", done, busy)
		}
		c.WriteFrames(0, amqptest.MessageTransfer(0, 100, request(100, "com.microsoft:peek-message", peek)))
		h.accepted(c.WaitForOutcome(100))
		c.GrantCredit(0, 1, each, 1)
		if a := readAnswer(c.ReceiveDelivery().Payload); a.Status != 200 {
			t.Errorf("then %+v", a)
		}
	})
}

// A request for deferred messages is refused, and they stay deferred, if its reply, which is in
// memory as a whole, would be larger than 16 MiB. Smaller requests for the same messages succeed.
func TestFetchTooMuch(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.b.CreateQueue("q", engine.Config{})
		const size, messages = 200_000, 100
		var all, some []value.Value
		for i := range messages {
			w.send("q", "", string(pattern(size)))
			all = append(all, value.OfLong(int64(i+1)))
		}
		some = all[:50]
		c := w.client()
		c.Attach(0, amqptest.ReceiverAttach(5, "q"))
		c.GrantCredit(0, 5, 0, messages)
		for range messages {
			c.ReceiveDelivery()
		}
		c.WriteFrames(0, &wire.Disposition{Role: wire.RoleReceiver, First: 0, Last: wire.Some[uint32](messages - 1), Settled: true, State: wire.Modified{UndeliverableHere: true}})
		m := manages(c, "q")
		seqs := func(n []value.Value) value.Properties {
			return value.Properties{prop("sequence-numbers", arrayOf(value.Long, n...)), prop("receiver-settle-mode", value.OfUInt(0))}
		}
		synctest.Wait()
		if a := m.do("com.microsoft:receive-by-sequence-number", seqs(all)); a.Status != 403 || !strings.Contains(a.Text, "more than 16777216 bytes") {
			t.Errorf("a hundred in one request: %+v", a)
		}
		for _, part := range [][]value.Value{some, all[50:]} {
			if a := m.do("com.microsoft:receive-by-sequence-number", seqs(part)); a.Status != 200 {
				t.Errorf("fifty in one request: %d %s", a.Status, a.Text)
			}
		}
	})
}

// Link names and addresses of more than 4,096 bytes are refused, because they stay in memory as
// long as their link.
func TestLongNames(t *testing.T) {
	inBubble(t, nil, func(h bubbleWorld) {
		c := h.sender()
		named := func(n, target int) wire.Attach {
			a := amqptest.ReceiverAttach(1, "$cbs")
			a.Name, a.Target = strings.Repeat("n", n), &wire.Target{Address: wire.Some(strings.Repeat("t", target))}
			return a
		}
		h.because(h.refused(c, 0, named(4097, 1)), wire.CondInvalidField)
		h.because(h.refused(c, 0, named(1, 4097)), wire.CondInvalidField)
		c.Attach(0, named(4096, 4096))
		h.accepted(c.Send(0, 0, 0, amqptest.DataMessage(nil)))
	})
}

// A request to $management that names more than ten thousand messages is refused, because the
// broker would make others wait while it looks them up.
func TestTooManyNamed(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.b.CreateQueue("q", engine.Config{})
		c := w.client()
		manages(c, "q")
		c.GrantCredit(0, 1, 0, 10)
		for n, want := range map[int]int64{10_000: 404, 10_001: 400} {
			all := make([]value.Value, n)
			for i := range all {
				all[i] = value.OfLong(int64(i))
			}
			for id, seqs := range []value.Value{arrayOf(value.Long, all...), listOf(all...)} {
				c.SendInPieces(0, 0, uint32(n+id), request(0, "com.microsoft:receive-by-sequence-number", value.Properties{prop("sequence-numbers", seqs)}), 60_000)
				if a := readAnswer(c.ReceiveDelivery().Payload); a.Status != want {
					t.Errorf("%d numbers: %d %s", n, a.Status, a.Text)
				}
				c.WaitForOutcome(uint32(n + id))
			}
		}
	})
}
