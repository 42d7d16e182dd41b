package codec_test

import (
	"math"
	"testing"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/value"
	"mayfly/web/amqp/codec"
	"mayfly/web/amqp/wire"
)

// sender returns a message with something in every section.
func sender() spoken {
	return spoken{
		Header:      wire.Header{TTL: wire.Some(uint32(60_000)), Priority: wire.Some(uint8(7))},
		Delivery:    pairs("mine", value.OfInt(1)),
		Message:     pairs("x-opt-partition-key", value.OfString("p"), "own", value.OfLong(5)),
		Properties:  wire.Properties{MessageID: value.OfUUID([16]byte{1}), Subject: wire.Some("s"), To: wire.Some(""), UserID: []byte("u")},
		Application: pairs("a", value.OfInt(1)),
		Kind:        wire.DataBody, Body: []string{"one", "", "three"},
		Footer: pairs("foot", value.OfBool(true)),
	}
}

// TestEncodeByReceiveMode checks the encoding of a message in each way of receiving it: the
// sections that were sent, with the broker's additions.
func TestEncodeByReceiveMode(t *testing.T) {
	const q = engine.Path("q")
	// known are the annotations that every message has.
	known := func(m engine.Message) value.Properties {
		return pairs("x-opt-sequence-number", value.OfLong(int64(m.Seq)), "x-opt-enqueued-time", value.OfTimestamp(int64(m.EnqueuedAt)))
	}
	until := func(m engine.Message) value.Property {
		return value.Property{Name: "x-opt-locked-until", Value: value.OfTimestamp(int64(m.LockedUntil))}
	}
	token := func(m engine.Message) value.Property {
		return value.Property{Name: "x-opt-lock-token", Value: value.OfUUID(m.Token())}
	}
	state := func(n int32) value.Property {
		return value.Property{Name: "x-opt-message-state", Value: value.OfInt(n)}
	}
	check := func(t *testing.T, count uint32, ofDelivery, ofMessage value.Properties, got spoken) {
		t.Helper()
		want := sender()
		want.Header.DeliveryCount = wire.Some(count)
		want.Delivery = ofDelivery
		want.Message = inOrder(append(ofMessage, want.Message...))
		got.Message = inOrder(got.Message)
		diff(t, want, got)
	}
	mine := pairs("mine", value.OfInt(1))
	for name, does := range map[string]func(t *testing.T, w world){
		"§2.1, LOCK-1 under a lock": func(t *testing.T, w world) {
			d, got := w.receive(q, engine.PeekLock)
			check(t, 0, append(mine, token(d.Message)), append(known(d.Message), until(d.Message)), got)
			if d.Message.LockedUntil == 0 {
				t.Error("the message is not locked")
			}
		},
		"DC-1 again": func(t *testing.T, w world) {
			d, _ := w.receive(q, engine.PeekLock)
			w.settle(d, engine.Settlement{Outcome: engine.Abandon})
			d, got := w.receive(q, engine.PeekLock)
			check(t, 1, append(mine, token(d.Message)), append(known(d.Message), until(d.Message)), got)
		},
		"§2.1, LOCK-2 for good": func(t *testing.T, w world) {
			d, got := w.receive(q, engine.ReceiveAndDelete)
			check(t, 0, mine, known(d.Message), got)
		},
		"PEEK-8": func(t *testing.T, w world) {
			r, got := w.peek(q)
			check(t, 0, mine, known(r.Message), got)
		},
		"PEEK-8 locked": func(t *testing.T, w world) {
			w.receive(q, engine.PeekLock)
			r, got := w.peek(q)
			check(t, 0, mine, known(r.Message), got)
		},
		"PEEK-2, PEEK-8 deferred": func(t *testing.T, w world) {
			d, _ := w.receive(q, engine.PeekLock)
			w.settle(d, engine.Settlement{Outcome: engine.Defer})
			r, got := w.peek(q)
			original := value.Property{Name: "x-opt-enqueue-sequence-number", Value: value.OfLong(int64(r.Message.Seq))}
			none := value.Property{Name: "x-opt-locked-until", Value: value.OfTimestamp(time.Time{}.UnixMilli())}
			check(t, 1, mine, append(known(r.Message), state(1), original, none), got)
			d, _ = w.fetch(q, d.Message.Seq, engine.PeekLock)
			r, got = w.peek(q)
			check(t, 1, mine, append(known(r.Message), state(1), original, until(d.Message)), got)
		},
		"DEF-6": func(t *testing.T, w world) {
			d, _ := w.receive(q, engine.PeekLock)
			w.settle(d, engine.Settlement{Outcome: engine.Defer})
			d, got := w.fetch(q, d.Message.Seq, engine.PeekLock)
			check(t, 1, append(mine, token(d.Message)), append(known(d.Message), until(d.Message), state(1)), got)
		},
		"DEF-6 for good": func(t *testing.T, w world) {
			d, _ := w.receive(q, engine.PeekLock)
			w.settle(d, engine.Settlement{Outcome: engine.Defer})
			d, got := w.fetch(q, d.Message.Seq, engine.ReceiveAndDelete)
			check(t, 1, mine, append(known(d.Message), state(1)), got)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t)
			w.CreateQueue(q, engine.Config{})
			w.send(q, sender())
			does(t, w)
		})
	}
}

