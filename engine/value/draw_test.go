package value

import (
	"encoding/binary"
	"math"

	"pgregory.net/rapid"
)

// anyValue draws values of every kind with every bit pattern of the kind, preferring extreme
// ones.
func anyValue() *rapid.Generator[Value] {
	return rapid.Custom(func(t *rapid.T) Value {
		v := Value{kind: Kind(rapid.IntRange(0, int(kinds)-1).Draw(t, "kind"))}
		switch f := forms[v.kind]; f.shape {
		case unsigned:
			v.bits = rapid.Uint64Range(0, f.max).Draw(t, "unsigned")
		case extended:
			v.bits = uint64(rapid.Int64Range(-int64(f.max)-1, int64(f.max)).Draw(t, "signed"))
		case fixed:
			v.bits = anyBits(t) >> (64 - 8*f.size)
		case block:
			var b [16]byte
			binary.BigEndian.PutUint64(b[:], anyBits(t))
			binary.BigEndian.PutUint64(b[8:], rapid.Uint64().Draw(t, "low"))
			v.str = string(b[:])
		case length:
			if rapid.Bool().Draw(t, "valid") {
				v.str = rapid.String().Draw(t, "text")
			} else {
				v.str = string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
			}
		}
		return v
	})
}

func anyBits(t *rapid.T) uint64 {
	return rapid.OneOf(
		rapid.Uint64(),
		rapid.Map(rapid.Float64(), math.Float64bits),
		rapid.Map(rapid.Uint64(), func(u uint64) uint64 { return 0x7ff0<<48 | u>>16 }),
		rapid.Map(rapid.Uint64Range(0, 1<<20), func(u uint64) uint64 { return 0x31<<56 | u }), // decimals as users write them
	).Draw(t, "bits")
}

func anyProperties() *rapid.Generator[Properties] {
	return rapid.Custom(func(t *rapid.T) Properties {
		return rapid.SliceOf(rapid.Custom(func(t *rapid.T) Property {
			return Property{rapid.StringN(0, 4, -1).Draw(t, "name"), anyValue().Draw(t, "value")}
		})).Draw(t, "properties")
	})
}
