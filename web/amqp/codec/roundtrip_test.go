package codec_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"mayfly/engine"
	"mayfly/engine/value"
	"mayfly/web/amqp/wire"
)

func text() *rapid.Generator[string] {
	return rapid.OneOf(rapid.Just(""), rapid.StringMatching(`[a-z é]{0,12}`))
}

func symbol() *rapid.Generator[string] { return rapid.StringMatching(`[a-z:-]{0,12}`) }

func bytesOf(n int) *rapid.Generator[[]byte] { return rapid.SliceOfN(rapid.Byte(), n, n) }

// scalar draws a value of every type that is not a compound.
func scalar() *rapid.Generator[value.Value] {
	return rapid.Custom(func(t *rapid.T) value.Value {
		u := rapid.Uint64().Draw(t, "bits")
		switch k := rapid.SampledFrom(value.Kinds()).Draw(t, "kind"); k {
		case value.Bool:
			return value.OfBool(u%2 == 0)
		case value.UByte:
			return value.OfUByte(uint8(u))
		case value.Byte:
			return value.OfByte(int8(u))
		case value.Char:
			return value.OfChar(rune(u % 0xd800))
		case value.UShort:
			return value.OfUShort(uint16(u))
		case value.Short:
			return value.OfShort(int16(u))
		case value.UInt:
			return value.OfUInt(uint32(u))
		case value.Int:
			return value.OfInt(int32(u))
		case value.ULong:
			return value.OfULong(u)
		case value.Long:
			return value.OfLong(int64(u))
		case value.Float:
			return value.OfFloat(math.Float32frombits(uint32(u)))
		case value.Double:
			return value.OfDouble(math.Float64frombits(u))
		case value.Decimal32:
			return value.OfDecimal32(uint32(u))
		case value.Decimal64:
			return value.OfDecimal64(u)
		case value.Decimal128:
			return value.OfDecimal128([16]byte(bytesOf(16).Draw(t, "decimal")))
		case value.String:
			return value.OfString(text().Draw(t, "text"))
		case value.Symbol:
			return value.OfSymbol(symbol().Draw(t, "symbol"))
		case value.Binary:
			return value.OfBinary(rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "binary"))
		case value.UUID:
			return value.OfUUID([16]byte(bytesOf(16).Draw(t, "uuid")))
		case value.Timestamp:
			return value.OfTimestamp(int64(u))
		case value.Timespan:
			return value.OfTimespan(int64(u))
		case value.URI:
			return value.OfURI(text().Draw(t, "uri"))
		case value.DateTimeOffset:
			return value.OfDateTimeOffset(int64(u))
		default:
			return value.Value{}
		}
	})
}

// anything draws compound values too.
func anything() *rapid.Generator[value.Value] {
	return rapid.OneOf(scalar(), rapid.Custom(func(t *rapid.T) value.Value { return value.OfRaw(list().Draw(t, "list")) }))
}

func list() *rapid.Generator[[]byte] {
	return rapid.Custom(func(t *rapid.T) []byte {
		return wire.AppendList(nil, rapid.SliceOfN(scalar(), 0, 3).Draw(t, "elements")...)
	})
}

func dictionary(keys *rapid.Generator[string]) *rapid.Generator[value.Properties] {
	return rapid.Custom(func(t *rapid.T) value.Properties {
		if rapid.Bool().Draw(t, "absent") {
			return nil
		}
		p := value.Properties{}
		for range rapid.IntRange(0, 3).Draw(t, "entries") {
			p = append(p, value.Property{Name: keys.Draw(t, "key"), Value: anything().Draw(t, "value")})
		}
		return p
	})
}

func maybe[T comparable](t *rapid.T, name string, of *rapid.Generator[T]) wire.Opt[T] {
	if rapid.Bool().Draw(t, name+" absent") {
		return wire.Opt[T]{}
	}
	return wire.Some(of.Draw(t, name))
}

func id() *rapid.Generator[value.Value] {
	return rapid.OneOf(rapid.Just(value.Value{}), rapid.Map(text(), value.OfString), scalar())
}

