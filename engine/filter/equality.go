package filter

import (
	"math"
	"slices"
	"strings"

	"mayfly/engine/value"
)

// A need is one condition of a correlation filter.
type need struct {
	system system // unless own
	own    bool   // on an application property
	name   string // of that
	value  value.Value
}

// conditions are those of c, the system ones first, then the others by name.
func (c *Correlation) conditions() []need {
	var all []need
	for _, s := range conditional {
		if t := *c.text(s); t != "" {
			all = append(all, need{system: s, value: value.OfString(t)})
		}
	}
	first := len(all)
	for _, p := range c.Properties {
		all = append(all, need{own: true, name: p.Name, value: normal(p.Value)})
	}
	slices.SortStableFunc(all[first:], func(a, b need) int { return strings.Compare(a.name, b.name) })
	return all
}

// in is the value of m that n is about, normal.
func (n *need) in(m *Message) (value.Value, bool) {
	if !n.own {
		return m.system(n.system)
	}
	v, ok := m.Properties.LookupFold(n.name)
	return normal(v), ok
}

// Matches tells whether every condition holds for m: the texts are the same to
// the letter (FILT-14), the values of the same type and equal, where integers
// of all widths are of one type (FILT-15). A missing property equals nothing
// (FILT-16).
func (c *Correlation) Matches(m *Message) bool {
	some := len(c.Properties) > 0
	for _, s := range conditional {
		t := *c.text(s)
		if t != "" && t != *m.text(s) {
			return false
		}
		some = some || t != ""
	}
	for i := range c.Properties {
		v, ok := m.Properties.LookupFold(c.Properties[i].Name)
		if !ok || normal(v) != normal(c.Properties[i].Value) {
			return false
		}
	}
	return some
}

// Explain has one clause per condition.
func (c *Correlation) Explain(m *Message) []Clause {
	var clauses []Clause
	for _, n := range c.conditions() {
		r := Reading{Name: n.name}
		if !n.own {
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

// literal is v as SQL would write it, with its type where that is not plain.
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

// normal is the one value that stands for all that correlation filters take
// for equal to v: integers of one number, decimals of one width and number, and
// floats, where 0 is -0 and all NaNs are one.
func normal(v value.Value) value.Value {
	switch v.Kind() {
	case value.UByte, value.Byte, value.UShort, value.Short, value.UInt, value.Int, value.Long, value.ULong:
		if n, ok := v.Int64(); ok {
			return value.OfLong(n)
		}
		return v
	case value.Float:
		f, _ := v.Float32()
		return value.OfFloat(float32(plainZero(float64(f))))
	case value.Double:
		f, _ := v.Float64()
		return value.OfDouble(plainZero(f))
	case value.Decimal32, value.Decimal64, value.Decimal128:
		if n, err := value.Parse(v.Kind(), decimalNumber(v)); err == nil {
			return n
		}
		return v // so large or small that it can be written in few ways
	default:
		return v
	}
}

func plainZero(f float64) float64 {
	switch {
	case f != f:
		return math.NaN()
	case f == 0:
		return 0
	default:
		return f
	}
}
