package amqp

import (
	"fmt"
	"math"
	"time"

	"mayfly/engine"
	"mayfly/engine/value"
	"mayfly/web/amqp/wire"
)

// arguments are the body of a request to $management: a map.
type arguments struct{ value.Properties }

func argumentsOf(body []byte) (a arguments, err error) {
	if len(body) == 0 {
		return a, nil
	}
	a.Properties, err = wire.ParseMap(body)
	return a, err //nolint:wrapcheck // a ProtocolError
}

func wrong(name, want string) error {
	return &engine.Refusal{Kind: engine.ErrArgument, Text: fmt.Sprintf("The request's '%s' must be %s.", name, want)}
}

// whole is an integer of any type.
func whole(v value.Value) (int64, bool) {
	if n, ok := v.Int64(); ok {
		return n, true
	}
	if n, ok := v.Uint64(); ok && n <= math.MaxInt64 {
		return int64(n), true
	}
	return 0, false
}

// text is a string that may be absent or null.
func (a arguments) text(name string) (s string, ok bool, err error) {
	v, there := a.Lookup(name)
	if !there || v.Kind() == value.Null {
		return "", false, nil
	}
	if s, ok = v.Str(); !ok {
		return "", false, wrong(name, "a string")
	}
	return s, true, nil
}

// number is an integer, or otherwise if it is absent or null.
func (a arguments) number(name string, otherwise int64) (int64, error) {
	v, there := a.Lookup(name)
	if !there || v.Kind() == value.Null {
		return otherwise, nil
	}
	n, ok := whole(v)
	if !ok || n != int64(int32(n)) {
		return 0, wrong(name, "a number of 32 bits")
	}
	return n, nil
}

// moment is a time, 0 if it is absent, null, or so late that it means none: the
// end of the year 9999, or a millisecond later (sdk-demands 12).
func (a arguments) moment(name string) (engine.Instant, error) {
	const lastDate = 253402300799999
	v, there := a.Lookup(name)
	if !there || v.Kind() == value.Null {
		return 0, nil
	}
	ms, ok := v.Millis()
	if !ok {
		if ms, ok = whole(v); !ok {
			return 0, wrong(name, "a time")
		}
	}
	if ms >= lastDate {
		return 0, nil
	}
	if ms == 0 {
		ms = 1 // the zero Instant is none
	}
	return engine.At(time.UnixMilli(ms)), nil
}

// mostElements is how many locks or messages a request may name: the broker looks
// them up in one turn, in which it does nothing for others.
const mostElements = 10_000

// elements are those of an array or a list.
func (a arguments) elements(name string) ([]value.Value, error) {
	v, there := a.Lookup(name)
	raw, ok := v.Bytes()
	if !there || !ok || v.Kind() != value.Raw {
		return nil, wrong(name, "an array")
	}
	out, err := wire.ParseArray(raw)
	if err != nil {
		out, err = wire.ParseList(raw)
	}
	switch {
	case err != nil:
		return nil, wrong(name, "an array")
	case len(out) > mostElements:
		return nil, wrong(name, fmt.Sprintf("an array of at most %d elements", mostElements))
	}
	return out, nil
}

// tokens are the request's lock-tokens.
func (a arguments) tokens() ([]engine.LockToken, error) {
	const name = "lock-tokens"
	all, err := a.elements(name)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, wrong(name, "an array of at least one uuid")
	}
	out := make([]engine.LockToken, 0, len(all))
	for _, v := range all {
		id, ok := v.UUID()
		if !ok {
			return nil, wrong(name, "an array of uuids")
		}
		out = append(out, engine.LockToken(id))
	}
	return out, nil
}

// seqs are the request's sequence-numbers.
func (a arguments) seqs() ([]engine.Seq, error) {
	const name = "sequence-numbers"
	all, err := a.elements(name)
	if err != nil {
		return nil, err
	}
	out := make([]engine.Seq, 0, len(all))
	for _, v := range all {
		n, ok := whole(v)
		if !ok {
			return nil, wrong(name, "an array of numbers")
		}
		out = append(out, engine.Seq(n))
	}
	return out, nil
}

// fields is a map, nil if it is absent or null.
func (a arguments) fields(name string) (value.Properties, error) {
	v, there := a.Lookup(name)
	if !there || v.Kind() == value.Null {
		return nil, nil
	}
	raw, ok := v.Bytes()
	if !ok || v.Kind() != value.Raw {
		return nil, wrong(name, "a map")
	}
	out, err := wire.ParseMap(raw)
	if err != nil {
		return nil, wrong(name, "a map")
	}
	return out, nil
}