// anyMessage draws any message that AMQP can express.
func anyMessage() *rapid.Generator[spoken] {
	return rapid.Custom(func(t *rapid.T) spoken {
		s := spoken{
			Header: wire.Header{
				Durable: maybe(t, "durable", rapid.Bool()), Priority: maybe(t, "priority", rapid.Byte()),
				TTL:           maybe(t, "ttl", rapid.SampledFrom([]uint32{0, 1, 60_000, math.MaxUint32 - 1, math.MaxUint32})),
				FirstAcquirer: maybe(t, "first acquirer", rapid.Bool()),
			},
			Delivery: dictionary(symbol()).Draw(t, "delivery annotations"), Message: dictionary(symbol()).Draw(t, "message annotations"),
			Application: dictionary(text()).Draw(t, "application properties"), Footer: dictionary(symbol()).Draw(t, "footer"),
			Properties: wire.Properties{
				MessageID: id().Draw(t, "message id"), CorrelationID: id().Draw(t, "correlation id"),
				To: maybe(t, "to", text()), Subject: maybe(t, "subject", text()), ReplyTo: maybe(t, "reply to", text()),
				ContentType: maybe(t, "content type", symbol()), ContentEncoding: maybe(t, "content encoding", symbol()),
				AbsoluteExpiryTime: maybe(t, "absolute expiry time", rapid.Int64()), CreationTime: maybe(t, "creation time", rapid.Int64()),
				GroupID: maybe(t, "group id", text()), GroupSequence: maybe(t, "group sequence", rapid.Uint32()),
				ReplyToGroupID: maybe(t, "reply to group id", text()),
			},
			Kind: rapid.SampledFrom([]wire.BodyKind{wire.NoBody, wire.DataBody, wire.SequenceBody, wire.ValueBody}).Draw(t, "kind"),
		}
		if rapid.Bool().Draw(t, "user id") {
			s.Properties.UserID = rapid.SliceOfN(rapid.Byte(), 0, 9).Draw(t, "user id")
		}
		for key, of := range map[string]*rapid.Generator[value.Value]{
			"x-opt-partition-key":          rapid.Just(value.OfString(s.Properties.GroupID.Or("p"))),
			"x-opt-via-partition-key":      rapid.Map(text(), value.OfString),
			"x-opt-scheduled-enqueue-time": rapid.Map(rapid.Int64Range(-1000, int64(engine.Forever)), value.OfTimestamp),
			"x-opt-deadletter-source":      rapid.Just(value.Value{}),
		} {
			switch rapid.IntRange(0, 2).Draw(t, key) {
			case 1:
				s.Message = append(s.Message, value.Property{Name: key})
			case 2:
				s.Message = append(s.Message, value.Property{Name: key, Value: of.Draw(t, key)})
			}
		}
		switch s.Kind {
		case wire.DataBody:
			s.Body = rapid.SliceOfN(rapid.StringN(0, 300, -1), 1, 4).Draw(t, "data")
		case wire.SequenceBody:
			for _, l := range rapid.SliceOfN(list(), 1, 4).Draw(t, "sequences") {
				s.Body = append(s.Body, string(l))
			}
		case wire.ValueBody:
			s.Body = []string{string(wire.AppendValue(nil, anything().Draw(t, "value")))}
		}
		return s
	})
}

// brokersKeys are the annotations that the broker sets on an active message.
var brokersKeys = []string{"x-opt-sequence-number", "x-opt-enqueued-time", "x-opt-locked-until"}

// owned returns a received message with the broker's additions removed, so that it can be compared
// with the sent one.
func owned(s spoken) spoken {
	s.Header.DeliveryCount = wire.Opt[uint32]{}
	s.Delivery = inOrder(without(s.Delivery, "x-opt-lock-token"))
	s.Message = inOrder(without(s.Message, brokersKeys...))
	return s
}

// inOrder returns annotations sorted by name, and nil if there are none.
func inOrder(p value.Properties) value.Properties {
	p = slices.Clone(p)
	slices.SortStableFunc(p, func(a, b value.Property) int { return strings.Compare(a.Name, b.Name) })
	return slices.Clip(p)
}

// Any message is received as it was sent, and also after it was forwarded as received (sendable
// properties survive two trips).
func TestTwoTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		original := anyMessage().Draw(t, "message")
		first := through(t, original, nil)
		want, got := owned(original), owned(first)
		if want.Properties.MessageID.Kind() == value.Null {
			if s, _ := got.Properties.MessageID.Str(); s == "" {
				t.Fatal("the message got no id")
			}
			want.Properties.MessageID = got.Properties.MessageID
		}
		if ttl, ok := want.Header.TTL.Get(); ok && want.Properties.AbsoluteExpiryTime.IsSet() { // TTL-38
			if until := got.Properties.AbsoluteExpiryTime.Or(0); ttl < math.MaxUint32 && until != int64(at)+int64(ttl) {
				t.Fatal("the message expires at", until)
			}
			want.Properties.AbsoluteExpiryTime, want.Properties.CreationTime = got.Properties.AbsoluteExpiryTime, got.Properties.CreationTime
		}
		if d := cmp.Diff(want, got, sameTwice); d != "" {
			t.Fatal(d)
		}
		if d := cmp.Diff(first, through(t, first, nil)); d != "" {
			t.Fatal("encoded again:", d)
		}
	})
}

// sameTwice compares messages. It treats an absent map like an empty one where a receiver
// cannot tell them apart.
var sameTwice = cmp.Transformer("annotations", func(s spoken) any {
	type alike struct {
		H    wire.Header
		D, M []value.Property
		P    wire.Properties
		A    any
		K    wire.BodyKind
		B    []string
		F    any
	}
	given := func(p value.Properties) any {
		if p == nil {
			return "absent"
		}
		return []value.Property(p)
	}
	return alike{s.Header, append([]value.Property{}, s.Delivery...), append([]value.Property{}, s.Message...), s.Properties, given(s.Application), s.Kind, s.Body, given(s.Footer)}
})
