package amqp

import (
	"fmt"
	"math"
	"time"

	"mayfly/engine"
	"mayfly/engine/value"
	"mayfly/web/amqp/wire"
)

// arguments are the entries of the map in the body of a request to $management.
type arguments struct{ value.Properties }

func argumentsOf(body []byte) (a arguments, err error) {
	if len(body) == 0 {
		return a, nil
	}
	a.Properties, err = wire.ParseMap(body)
	return a, err
}

func invalidArgument(name, want string) error {
	return engine.Refuse(engine.ErrArgument, "The request's '%s' must be %s.", name, want)
}

// integerOf returns the number in v, which may have any integer type.
func integerOf(v value.Value) (int64, bool) {
	if n, ok := v.Int64(); ok {
		return n, true
	}
	if n, ok := v.Uint64(); ok && n <= math.MaxInt64 {
		return int64(n), true
	}
	return 0, false
}

// text returns the string called name. It reports false if there is no such entry or its value is
// null.
func (a arguments) text(name string) (s string, ok bool, err error) {
	v, there := a.Lookup(name)
	if !there || v.Kind() == value.Null {
		return "", false, nil
	}
	if s, ok = v.Str(); !ok {
		return "", false, invalidArgument(name, "a string")
	}
	return s, true, nil
}

// boolean returns the boolean called name, or false if it is absent or null.
func (a arguments) boolean(name string) (bool, error) {
	v, there := a.Lookup(name)
	if !there || v.Kind() == value.Null {
		return false, nil
	}
	is, ok := v.Bool()
	if !ok {
		return false, invalidArgument(name, "a boolean")
	}
	return is, nil
}

// id returns the text of the id called name, which may have any type (MSG-11). It reports false if
// there is no such entry or its value is null.
func (a arguments) id(name string) (s string, ok bool, err error) {
	switch v, there := a.Lookup(name); {
	case !there || v.Kind() == value.Null:
		return "", false, nil
	case v.Kind() == value.Raw:
		return "", false, invalidArgument(name, "a string")
	default:
		return wire.TextOfID(v), true, nil
	}
}

// integer32 returns the integer called name, or the argument otherwise if it is absent or null.
func (a arguments) integer32(name string, otherwise int64) (int64, error) {
	v, there := a.Lookup(name)
	if !there || v.Kind() == value.Null {
		return otherwise, nil
	}
	n, ok := integerOf(v)
	if !ok || n != int64(int32(n)) {
		return 0, invalidArgument(name, "a number of 32 bits")
	}
	return n, nil
}

// instant returns the time called name, or 0 if it is absent, null, or not before the last
// millisecond of the year 9999: SDKs send that millisecond, or the one after it, for no time
// (sdk-demands 12).
func (a arguments) instant(name string) (engine.Instant, error) {
	const lastDate = 253402300799999
	v, there := a.Lookup(name)
	if !there || v.Kind() == value.Null {
		return 0, nil
	}
	ms, ok := v.Millis()
	if !ok {
		if ms, ok = integerOf(v); !ok {
			return 0, invalidArgument(name, "a time")
		}
	}
	if ms >= lastDate {
		return 0, nil
	}
	if ms == 0 {
		ms = 1 // the zero Instant means no time
	}
	return engine.At(time.UnixMilli(ms)), nil
}

// maxElements is the maximum number of locks or messages that a request may name, because the
// broker looks them up in one turn, during which other operations wait.
const maxElements = 10_000

// elements returns the elements of the array or list called name, or an error if it has more than
// maxElements.
func (a arguments) elements(name string) ([]value.Value, error) {
	v, there := a.Lookup(name)
	raw, ok := v.Bytes()
	if !there || !ok || v.Kind() != value.Raw {
		return nil, invalidArgument(name, "an array")
	}
	out, err := wire.ParseArray(raw)
	if err != nil {
		out, err = wire.ParseList(raw)
	}
	switch {
	case err != nil:
		return nil, invalidArgument(name, "an array")
	case len(out) > maxElements:
		return nil, invalidArgument(name, fmt.Sprintf("an array of at most %d elements", maxElements))
	}
	return out, nil
}

// lockTokens returns the request's lock-tokens.
func (a arguments) lockTokens() ([]engine.LockToken, error) {
	const name = "lock-tokens"
	all, err := a.elements(name)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, invalidArgument(name, "an array of at least one uuid")
	}
	out := make([]engine.LockToken, 0, len(all))
	for _, v := range all {
		id, ok := v.UUID()
		if !ok {
			return nil, invalidArgument(name, "an array of uuids")
		}
		out = append(out, engine.LockToken(id))
	}
	return out, nil
}

// sequenceNumbers returns the request's sequence-numbers.
func (a arguments) sequenceNumbers() ([]engine.Seq, error) {
	const name = "sequence-numbers"
	all, err := a.elements(name)
	if err != nil {
		return nil, err
	}
	out := make([]engine.Seq, 0, len(all))
	for _, v := range all {
		n, ok := integerOf(v)
		if !ok {
			return nil, invalidArgument(name, "an array of numbers")
		}
		out = append(out, engine.Seq(n))
	}
	return out, nil
}

// mapValue returns the map called name, or nil if it is absent or null.
func (a arguments) mapValue(name string) (value.Properties, error) {
	v, there := a.Lookup(name)
	if !there || v.Kind() == value.Null {
		return nil, nil
	}
	raw, ok := v.Bytes()
	if !ok || v.Kind() != value.Raw {
		return nil, invalidArgument(name, "a map")
	}
	out, err := wire.ParseMap(raw)
	if err != nil {
		return nil, invalidArgument(name, "a map")
	}
	return out, nil
}
