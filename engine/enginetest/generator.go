package enginetest

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"

	"mayfly/engine"
	"mayfly/engine/value"
)

// A Generator generates random records, the same ones for the same seed. It fills every exported
// field by reflection, so that a new field of a record is covered at once.
type Generator struct{ *rand.Rand }

// NewGenerator returns a Generator.
func NewGenerator(seed uint64) Generator { return Generator{rand.New(rand.NewPCG(seed, 0))} }

// OneIn returns true with a probability of one in n.
func (d Generator) OneIn(n int) bool { return d.IntN(n) == 0 }

// Fill sets every field of *v to a random value. About a quarter of the fields stay zero, but keys
// and subqueue ids never do. Texts may contain any bytes, and lists have up to three elements.
func (d Generator) Fill(v any) { d.any(reflect.ValueOf(v).Elem()) }

func (d Generator) any(v reflect.Value) {
	switch at := v.Addr().Interface().(type) {
	case *engine.Key:
		*at = engine.Key(d.identity())
		return
	case *engine.SubqueueID:
		*at = engine.SubqueueID(d.identity())
		return
	case *value.Properties:
		*at = d.properties()
		return
	case *engine.Packed:
		*at = engine.Packed(d.Text(200))
		return
	}
	if d.OneIn(4) {
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for _, f := range v.Fields() {
			d.any(f)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.any(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), d.IntN(4), 4))
		for i := range v.Len() {
			d.any(v.Index(i))
		}
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		v.SetString(d.Text(40))
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Int:
		v.SetInt(int64(d.Number()) >> (64 - v.Type().Bits()))
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uint:
		v.SetUint(d.Number() >> (64 - v.Type().Bits()))
	default:
		panic(fmt.Sprintf("a field of type %v", v.Type()))
	}
}

// Number returns a random number of any magnitude, including the extremes.
func (d Generator) Number() uint64 {
	switch n := d.Uint64(); d.IntN(6) {
	case 0:
		return 1 << 63 // the smallest signed number
	case 1:
		return 1<<63 - 1
	case 2:
		return ^uint64(0)
	default:
		return n >> d.IntN(64) << d.IntN(8)
	}
}

// identity returns a random number other than zero.
func (d Generator) identity() uint64 { return d.Number() | 1<<d.IntN(64) }

// Text returns up to n random bytes, which need not be UTF-8.
func (d Generator) Text(n int) string {
	b := make([]byte, d.IntN(n+1))
	for i := range b {
		b[i] = byte(d.Uint32())
	}
	return string(b)
}

// Name returns a random text with characters whose case can be folded.
func (d Generator) Name() string {
	var b strings.Builder
	for range 1 + d.IntN(12) {
		b.WriteRune([]rune("aBcÄéЖ09.-_$")[d.IntN(12)])
	}
	return b.String()
}

func (d Generator) properties() value.Properties {
	if d.OneIn(2) {
		return nil
	}
	p := make(value.Properties, 1+d.IntN(5))
	for i := range p {
		p[i] = value.Property{Name: d.Text(12), Value: d.value()}
	}
	return p
}

// value returns a random value of almost any kind.
func (d Generator) value() value.Value {
	n := d.Number()
	of := []func() value.Value{
		func() value.Value { return value.Value{} },
		func() value.Value { return value.OfBool(n%2 == 0) },
		func() value.Value { return value.OfUByte(uint8(n)) },
		func() value.Value { return value.OfByte(int8(n)) },
		func() value.Value { return value.OfChar(rune(n)) },
		func() value.Value { return value.OfUShort(uint16(n)) },
		func() value.Value { return value.OfShort(int16(n)) },
		func() value.Value { return value.OfUInt(uint32(n)) },
		func() value.Value { return value.OfInt(int32(n)) },
		func() value.Value { return value.OfULong(n) },
		func() value.Value { return value.OfLong(int64(n)) },
		func() value.Value { return value.OfFloat(float32(n)) },
		func() value.Value { return value.OfDouble(float64(n)) },
		func() value.Value { return value.OfDecimal32(uint32(n)) },
		func() value.Value { return value.OfDecimal64(n) },
		func() value.Value { return value.OfDecimal128([16]byte{byte(n), 15: byte(n >> 8)}) },
		func() value.Value { return value.OfString(d.Text(20)) },
		func() value.Value { return value.OfSymbol(d.Text(20)) },
		func() value.Value { return value.OfBinary([]byte(d.Text(20))) },
		func() value.Value { return value.OfUUID([16]byte{byte(n), 15: byte(n >> 8)}) },
		func() value.Value { return value.OfTimestamp(int64(n)) },
		func() value.Value { return value.OfTimespan(int64(n)) },
		func() value.Value { return value.OfURI(d.Text(20)) },
		func() value.Value { return value.OfDateTimeOffset(int64(n)) },
		func() value.Value { return value.OfRaw([]byte(d.Text(20))) },
	}
	return of[d.IntN(len(of))]()
}

// Bytes returns n random bytes.
func (d Generator) Bytes(n int) []byte {
	b := make([]byte, 0, n+8)
	for len(b) < n {
		b = binary.LittleEndian.AppendUint64(b, d.Uint64())
	}
	return b[:n:n]
}