// TestElsewhere checks the encoding of messages that are scheduled, dead-lettered, forwarded or in
// a session, or that an operator or a rule's action has changed.
func TestElsewhere(t *testing.T) {
	const q = engine.Path("q")
	lookup := func(t *testing.T, p value.Properties, key string, want value.Value) {
		t.Helper()
		if got, ok := p.Lookup(key); got != want || ok != (want.Kind() != value.Null) {
			t.Errorf("%s is %v; want %v", key, got, want)
		}
	}
	for name, does := range map[string]func(t *testing.T, w world){
		"SCH-4, PEEK-8": func(t *testing.T, w world) {
			due := int64(w.ClockTime()) + 3_600_000
			w.send(q, annotated("x-opt-scheduled-enqueue-time", value.OfTimestamp(due)))
			_, got := w.peek(q)
			lookup(t, got.Message, "x-opt-scheduled-enqueue-time", value.OfTimestamp(due))
			lookup(t, got.Message, "x-opt-message-state", value.OfInt(2))
			lookup(t, got.Message, "x-opt-enqueue-sequence-number", value.OfLong(1)) // PEEK-8: always, if the message is not active
			lookup(t, got.Message, "x-opt-locked-until", value.OfTimestamp(time.Time{}.UnixMilli()))
		},
		"OPS-8": func(t *testing.T, w world) { // a rescheduled message shows its new time
			due := w.ClockTime() + 3_600_000
			w.send(q, annotated("x-opt-scheduled-enqueue-time", value.OfTimestamp(int64(due))))
			r, _ := w.peek(q)
			must[engine.Seq](t)(w.Reschedule(w.Context(), r.Message.Key, due+5, ""))
			_, got := w.peek(q)
			lookup(t, got.Message, "x-opt-scheduled-enqueue-time", value.OfTimestamp(int64(due)+5))
		},
		"SCH-2 delivered as sent": func(t *testing.T, w world) {
			w.send(q, annotated("x-opt-scheduled-enqueue-time", value.OfTimestamp(1)))
			_, got := w.receive(q, engine.PeekLock)
			lookup(t, got.Message, "x-opt-scheduled-enqueue-time", value.OfTimestamp(1))
			lookup(t, got.Message, "x-opt-message-state", value.Value{})
		},
		"DLQ-8": func(t *testing.T, w world) {
			w.send(q, sender())
			d, _ := w.receive(q, engine.PeekLock)
			w.settle(d, engine.Settlement{Outcome: engine.Abandon, Modify: pairs("a", value.OfInt(2))})
			d, _ = w.receive(q, engine.PeekLock)
			w.settle(d, engine.Settlement{Outcome: engine.DeadLetter, Reason: "bad", Description: "very", Modify: pairs("b", value.OfLong(3))})
			changed := pairs("a", value.OfInt(2), "b", value.OfLong(3), "DeadLetterReason", value.OfString("bad"), "DeadLetterErrorDescription", value.OfString("very"))
			for range 2 { // abandoned in the dead-letter queue: not counted there
				_, looked := w.peek(q.DeadLetter())
				diff(t, changed, looked.Application)
				d, got := w.receive(q.DeadLetter(), engine.PeekLock)
				diff(t, changed, got.Application)
				diff(t, wire.Some(uint32(1)), got.Header.DeliveryCount) // it was abandoned once in the queue
				diff(t, sender().Header.TTL, got.Header.TTL)            // TTL-33
				diff(t, sender().Properties, got.Properties)
				diff(t, sender().Body, got.Body)
				lookup(t, got.Message, "x-opt-deadletter-source", value.Value{})
				w.settle(d, engine.Settlement{Outcome: engine.Abandon})
			}
		},
		"DLQ-9": func(t *testing.T, w world) {
			w.CreateQueue("dead", engine.Config{})
			w.CreateQueue("from", engine.Config{ForwardDeadLetteredMessagesTo: "dead"})
			w.send("from", annotated("x-opt-deadletter-source", value.Value{}))
			w.send(q, annotated("x-opt-deadletter-source", value.OfString("forged")))
			d, got := w.receive("from", engine.PeekLock)
			if v, ok := got.Message.Lookup("x-opt-deadletter-source"); !ok || v.Kind() != value.Null {
				t.Errorf("null was returned as %v, %v", v, ok)
			}
			w.settle(d, engine.Settlement{Outcome: engine.DeadLetter})
			d, got = w.receive("dead", engine.PeekLock)
			lookup(t, got.Message, "x-opt-deadletter-source", value.OfString("from"))
			diff(t, 1, len(got.Message)-len(without(got.Message, "x-opt-deadletter-source")))
			if d.Message.EnqueuedSeq != d.Message.Seq {
				lookup(t, got.Message, "x-opt-enqueue-sequence-number", value.OfLong(int64(d.Message.EnqueuedSeq)))
			}
			_, got = w.receive(q, engine.PeekLock)
			lookup(t, got.Message, "x-opt-deadletter-source", value.Value{})
		},
		"SES-5": func(t *testing.T, w world) { // the lock of a session is renewed, so its messages have no lock end of their own
			w.CreateQueue("s", engine.Config{RequiresSession: true})
			s := sender()
			s.Properties.GroupID, s.Message = wire.Some("mine"), nil
			w.send("s", s)
			id := "mine"
			session := must[*broker.Session](t)(w.AcceptSession(w.Context(), broker.AcceptRequest{Path: "s", Session: &id}))
			d, got := w.got(must[[]broker.Received](t)(session.Receive(w.Context(), 1, 0)))
			never := value.OfTimestamp(time.Date(9999, 12, 31, 23, 59, 59, 999e6, time.UTC).UnixMilli())
			lookup(t, got.Message, "x-opt-locked-until", never)
			lookup(t, got.Delivery, "x-opt-lock-token", value.OfUUID(d.Message.Token()))
			w.settle(d, engine.Settlement{Outcome: engine.Defer})
			_, got = w.got(must[[]broker.Received](t)(session.ReceiveDeferred(w.Context(), []engine.Seq{d.Message.Seq}, engine.PeekLock)))
			lookup(t, got.Message, "x-opt-locked-until", never)
			// A message with a session id in an entity without sessions has a lock of its
			// own.
			w.send(q, s)
			d, got = w.receive(q, engine.PeekLock)
			lookup(t, got.Message, "x-opt-locked-until", value.OfTimestamp(int64(d.Message.LockedUntil)))
		},
		"SEQ-5": func(t *testing.T, w world) { // the message gets a different number in the entity where it is first submitted
			w.CreateEntity(engine.Topic, "t", engine.Config{})
			w.CreateEntity(engine.Subscription, "t/Subscriptions/old", engine.Config{})
			w.send("t", plain)
			w.CreateEntity(engine.Subscription, "t/Subscriptions/s", engine.Config{})
			w.send("t", plain)
			d, got := w.receive("t/Subscriptions/s", engine.PeekLock)
			if d.Message.Seq != 1 || d.Message.EnqueuedSeq != 2 {
				t.Fatalf("%+v", d.Message)
			}
			lookup(t, got.Message, "x-opt-sequence-number", value.OfLong(1))
			lookup(t, got.Message, "x-opt-enqueue-sequence-number", value.OfLong(2))
		},
		"ACT-1": func(t *testing.T, w world) { // the values that an action set are delivered
			w.CreateEntity(engine.Topic, "t", engine.Config{})
			rule := engine.Rule{Name: "r", Filter: engine.Filter{Kind: engine.TrueFilter}, Action: "SET sys.Label = 'changed'; SET sys.MessageId = 'text'; SET sys.To = ''; SET sys.SessionId = ''; SET sys.PartitionKey = 'k'; SET a = 2"}
			must[engine.Entity](t)(w.CreateWithRules(w.Context(), engine.Subscription, "t/Subscriptions/s", engine.Config{}, []engine.Rule{rule}, ""))
			s := sender()
			s.Properties.CorrelationID = value.OfULong(7)
			s.Message = pairs("x-opt-partition-key", value.Value{})
			w.send("t", s)
			_, got := w.receive("t/Subscriptions/s", engine.PeekLock)
			s.Properties.Subject, s.Properties.MessageID, s.Properties.GroupID = wire.Some("changed"), value.OfString("text"), wire.Some("")
			diff(t, s.Properties, got.Properties)
			diff(t, pairs("a", value.OfInt(2), "RuleName", value.OfString("r")), without(got.Application)[:2])
			diff(t, s.Footer, got.Footer)
			diff(t, s.Body, got.Body)
			lookup(t, got.Message, "x-opt-partition-key", value.OfString("k"))
			diff(t, 1, len(got.Message)-len(without(got.Message, "x-opt-partition-key")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t)
			w.CreateQueue(q, engine.Config{})
			does(t, w)
		})
	}
}

