package filter

import (
	"math"
	"math/big"
	"slices"
	"strings"

	"mayfly/engine/value"
)

// A requirement is one condition of a correlation filter.
type requirement struct {
	system      system // unless application
	application bool   // on an application property
	name        string // of an application property
	value       value.Value
}

// conditions returns the conditions of c, first those on system properties, then the others by name.
func (c *Correlation) conditions() []requirement {
	var all []requirement
	for _, s := range filterableProperties {
		if t := *c.text(s); t != "" {
			all = append(all, requirement{system: s, value: value.OfString(t)})
		}
	}
	first := len(all)
	for _, p := range c.Properties {
		all = append(all, requirement{application: true, name: p.Name, value: normalize(p.Value)})
	}
	slices.SortStableFunc(all[first:], func(a, b requirement) int { return strings.Compare(a.name, b.name) })
	return all
}

// in returns the normal form of the value in m of the property that n is about.
func (n *requirement) in(m *Message) (value.Value, bool) {
	if !n.application {
		return m.system(n.system)
	}
	v, ok := m.Properties.LookupFold(n.name)
	return normalize(v), ok
}

// Matches reports whether every condition holds for m: texts are compared exactly, including
// case (FILT-14), values by type and value, where all numbers are of one type (FILT-15). A
// missing property equals nothing (FILT-16).
func (c *Correlation) Matches(m *Message) bool {
	some := len(c.Properties) > 0
	for _, s := range filterableProperties {
		t := *c.text(s)
		if t != "" && t != *m.text(s) {
			return false
		}
		some = some || t != ""
	}
	for i := range c.Properties {
		v, ok := m.Properties.LookupFold(c.Properties[i].Name)
		if !ok || normalize(v) != normalize(c.Properties[i].Value) {
			return false
		}
	}
	return some
}

// Explain returns one clause per condition.
func (c *Correlation) Explain(m *Message) []Clause {
	var clauses []Clause
	for _, n := range c.conditions() {
		r := Reading{Name: n.name}
		if !n.application {
			r.Name = "sys." + n.system.String()
			r.Value, r.Missing = missing(m.system(n.system))
		} else {
			r.Value, r.Missing = missing(m.Properties.LookupFold(n.name))
		}
		v, ok := n.in(m)
		clauses = append(clauses, Clause{
			Text: r.Name + " = " + literal(n.value), Result: truth(ok && v == n.value), Reads: []Reading{r},
		})
	}
	return clauses
}

func missing(v value.Value, ok bool) (value.Value, bool) { return v, !ok }

// literal returns v as a literal in SQL, followed by its type if that is not obvious.
func literal(v value.Value) string {
	switch v.Kind() {
	case value.String:
		return "'" + strings.ReplaceAll(v.Text(), "'", "''") + "'"
	case value.Long, value.Bool, value.Null:
		return v.String()
	default:
		return v.String() + " (" + v.Kind().String() + ")"
	}
}

// normalize returns the same value for all values that correlation filters consider equal: numbers
// of every type with the same value, exactly if they are integers and as doubles otherwise, where 0
// equals -0 and all NaNs are equal; and moments of every type with the same ticks.
func normalize(v value.Value) value.Value {
	switch v.Kind() {
	case value.UByte, value.Byte, value.UShort, value.Short, value.UInt, value.Int, value.Long, value.ULong:
		if n, ok := v.Int64(); ok {
			return value.OfLong(n)
		}
		return v
	case value.Float, value.Double:
		f, _ := v.Float64()
		return normalizeDouble(f)
	case value.Decimal32, value.Decimal64, value.Decimal128:
		if r, ok := new(big.Rat).SetString(decimalNumber(v)); ok && r.IsInt() {
			switch n := r.Num(); {
			case n.IsInt64():
				return value.OfLong(n.Int64())
			case n.IsUint64():
				return value.OfULong(n.Uint64())
			}
		}
		return normalizeDouble(decimalDouble(v))
	case value.DateTime, value.DateTimeOffset: // moments, by their ticks; a timestamp has milliseconds
		n, _ := v.Ticks()
		if ms := floorDivide(n, ticksPerMilli); n == ms*ticksPerMilli {
			return value.OfTimestamp(ms - millisToUnix)
		}
		return value.OfDateTime(n, true)
	default:
		return v
	}
}

// normalizeDouble returns f as an integer if it is one that fits into 64 bits. It returns the same
// value for all NaNs.
func normalizeDouble(f float64) value.Value {
	switch {
	case f != f:
		return value.OfDouble(math.NaN())
	case f != math.Trunc(f):
		return value.OfDouble(f)
	case f >= -1<<63 && f < 1<<63:
		return value.OfLong(int64(f))
	case f > 0 && f < 1<<64:
		return value.OfULong(uint64(f))
	default:
		return value.OfDouble(f)
	}
}
