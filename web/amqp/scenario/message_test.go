package scenario

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"mayfly/engine"
	"mayfly/engine/enginetest"
	"mayfly/engine/value"
	"mayfly/web/amqp/wire"
)

// draft is the content of the messages of a send command.
type draft struct {
	id, session string
	size        int
	ttl         time.Duration
	limited     bool // the command sets ttl
	due         time.Time
	properties  value.Properties
}

func drafted(c enginetest.Command, now time.Time) (d draft, err error) {
	for _, name := range c.Names {
		text := c.Options[name]
		switch name {
		case "within", "via":
		case "id":
			d.id = text
		case "session":
			d.session = text
		case "size":
			if _, err := fmt.Sscan(text, &d.size); err != nil {
				return d, fmt.Errorf("size: %w", err)
			}
		case "ttl", "in":
			span, never, err := engine.ParseDuration(text)
			switch {
			case err != nil:
				return d, err
			case name == "in":
				d.due = now.Add(span)
			case !never:
				d.ttl, d.limited = span, true
			}
		default:
			d.properties = append(d.properties, value.Property{Name: name, Value: value.OfString(text)})
		}
	}
	return d, nil
}

// encode returns the message with this body, as SDKs write it.
func (d draft) encode(body string, now time.Time) []byte {
	var h wire.Header
	var p wire.Properties
	if d.id != "" {
		p.MessageID = value.OfString(d.id)
	}
	if d.session != "" {
		p.GroupID = wire.Some(d.session)
	}
	if d.limited {
		h.TTL = wire.Some(uint32(min(d.ttl.Milliseconds(), math.MaxUint32)))
		if d.ttl.Milliseconds() > math.MaxUint32 {
			p.CreationTime, p.AbsoluteExpiryTime = wire.Some(now.UnixMilli()), wire.Some(now.Add(d.ttl).UnixMilli())
		}
	}
	b := h.Append(nil)
	if !d.due.IsZero() {
		b = wire.AppendAnnotations(b, wire.SectionMessageAnnotations, value.Properties{{Name: "x-opt-scheduled-enqueue-time", Value: value.OfTimestamp(d.due.UnixMilli())}})
	}
	b = p.Append(b)
	if d.properties != nil {
		b = wire.AppendAnnotations(b, wire.SectionApplicationProperties, d.properties)
	}
	data := append([]byte(body), bytes.Repeat([]byte{' '}, max(0, d.size-len(body)))...)
	return append(wire.AppendDataHeader(b, uint32(len(data))), data...)
}

// envelope returns a batch message, in which each data section is an encoded message.
func envelope(messages [][]byte) []byte {
	var b []byte
	for _, m := range messages {
		b = append(wire.AppendDataHeader(b, uint32(len(m))), m...)
	}
	return b
}

// A letter is a message as a client decodes it.
type letter struct {
	shown       enginetest.ShownMessage
	body        string
	lockedUntil time.Time
	token       [16]byte // from its delivery annotation
}

// read decodes a message. expires is false for messages from a dead-letter queue, which
// do not expire.
func read(b []byte, now time.Time, expires bool) (l letter, err error) {
	var m wire.Message
	var h wire.Header
	var p wire.Properties
	if err := errors.Join(m.Decode(b), h.Decode(m.Header), p.Decode(m.Properties)); err != nil {
		return l, err
	}
	about, err := wire.ParseMap(m.MessageAnnotations)
	if err != nil {
		return l, err
	}
	ofDelivery, err := wire.ParseMap(m.DeliveryAnnotations)
	if err != nil {
		return l, err
	}
	props, err := wire.ParseMap(m.ApplicationProperties)
	if err != nil {
		return l, err
	}
	token, _ := ofDelivery.Lookup("x-opt-lock-token")
	l.token, _ = token.UUID()
	l.body = strings.TrimRight(string(m.Body.Content()), " ")
	count, ok := h.DeliveryCount.Get()
	if !ok {
		return l, errors.New("the message has no delivery-count")
	}
	l.shown = enginetest.ShownMessage{Body: l.body, Failed: int(count), Properties: map[string]string{}}
	for _, f := range props {
		l.shown.Properties[f.Name] = f.Value.Text()
	}
	number, _ := about.Lookup("x-opt-sequence-number")
	l.shown.Number, _ = number.Int64()
	if v, ok := about.Lookup("x-opt-message-state"); ok {
		n, _ := v.Int64()
		l.shown.State = map[int64]string{1: "deferred", 2: "scheduled"}[n]
	}
	if v, ok := about.Lookup("x-opt-locked-until"); ok {
		ms, _ := v.Millis()
		l.lockedUntil = time.UnixMilli(ms)
	}
	enqueued, _ := about.Lookup("x-opt-enqueued-time")
	at, ok := enqueued.Millis()
	if !ok {
		return l, errors.New("the message has no x-opt-enqueued-time")
	}
	ttl, ok := h.TTL.Get()
	if !ok || !expires {
		return l, nil
	}
	until := time.UnixMilli(at).Add(time.Duration(ttl) * time.Millisecond)
	if ms, ok := p.AbsoluteExpiryTime.Get(); ok {
		until = time.UnixMilli(ms)
	}
	l.shown.Expiring, l.shown.Expires = true, until.Sub(now)
	return l, nil
}