// TestLife checks the ttl, creation and expiry times with which a message is encoded, for time
// limits of the sender and of the entity.
func TestLife(t *testing.T) {
	const day = 24 * time.Hour
	type times struct {
		TTL              wire.Opt[uint32]
		Creation, Expiry wire.Opt[int64]
	}
	none := wire.Opt[int64]{}
	pair := func(ttl uint32, creation, expiry int64) times {
		return times{wire.Some(ttl), wire.Some(creation), wire.Some(expiry)}
	}
	capped := func(ttl time.Duration) func(*engine.Delivery) {
		return func(d *engine.Delivery) { d.Message.ExpiresAt = at.Add(ttl); d.Expires = d.Message.ExpiresAt }
	}
	def := func(ttl time.Duration) func(*engine.Delivery) {
		return func(d *engine.Delivery) { d.Message.ExpiresAt, d.Expires = 0, at.Add(ttl) }
	}
	const now = int64(1784023200000)
	if engine.Instant(now) != at {
		t.Fatal(int64(at))
	}
	far := (60 * day).Milliseconds()
	for name, tc := range map[string]struct {
		original times
		change   func(*engine.Delivery)
		want     times
	}{
		"TTL-2 unset":                     {times{}, nil, times{}},
		"TTL-4 the default":               {times{}, def(time.Minute), times{wire.Some(uint32(60_000)), none, none}},
		"TTL-4 a long default":            {times{}, def(60 * day), pair(math.MaxUint32, now, now+far)},
		"TTL-5 lowered":                   {times{wire.Some(uint32(90_000)), none, none}, capped(time.Minute), times{wire.Some(uint32(60_000)), none, none}},
		"TTL-5 lowered with times":        {pair(90_000, 5, 90_005), capped(time.Minute), pair(60_000, now, now+60_000)},
		"TTL-5 lowered with one":          {times{wire.Some(uint32(90_000)), none, wire.Some(int64(90_005))}, capped(time.Minute), pair(60_000, now, now+60_000)},
		"TTL-5 lowered from far":          {pair(math.MaxUint32, 5, 5+far), capped(time.Minute), pair(60_000, now, now+60_000)},
		"TTL-6 as sent":                   {times{wire.Some(uint32(1)), none, none}, nil, times{wire.Some(uint32(1)), none, none}},
		"TTL-38 another clock":            {pair(90_000, 5, 90_005), nil, pair(90_000, now, now+90_000)},
		"TTL-38 times of another length":  {pair(90_000, 5, 77), nil, pair(90_000, now, now+90_000)},
		"TTL-38 the end alone":            {times{wire.Some(uint32(90_000)), none, wire.Some(int64(77))}, nil, times{wire.Some(uint32(90_000)), none, wire.Some(now + 90_000)}},
		"TTL-38 the beginning alone":      {times{wire.Some(uint32(90_000)), wire.Some(int64(5)), none}, nil, times{wire.Some(uint32(90_000)), wire.Some(int64(5)), none}},
		"TTL-8":                           {times{wire.Some(uint32(0)), none, none}, nil, times{wire.Some(uint32(0)), none, none}},
		"TTL-9":                           {pair(math.MaxUint32, 5, 5+far), nil, pair(math.MaxUint32, now, now+far)},
		"TTL-9 no times":                  {times{wire.Some(uint32(math.MaxUint32)), none, none}, nil, times{wire.Some(uint32(math.MaxUint32)), none, none}},
		"TTL-2 for ever":                  {pair(math.MaxUint32, math.MinInt64, math.MaxInt64), nil, pair(math.MaxUint32, math.MinInt64, math.MaxInt64)},
		"TTL-2 for ever, with a default":  {pair(math.MaxUint32, math.MinInt64, math.MaxInt64), def(time.Minute), pair(60_000, now, now+60_000)},
		"times alone":                     {times{wire.Opt[uint32]{}, wire.Some(int64(5)), wire.Some(int64(6))}, nil, times{wire.Opt[uint32]{}, wire.Some(int64(5)), wire.Some(int64(6))}},
		"OPS-3 extended":                  {times{wire.Some(uint32(60_000)), none, none}, capped(2 * time.Minute), times{wire.Some(uint32(120_000)), none, none}},
		"OPS-3 extended very far":         {times{wire.Some(uint32(60_000)), none, none}, capped(60 * day), pair(math.MaxUint32, now, now+far)},
		"TTL-33 in the dead-letter queue": {times{wire.Some(uint32(60_000)), none, none}, func(d *engine.Delivery) { d.Expires = 0 }, times{wire.Some(uint32(60_000)), none, none}},
	} {
		t.Run(name, func(t *testing.T) {
			s := variant(func(s *spoken) {
				s.Header.TTL, s.Properties.CreationTime, s.Properties.AbsoluteExpiryTime = tc.original.TTL, tc.original.Creation, tc.original.Expiry
			})
			got := through(t, s, tc.change)
			diff(t, tc.want, times{got.Header.TTL, got.Properties.CreationTime, got.Properties.AbsoluteExpiryTime})
		})
	}
	t.Run("TTL-1 less than a millisecond", func(t *testing.T) { // from other protocols
		d := stored(engine.Content{TTL: 1500 * time.Microsecond}.Pack())
		d.Message.ExpiresAt = 0
		var e codec.Envelope
		must[[]byte](t)(e.EncodePeeked(nil, &engine.Row{Message: d.Message, Content: d.Content}))
		diff(t, wire.Some(uint32(2)), hear(t, e.AppendMessage(nil, nil)).Header.TTL)
	})
	t.Run("TTL-38 a scheduled message", func(t *testing.T) { // before and after its enqueue time
		s := variant(func(s *spoken) {
			s.Header.TTL, s.Properties.CreationTime, s.Properties.AbsoluteExpiryTime = wire.Some(uint32(60_000)), wire.Some(int64(at)), wire.Some(int64(at)+60_000)
		})
		sent, err := codec.DecodeMessage(s.encode())
		if err != nil {
			t.Fatal(err)
		}
		packed, body := submit(t, sent)
		due := at.Add(time.Hour)
		d := stored(packed)
		d.Message.State, d.Message.ScheduledFor, d.Message.ExpiresAt = engine.Scheduled, due, 0
		for range 2 {
			var e codec.Envelope
			must[[]byte](t)(e.EncodePeeked(nil, &engine.Row{Message: d.Message, Content: d.Content}))
			got := hear(t, e.AppendMessage(nil, body)).Properties
			diff(t, times{Creation: wire.Some(int64(due)), Expiry: wire.Some(int64(due) + 60_000)}, times{Creation: got.CreationTime, Expiry: got.AbsoluteExpiryTime})
			d.Message.State, d.Message.ScheduledFor, d.Message.EnqueuedAt, d.Message.ExpiresAt = engine.Active, 0, due, due.Add(time.Minute)
		}
	})
	t.Run("TTL-14", func(t *testing.T) { // a peek does not show the expiry of the entity's default
		w := start(t)
		w.CreateQueue("q", engine.Config{DefaultMessageTimeToLive: time.Hour})
		w.send("q", plain)
		_, looked := w.peek("q")
		_, got := w.receive("q", engine.PeekLock)
		diff(t, wire.Opt[uint32]{}, looked.Header.TTL)
		diff(t, wire.Some(uint32(3_600_000)), got.Header.TTL)
	})
}
