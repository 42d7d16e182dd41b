package columns

import (
	"strconv"

	"mayfly/engine"
	"mayfly/engine/search"
	"mayfly/engine/value"
)

// A Kind is the type of a value.
type Kind uint8

// The kinds of values. Nothing is the kind of an absent value.
const (
	Nothing Kind = iota
	Text
	Number // Value.Text has its digits
	Moment // Value.At
	Bytes  // a size; Value.Text has the number
)

// A Value is a message's value in a column.
type Value struct {
	Kind Kind
	Text string // the whole text as it was sent, which may be long and have unprintable characters
	At   engine.Instant
}

func textValue(s string) Value {
	if s == "" {
		return Value{}
	}
	return Value{Kind: Text, Text: s}
}

func numberValue(n int64) Value { return Value{Kind: Number, Text: strconv.FormatInt(n, 10)} }

func moment(at engine.Instant) Value {
	if at == 0 {
		return Value{}
	}
	return Value{Kind: Moment, At: at}
}

// Value returns a message's value in the column c at the instant `now`. If NeedsBody reports true,
// body is the message's body, or nil if that cannot be read or is longer than MaxBody.
func (c Column) Value(r engine.Row, now engine.Instant, body []byte) Value {
	if name, ok := c.Prop(); ok {
		return ofProperty(r, name)
	}
	if path, ok := c.Path(); ok {
		return ofBody(r, path, body)
	}
	m := &r.Message
	switch c.text {
	case State:
		return textValue(stateOf(r, now))
	case TTL, Expires:
		return moment(r.Expires)
	case Due, Scheduled:
		return moment(m.ScheduledFor)
	case Lock:
		if m.LockedUntil.Passed(now) {
			return Value{}
		}
		return moment(m.LockedUntil)
	case Holder:
		return textValue(r.Lock.By)
	case LockedSince:
		return moment(r.Lock.Since)
	case Renewals:
		if !m.Locked() {
			return Value{}
		}
		return numberValue(int64(r.Lock.Renewals))
	case Renewed:
		return moment(r.Lock.RenewedAt)
	case Seq:
		return numberValue(int64(m.Seq))
	case EnqueuedSeq:
		return numberValue(int64(m.EnqueuedSeq))
	case Size:
		return Value{Kind: Bytes, Text: strconv.FormatInt(r.Content.Size(), 10)}
	case Delivery:
		return numberValue(int64(m.DeliveryCount))
	case Enqueued:
		return moment(m.EnqueuedAt)
	case Entity:
		return textValue(string(r.Path))
	case Key:
		return Value{Kind: Text, Text: strconv.FormatUint(uint64(m.Key), 10)}
	}
	if v, ok := c.ofExtra(r); ok {
		return v
	}
	content, err := r.Content.Content()
	if err != nil {
		return Value{}
	}
	return textValue(c.ofContent(content))
}

// ofExtra returns c's value if it is a property of deferred and dead-lettered messages.
func (c Column) ofExtra(r engine.Row) (v Value, ok bool) {
	x := r.Message.Extra
	if x == nil {
		x = &engine.Extra{}
	}
	dead := r.Path.IsDeadLetter()
	switch c.text {
	case Reason:
		return textValue(x.Reason), true
	case Error:
		return textValue(x.Description), true
	case Source:
		if x.Source == "" && dead {
			return textValue(string(r.Path.Entity())), true
		}
		return textValue(x.Source), true
	case Destination:
		return textValue(x.To), true
	case DeadLetteredAt:
		return moment(x.DeadAt), true
	case Deferred:
		return moment(x.DeferredAt), true
	case Actor:
		return textValue(x.By), true
	default:
		return v, false
	}
}

// ofContent returns c's value if it is a property that the sender set, else "".
func (c Column) ofContent(content engine.Content) string {
	switch c.text {
	case Subject:
		return content.Subject
	case ID:
		return content.MessageID
	case Correlation:
		return content.CorrelationID
	case Session:
		return content.SessionID
	case To:
		return content.To
	case ReplyTo:
		return content.ReplyTo
	case ReplyToSession:
		return content.ReplyToSessionID
	case Partition:
		return content.PartitionKey
	case Type:
		return content.ContentType
	case Body:
		return content.Preview
	case Message:
		if content.Subject != "" {
			return content.Subject
		}
		return content.MessageID
	default:
		return ""
	}
}

// stateOf returns a message's state as engine/search names it.
func stateOf(r engine.Row, now engine.Instant) string {
	m := &r.Message
	switch {
	case r.Path.IsDeadLetter():
		return "dead"
	case m.State == engine.Scheduled:
		return "scheduled"
	case m.State == engine.Deferred:
		return "deferred"
	case m.Locked() && !m.LockedUntil.Passed(now):
		return "locked"
	default:
		return "active"
	}
}

// ofProperty returns an application property as a receiver sees it, ignoring the case of its name.
func ofProperty(r engine.Row, name string) Value {
	content, err := r.Content.Content()
	if err != nil {
		return Value{}
	}
	v, ok := r.Message.Properties(content).LookupFold(name)
	if !ok {
		return Value{}
	}
	switch v.Kind() {
	case value.UByte, value.Byte, value.UShort, value.Short, value.UInt, value.Int, value.ULong, value.Long,
		value.Float, value.Double:
		return Value{Kind: Number, Text: v.Text()}
	case value.Decimal32, value.Decimal64, value.Decimal128:
		return Value{Kind: Number, Text: v.DecimalText()}
	case value.Timestamp, value.DateTimeOffset, value.DateTime:
		if at, ok := v.Time(); ok && engine.At(at) > 0 {
			return moment(engine.At(at))
		}
	default:
	}
	return Value{Kind: Text, Text: v.Text()}
}

// ofBody returns the JSON value at a path in a body. Numbers have the digits with which they were
// sent; an object or a list is returned as its JSON.
func ofBody(r engine.Row, path search.Path, body []byte) Value {
	if len(body) == 0 || len(body) > MaxBody {
		return Value{}
	}
	content, err := r.Content.Content()
	if err != nil {
		return Value{}
	}
	doc := search.JSONDocument(content.BodyKind, body)
	if doc == nil {
		return Value{}
	}
	raw, ok := path.First(doc)
	switch {
	case !ok:
		return Value{}
	case raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9':
		return Value{Kind: Number, Text: string(raw)}
	default:
		return Value{Kind: Text, Text: search.JSONText(raw)}
	}
}
