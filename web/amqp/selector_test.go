package amqp_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine"
	"mayfly/engine/value"
	"mayfly/web/amqp/amqptest"
	"mayfly/web/amqp/wire"
)

// under returns a value with a descriptor.
func under(descriptor, of value.Value) value.Value {
	return value.OfRaw(wire.AppendDescribed(nil, descriptor, of))
}

func symbol(s string) value.Value { return value.OfSymbol(s) }

// filtered returns the attach of a receiver of q with filters.
func filtered(handle uint32, filters ...value.Property) wire.Attach {
	a := amqptest.ReceiverAttach(handle, "q")
	a.Source.Filter = filters
	return a
}

// takesTen gives credit for ten, and returns the bodies of the messages that arrive.
func takesTen(c *amqptest.Client, handle uint32) (all []string) {
	c.GrantCredit(0, handle, 0, 10)
	for _, p := range frames(c) {
		if tr, ok := p.(*wire.Transfer); ok {
			all = append(all, string(c.DataOf(tr.Payload)))
		}
	}
	return all
}

// LOCK-16: a filter that is in the answer is applied, in each form in which clients write
// it. An unknown one is not in the answer, and is not applied.
func TestSelectors(t *testing.T) {
	list := func(text string) value.Value {
		return value.OfRaw(wire.AppendList(nil, value.OfString(text), value.OfInt(20)))
	}
	for name, tc := range map[string]struct {
		filter value.Property
		served bool
		want   string
	}{
		"by symbol":              {value.Property{Name: "jms-selector", Value: under(symbol("apache.org:selector-filter:string"), value.OfString("region = 'eu'"))}, true, "[eu1 eu2]"},
		"by code":                {value.Property{Name: "selector", Value: under(value.OfULong(0x468C00000004), value.OfString("region = 'eu'"))}, true, "[eu1 eu2]"},
		"by name alone":          {value.Property{Name: "apache.org:selector-filter:string", Value: value.OfString("region = 'us'")}, true, "[us1]"},
		"headers of JMS":         {value.Property{Name: "s", Value: under(symbol("apache.org:selector-filter:string"), value.OfString("JMSType = 'sub' AND JMSPriority BETWEEN 5 AND 9 AND JMSDeliveryMode = 'PERSISTENT' AND JMSCorrelationID = 'c' AND JMSMessageID = 'ID:1' AND JMSXDeliveryCount = 1"))}, true, "[eu2]"},
		"headers that are not":   {value.Property{Name: "s", Value: under(symbol("apache.org:selector-filter:string"), value.OfString("JMSPriority = 4 AND JMSDeliveryMode = 'NON_PERSISTENT' AND JMSType IS NULL"))}, true, "[us1 eu1]"},
		"what nothing matches":   {value.Property{Name: "s", Value: under(symbol("apache.org:selector-filter:string"), value.OfString("region = 'asia'"))}, true, "[]"},
		"what fails":             {value.Property{Name: "s", Value: under(symbol("apache.org:selector-filter:string"), value.OfString("region / 2 = 1"))}, true, "[]"},
		"Service Bus' SQL":       {value.Property{Name: "com.microsoft:sql-filter", Value: under(value.OfULong(0x1370000006), list("sys.Label = 'sub'"))}, true, "[eu2]"},
		"what rules see":         {value.Property{Name: "f", Value: under(symbol("com.microsoft:sql-filter:list"), list("sys.Size > 0 AND sys.State = 0 AND sys.ExpiresAtUtc IS NOT NULL AND sys.Label = 'sub'"))}, true, "[eu2]"},
		"Service Bus' SQL, name": {value.Property{Name: "f", Value: under(symbol("com.microsoft:sql-filter:list"), list("user.region = 'us'"))}, true, "[us1]"},
		"Service Bus' true":      {value.Property{Name: "f", Value: under(value.OfULong(0x1370000007), value.OfRaw(wire.AppendList(nil)))}, true, "[us1 eu1 eu2]"},
		"Service Bus' false":     {value.Property{Name: "f", Value: under(value.OfULong(0x1370000008), value.OfRaw(wire.AppendList(nil)))}, true, "[]"},
		"unknown":                {value.Property{Name: "x:nobody", Value: under(symbol("x:nobody"), value.OfString("v"))}, false, "[us1 eu1 eu2]"},
		"no-local":               {value.Property{Name: "no-local", Value: under(symbol("apache.org:no-local-filter:list"), value.OfRaw(wire.AppendList(nil)))}, false, "[us1 eu1 eu2]"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				w.b.CreateQueue("q", engine.Config{})
				c := w.client()
				c.AttachSender(0, 9, "q")
				for i, m := range []string{"us1", "eu1", "eu2"} {
					h := wire.Header{}
					p := wire.Properties{}
					if m == "eu2" {
						h = wire.Header{Durable: wire.Some(true), Priority: wire.Some(uint8(8))}
						p = wire.Properties{Subject: wire.Some("sub"), CorrelationID: value.OfString("c"), MessageID: value.OfString("ID:1")}
					}
					b := p.Append(h.Append(nil))
					b = wire.AppendAnnotations(b, wire.SectionApplicationProperties, value.Properties{{Name: "region", Value: value.OfString(m[:2])}})
					c.Send(0, 9, uint32(i), append(b, amqptest.DataMessage([]byte(m))...))
				}
				answer := c.Attach(0, filtered(0, tc.filter))
				var want value.Properties
				if tc.served {
					want = value.Properties{tc.filter}
				}
				if diff := cmp.Diff(want, answer.Source.Filter, cmp.Comparer(func(a, b value.Value) bool { return a.Equal(b) })); len(want)+len(answer.Source.Filter) > 0 && diff != "" {
					t.Error(diff)
				}
				got := takesTen(c, 0)
				if fmt.Sprint(got) != tc.want {
					t.Errorf("got %v, want %s", got, tc.want)
				}
				if active, locked := w.count("q"); int(active) != 3-len(got) || int(locked) != len(got) {
					t.Errorf("%d messages are active and %d locked", active, locked)
				}
			})
		})
	}
}

