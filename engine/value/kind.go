package value

import (
	"fmt"
	"strings"

	"mayfly/engine/shorten"
)

// shape describes how values of a kind are stored.
type shape uint8

const (
	nothing  shape = iota
	unsigned       // in bits, at most max
	extended       // in bits as a signed number, from -max-1 to max
	fixed          // in Value.bits, with size bytes
	block          // in Value.str, with size bytes
	length         // in Value.str, with any number of bytes
)

// forms has the name of each kind and how its values are stored.
var forms = [kinds]struct {
	name  string
	shape shape
	max   uint64
	size  int
}{
	Null:           {name: "null", shape: nothing},
	Bool:           {name: "boolean", shape: unsigned, max: 1},
	UByte:          {name: "ubyte", shape: unsigned, max: 1<<8 - 1},
	Byte:           {name: "byte", shape: extended, max: 1<<7 - 1},
	Char:           {name: "char", shape: unsigned, max: 1<<32 - 1},
	UShort:         {name: "ushort", shape: unsigned, max: 1<<16 - 1},
	Short:          {name: "short", shape: extended, max: 1<<15 - 1},
	UInt:           {name: "uint", shape: unsigned, max: 1<<32 - 1},
	Int:            {name: "int", shape: extended, max: 1<<31 - 1},
	ULong:          {name: "ulong", shape: unsigned, max: 1<<64 - 1},
	Long:           {name: "long", shape: extended, max: 1<<63 - 1},
	Float:          {name: "float", shape: fixed, size: 4},
	Double:         {name: "double", shape: fixed, size: 8},
	Decimal32:      {name: "decimal32", shape: fixed, size: 4},
	Decimal64:      {name: "decimal64", shape: fixed, size: 8},
	Decimal128:     {name: "decimal128", shape: block, size: 16},
	String:         {name: "string", shape: length},
	Symbol:         {name: "symbol", shape: length},
	Binary:         {name: "binary", shape: length},
	UUID:           {name: "uuid", shape: block, size: 16},
	Timestamp:      {name: "timestamp", shape: extended, max: 1<<63 - 1},
	Timespan:       {name: "timespan", shape: extended, max: 1<<63 - 1},
	URI:            {name: "uri", shape: length},
	DateTimeOffset: {name: "datetime-offset", shape: extended, max: 1<<63 - 1},
	Raw:            {name: "raw", shape: length},
	DateTime:       {name: "datetime", shape: extended, max: 1<<63 - 1},
}

// String returns the name of k: for AMQP's types that of the type, such as "boolean" and "ushort";
// for described types the name without com.microsoft; and "raw" for all others.
func (k Kind) String() string {
	if k >= kinds {
		return fmt.Sprintf("kind %d", uint8(k))
	}
	return forms[k].name
}

// ParseKind returns the kind called name, ignoring case. It also accepts "bool" and the full
// names of the described types.
func ParseKind(name string) (Kind, error) {
	s := strings.TrimPrefix(strings.ToLower(name), "com.microsoft:")
	if s == "bool" {
		return Bool, nil
	}
	for k := range kinds {
		if forms[k].name == s {
			return k, nil
		}
	}
	return Null, fmt.Errorf("%q is not a type of property", shorten.Quote(name))
}

// Kinds returns every kind, in the order of their numbers.
func Kinds() []Kind {
	all := make([]Kind, kinds)
	for k := range kinds {
		all[k] = k
	}
	return all
}

func (k Kind) integer() bool { return k >= UByte && k <= Long && k != Char }

func (k Kind) signed() bool { return k < kinds && forms[k].shape == extended }
