package value

import (
	"maps"
	"strings"
)

// A Property is one application property.
type Property struct {
	Name  string
	Value Value
}

// Properties are a message's application properties in the order in which the sender wrote them. A
// name occurs twice if the sender sent it twice. Properties are not changed after they were created,
// so they may be shared.
type Properties []Property

// Lookup returns the value of the first property called exactly name.
func (p Properties) Lookup(name string) (Value, bool) {
	for i := range p {
		if p[i].Name == name {
			return p[i].Value, true
		}
	}
	return Value{}, false
}

// LookupFold returns the value of the property called name, ignoring case, as filters do (MSG-4). If
// there are several, it prefers one called exactly name, and then the first.
func (p Properties) LookupFold(name string) (Value, bool) {
	if v, ok := p.Lookup(name); ok {
		return v, true
	}
	for i := range p {
		if strings.EqualFold(p[i].Name, name) {
			return p[i].Value, true
		}
	}
	return Value{}, false
}

// Merge returns a copy of p in which the properties of `over` replace those with the same names,
// and the others of `over` are appended (SETL-2). If a name occurs twice in `over`, the last value
// is used. It changes neither p nor `over`.
func (p Properties) Merge(over Properties) Properties {
	if len(p)+len(over) == 0 {
		return nil
	}
	latest := make(map[string]Value, len(over))
	for _, o := range over {
		latest[o.Name] = o.Value
	}
	left := maps.Clone(latest)
	out := make(Properties, 0, len(p)+len(over))
	for _, q := range p {
		if v, ok := latest[q.Name]; ok {
			q.Value = v
			delete(left, q.Name)
		}
		out = append(out, q)
	}
	for _, o := range over {
		if v, ok := left[o.Name]; ok {
			out = append(out, Property{o.Name, v})
			delete(left, o.Name)
		}
	}
	return out
}