// LOCK-16: an unsupported selector refuses the link.
func TestSelectorsRefused(t *testing.T) {
	of := func(v value.Value) value.Property {
		return value.Property{Name: "s", Value: under(symbol("apache.org:selector-filter:string"), v)}
	}
	bubble(t, func(t *testing.T, w *world) {
		w.b.CreateQueue("q", engine.Config{})
		w.b.CreateQueue("s", engine.Config{RequiresSession: true})
		c := w.client()
		session := asks(0, "s", value.OfString("one"), 0)
		session.Source.Filter = append(session.Source.Filter, of(value.OfString("a = 1")))
		for text, tc := range map[string]struct {
			a    wire.Attach
			want wire.Condition
		}{
			"not AND":           {filtered(0, of(value.OfString("AND"))), wire.CondInvalidField},
			"not int":           {filtered(0, of(value.OfInt(1))), wire.CondInvalidField},
			"1025 characters":   {filtered(0, of(value.OfString(strings.Repeat("x", 1025)))), wire.CondInvalidField},
			"\"jmspriorty\"":    {filtered(0, of(value.OfString("JMSPriorty = 4"))), wire.CondInvalidField},
			"constant":          {filtered(0, of(value.OfString("'a' LIKE b"))), wire.CondInvalidField},
			"must be constant":  {filtered(0, value.Property{Name: "com.microsoft:sql-filter", Value: value.OfString("'a' LIKE 'a' ESCAPE b")}), wire.CondInvalidField},
			"second":            {filtered(0, of(value.OfString("a = 1")), of(value.OfString("b = 1"))), wire.CondNotImplemented},
			"have sessions":     {session, wire.CondNotImplemented},
			"Only sys and user": {filtered(0, of(value.OfString("amqp.correlation_id = 'a'"))), wire.CondInvalidField},
		} {
			if e := refused(c, tc.a); e == nil || e.Condition != tc.want || !strings.Contains(e.Description, text) {
				t.Errorf("%s: refused with %+v", text, e)
			}
		}
	})
}

