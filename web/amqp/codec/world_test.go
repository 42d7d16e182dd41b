package codec_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/value"
	"mayfly/web/amqp/codec"
	"mayfly/web/amqp/wire"
)

// A spoken is an AMQP message, section by section. Nil sections are absent.
type spoken struct {
	Header      wire.Header
	Delivery    value.Properties
	Message     value.Properties
	Properties  wire.Properties
	Application value.Properties
	Kind        wire.BodyKind
	Body        []string // encoded contents of its sections
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
			b = append(wire.AppendDataHeader(b, uint32(len(content))), content...)
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

// hear decodes a message into its sections.
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
		t.Fatal("a section that clients need is missing")
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

// at is the enqueue time of all messages.
var at = engine.At(time.Date(2026, 7, 14, 10, 0, 0, 0, time.UTC))

// submit checks and packs a message as every protocol does.
func submit(t failer, out broker.Outgoing) (engine.Packed, []byte) {
	t.Helper()
	s := must[engine.Submission](t)(engine.Submit(out.Content, out.Body, 0, 1, engine.DefaultLimits()))
	return s.Content, s.Body
}

// stored returns a locked delivery of a message from the queue q, with fixed numbers and times.
func stored(packed engine.Packed) engine.Delivery {
	c, _ := packed.Content() //nolint:errcheck // some tests have one that cannot be decoded
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

// through decodes, stores and encodes a message, and returns it as a receiver decodes it. change
// may edit the delivery first, and may be nil.
func through(t failer, s spoken, change func(*engine.Delivery)) spoken {
	t.Helper()
	packed, body := submit(t, must[broker.Outgoing](t)(codec.DecodeMessage(s.encode())))
	d := stored(packed)
	if change != nil {
		change(&d)
	}
	var e codec.Envelope
	must[[]byte](t)(e.EncodeDelivery(nil, &d))
	encoded := e.AppendMessage(nil, body)
	if int64(len(encoded)) != e.Size() {
		t.Fatal("the size is not", e.Size(), "but", len(encoded))
	}
	return hear(t, encoded)
}

// without returns p without the properties of these names.
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
