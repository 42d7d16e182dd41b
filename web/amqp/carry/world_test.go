package carry_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/value"
	"mayfly/web/amqp/carry"
	"mayfly/web/amqp/wire"
)

// A spoken message is one as AMQP says it, section by section. Nil sections are
// absent.
type spoken struct {
	Header      wire.Header
	Delivery    value.Properties
	Message     value.Properties
	Properties  wire.Properties
	Application value.Properties
	Kind        wire.BodyKind
	Body        []string // contents of its sections, as they are encoded
	Footer      value.Properties
}

func (s spoken) encode() []byte {
	b := s.Header.Append(nil)
	b = wire.AppendAnnotations(b, wire.SectionDeliveryAnnotations, s.Delivery)
	b = wire.AppendAnnotations(b, wire.SectionMessageAnnotations, s.Message)
	b = s.Properties.Append(b)
	b = wire.AppendAnnotations(b, wire.SectionApplicationProperties, s.Application)
	for _, content := range s.Body {
		switch s.Kind {
		case wire.DataBody:
			b = append(wire.AppendDataHead(b, uint32(len(content))), content...)
		case wire.SequenceBody:
			b = wire.AppendSection(b, wire.SectionSequence, []byte(content))
		default:
			b = wire.AppendSection(b, wire.SectionValue, []byte(content))
		}
	}
	return wire.AppendAnnotations(b, wire.SectionFooter, s.Footer)
}

type failer interface {
	Helper()
	Fatal(args ...any)
}

func must[T any](t failer) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// hear takes an encoded message apart.
func hear(t failer, encoded []byte) (s spoken) {
	t.Helper()
	var m wire.Message
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(m.Decode(encoded))
	if m.Header == nil || m.MessageAnnotations == nil || m.Properties == nil {
		t.Fatal("a section is missing that clients need")
	}
	check(s.Header.Decode(m.Header))
	check(s.Properties.Decode(m.Properties))
	for _, f := range []struct {
		to   *value.Properties
		from []byte
	}{
		{&s.Delivery, m.DeliveryAnnotations}, {&s.Message, m.MessageAnnotations},
		{&s.Application, m.ApplicationProperties}, {&s.Footer, m.Footer},
	} {
		if f.from != nil {
			*f.to = must[value.Properties](t)(wire.ParseMap(f.from))
		}
	}
	s.Kind = m.Body.Kind
	for content := range m.Body.Contents() {
		s.Body = append(s.Body, string(content))
	}
	return s
}

// at is when everything is enqueued.
var at = engine.At(time.Date(2026, 7, 14, 10, 0, 0, 0, time.UTC))

// submit has a message checked and packed as every door does.
func submit(t failer, out broker.Outgoing) (engine.Packed, []byte) {
	t.Helper()
	s := must[engine.Submission](t)(engine.Submit(out.Content, out.Body, 0, 1, engine.DefaultLimits()))
	return s.Content, s.Body
}

// stored is a delivery of a message under a lock, as its queue has it.
func stored(packed engine.Packed) engine.Delivery {
	c, _ := packed.Content() //nolint:errcheck // some tests have one that cannot be read
	d := engine.Delivery{Path: "q", Content: packed, Message: engine.Message{Key: 7, Nonce: 9, Seq: 3, EnqueuedSeq: 3, EnqueuedAt: at, LockedUntil: at + 60_000}}
	switch {
	case c.TTL < 0:
		d.Message.ExpiresAt = at
	case c.TTL > 0:
		d.Message.ExpiresAt = at.Add(c.TTL)
	}
	d.Expires = d.Message.ExpiresAt
	return d
}

// through is what a receiver hears of what a sender says, if change is done to
// the delivery between them.
func through(t failer, s spoken, change func(*engine.Delivery)) spoken {
	t.Helper()
	packed, body := submit(t, must[broker.Outgoing](t)(carry.Incoming(s.encode())))
	d := stored(packed)
	if change != nil {
		change(&d)
	}
	var e carry.Envelope
	must[[]byte](t)(e.Delivery(nil, &d))
	encoded := e.Append(nil, body)
	if int64(len(encoded)) != e.Size() {
		t.Fatal("its size is not", e.Size(), "but", len(encoded))
	}
	return hear(t, encoded)
}

// without is p but for what the broker says, and the key if any, of a delivery.
func without(p value.Properties, keys ...string) (left value.Properties) {
	for _, q := range p {
		found := false
		for _, k := range keys {
			found = found || k == q.Name
		}
		if !found {
			left = append(left, q)
		}
	}
	return left
}

func diff(t *testing.T, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func pairs(all ...any) (p value.Properties) {
	for i := 0; i < len(all); i += 2 {
		p = append(p, value.Property{Name: all[i].(string), Value: all[i+1].(value.Value)})
	}
	return p
}