// PEEK-12: a receiver that asks for copies gets an answer with that mode, and each
// message once, settled, without removing it. The answer to a drain shows that it has
// seen all.
func TestCopies(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.b.CreateQueue("q", engine.Config{})
		w.send("q", "", "a", "b")
		c := w.client()
		locker := c.Attach(0, amqptest.ReceiverAttach(1, "q"))
		if locker.Source.DistributionMode.IsSet() {
			t.Error("the answer has a distribution mode that was not requested")
		}
		c.GrantCredit(0, 1, 0, 1)
		c.ReceiveDelivery()
		a := amqptest.ReceiverAttach(0, "q")
		a.SenderSettleMode = wire.Some(wire.SenderUnsettled)
		a.Source.DistributionMode = wire.Some("copy")
		a.Source.Outcomes = []string{"amqp:accepted:list"}
		answer := c.Attach(0, a)
		if answer.Source.DistributionMode != wire.Some("copy") || answer.SenderSettleMode != wire.Some(wire.SenderSettled) || answer.Source.Outcomes != nil {
			t.Errorf("the answer is %+v", answer)
		}
		c.WriteFrames(0, flow(0, 10, func(f *wire.Flow) { f.Drain = true }))
		var got []string
		for _, p := range frames(c) {
			switch p := p.(type) {
			case *wire.Transfer:
				got = append(got, string(c.DataOf(p.Payload)))
				if !p.Settled.Or(false) {
					t.Error("a copy was not settled")
				}
				var m wire.Message
				if err := m.Decode(p.Payload); err != nil {
					t.Error(err)
				}
			case *wire.Flow:
				got = append(got, fmt.Sprint("credit ", p.LinkCredit.Or(9)))
			}
		}
		if diff := cmp.Diff([]string{"a", "b", "credit 0"}, got); diff != "" {
			t.Error(diff)
		}
		w.send("q", "", "c")
		c.WriteFrames(0, flow(10, 1, nil))
		if tr := c.ReceiveDelivery(); string(c.DataOf(tr.Payload)) != "c" {
			t.Error("a later message was not copied")
		}
		if active, locked := w.count("q"); active != 2 || locked != 1 {
			t.Errorf("%d messages are active and %d locked", active, locked)
		}
		c.WriteFrames(0, &wire.Detach{Handle: 0, Closed: true})
		amqptest.Expect[*wire.Detach](c)
		// When it is detached with copies on their way, even of a locked message, it
		// gives nothing back: the lock is another receiver's.
		a.Name = "another"
		c.Attach(0, a)
		c.WriteFrames(0, flow(0, 10, func(f *wire.Flow) { f.IncomingWindow = 0 }))
		frames(c)
		c.WriteFrames(0, &wire.Detach{Handle: 0, Closed: true})
		frames(c)
		if active, locked := w.count("q"); active != 2 || locked != 1 {
			t.Errorf("at the end %d are active and %d locked", active, locked)
		}
	})
}

// PEEK-12: copies of one session, without holding it.
func TestCopiesOfSession(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.b.CreateQueue("s", engine.Config{RequiresSession: true})
		w.send("s", "one", "a")
		w.send("s", "two", "b")
		c := w.client()
		c.Attach(0, asks(1, "s", value.OfString("one"), 0))
		a := asks(0, "s", value.OfString("one"), 0)
		a.Name, a.Source.DistributionMode = "browser", wire.Some("copy")
		answer := c.Attach(0, a)
		if v, _ := answer.Source.Filter.Lookup("com.microsoft:session-filter"); !v.Equal(value.OfString("one")) || len(answer.Properties) != 0 {
			t.Errorf("the answer is %+v", answer)
		}
		if got := takesTen(c, 0); fmt.Sprint(got) != "[a]" {
			t.Errorf("got %v", got)
		}
		next := asks(2, "s", value.Value{}, 0)
		next.Source.DistributionMode = wire.Some("copy")
		if e := refused(c, next); e == nil || e.Condition != wire.CondNotImplemented {
			t.Errorf("refused with %+v", e)
		}
	})
}

// A link with a selector uses no more memory than is counted for it, whatever the selector's text,
// and frees it when it is detached. The frame of its attach is not kept.
func TestSelectorsCost(t *testing.T) {
	const links = 100
	fill := func(begin, each, end string) string {
		return begin + strings.Repeat(each, (1000-len(begin)-len(end))/len(each)) + end
	}
	for name, text := range map[string]string{
		"comparisons": fill("", "a=1 or ", "a=1"),
		"elements":    fill("a in(", "a,", "a)"),
		"sums":        fill("", "a+", "a=1"),
		"signs":       fill("a=", "-", "a"),
		"short":       "a=1",
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				w.b.CreateQueue("q", engine.Config{})
				c := w.client()
				c.Attach(0, amqptest.ReceiverAttach(links, "q"))
				before, taken := memoryInUse(), w.s.LinkBytes()
				for handle := range uint32(links) {
					a := filtered(handle, value.Property{Name: "jms-selector", Value: value.OfString(fmt.Sprint(text, " or b=", handle))}, value.Property{Name: "x:unknown", Value: value.OfString(strings.Repeat("x", 3_000))})
					a.Name = fmt.Sprint(handle)
					c.Attach(0, a)
				}
				synctest.Wait()
				each, counted := (memoryInUse()-before)/links, (w.s.LinkBytes()-taken)/links
				t.Logf("a link uses %d bytes, and is counted as %d", each, counted)
				if each > counted {
					t.Error("the count is too small")
				}
				for handle := range uint32(links) {
					c.WriteFrames(0, &wire.Detach{Handle: handle, Closed: true})
				}
				frames(c)
				if now := w.s.LinkBytes(); now != taken {
					t.Errorf("%d bytes are counted after the detach, %d before", now, taken)
				}
			})
		})
	}
}
