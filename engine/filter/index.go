package filter

import (
	"encoding/binary"
	"hash/maphash"
	"slices"

	"mayfly/engine/value"
)

// An Index finds the filters that match a message among many correlation filters. The cost grows
// with the number of different sets of properties that they use, not with the number of filters
// (FILT-18). The zero Index is empty.
type Index[T comparable] struct {
	seed   maphash.Seed
	groups []*group[T]
	byKeys map[string]int // indexes in groups
	count  int
}

// A group holds the filters that use the same set of properties, by the hash of the values that they
// require.
type group[T comparable] struct {
	keys   []requirement // without values
	name   string        // its key in byKeys
	filter map[uint64][]entry[T]
}

type entry[T comparable] struct {
	wants []value.Value
	t     T
}

// Add adds the filter c, which Match reports as t. A filter without conditions matches nothing. The
// same c may be added with several t, and the same t with several c.
func (x *Index[T]) Add(c *Correlation, t T) {
	if x.byKeys == nil {
		x.seed, x.byKeys = maphash.MakeSeed(), map[string]int{}
	}
	name, keys, wants := parts(c)
	i, ok := x.byKeys[name]
	if !ok {
		i = len(x.groups)
		x.byKeys[name] = i
		x.groups = append(x.groups, &group[T]{keys: keys, name: name, filter: map[uint64][]entry[T]{}})
	}
	h := x.hash(wants)
	g := x.groups[i]
	g.filter[h] = append(g.filter[h], entry[T]{wants, t})
	x.count++
}

// Remove removes one filter that was added with an equal c and t, if there is one.
func (x *Index[T]) Remove(c *Correlation, t T) {
	name, _, wants := parts(c)
	i, ok := x.byKeys[name]
	if !ok {
		return
	}
	g, h := x.groups[i], x.hash(wants)
	all := g.filter[h]
	at := slices.IndexFunc(all, func(e entry[T]) bool { return e.t == t && slices.Equal(e.wants, wants) })
	if at < 0 {
		return
	}
	x.count--
	if len(all) > 1 {
		g.filter[h] = slices.Delete(all, at, at+1)
		return
	}
	delete(g.filter, h)
	if len(g.filter) > 0 {
		return
	}
	last := len(x.groups) - 1
	x.groups[i] = x.groups[last]
	x.byKeys[x.groups[i].name] = i
	x.groups[last] = nil
	x.groups = x.groups[:last]
	delete(x.byKeys, name)
}

// Len returns the number of filters.
func (x *Index[T]) Len() int { return x.count }

// Match calls `found` for each filter that matches m, with the t of its Add, in no particular
// order. `found` must not change x.
func (x *Index[T]) Match(m *Message, found func(T)) {
	var few [8]value.Value // no allocation for filters of common size
	for _, g := range x.groups {
		has, ok := few[:0], len(g.keys) > 0
		for i := range g.keys {
			var v value.Value
			if v, ok = g.keys[i].in(m); !ok {
				break
			}
			has = append(has, v)
		}
		if !ok {
			continue
		}
		for _, e := range g.filter[x.hash(has)] {
			if slices.Equal(e.wants, has) {
				found(e.t)
			}
		}
	}
}

func (x *Index[T]) hash(values []value.Value) uint64 {
	type step struct {
		before uint64
		value  value.Value
	}
	var h uint64
	for _, v := range values {
		h = maphash.Comparable(x.seed, step{h, v})
	}
	return h
}

// parts returns the properties that c uses, a name for the set of them, and the values that it
// requires. Names that differ only in case are different, since the case decides which property of
// a message is found (MSG-4).
func parts(c *Correlation) (name string, keys []requirement, wants []value.Value) {
	var b []byte
	for _, n := range c.conditions() {
		if n.application {
			b = append(b, 0xff)
			b = binary.AppendUvarint(b, uint64(len(n.name)))
			b = append(b, n.name...)
		} else {
			b = append(b, byte(n.system))
		}
		wants = append(wants, n.value)
		n.value = value.Value{}
		keys = append(keys, n)
	}
	return string(b), keys, wants
}
