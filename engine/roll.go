package engine

import (
	"cmp"
	"iter"
	"slices"
)

// A roll is sessions in the order of their ids. The zero roll is empty.
//
// INVARIANT: no chunk is empty or longer than chunkSize, and the chunks one
// after the other are sorted.
type roll struct{ chunks [][]*session }

func byID(s *session, id string) int { return cmp.Compare(s.id, id) }

// chunk is the first one that ends with id or a later one; there may be none.
func (r *roll) chunk(id string) int {
	i, _ := slices.BinarySearchFunc(r.chunks, id, func(c []*session, id string) int { return byID(c[len(c)-1], id) })
	return i
}

// add takes in one more session.
func (r *roll) add(s *session) {
	i := r.chunk(s.id)
	if i == len(r.chunks) { // after all others: the last chunk is filled, never split
		if i == 0 || len(r.chunks[i-1]) == chunkSize {
			r.chunks = append(r.chunks, []*session{s})
			return
		}
		r.chunks[i-1] = append(r.chunks[i-1], s)
		return
	}
	if c := r.chunks[i]; len(c) == chunkSize {
		const half = chunkSize / 2
		r.chunks = slices.Insert(r.chunks, i+1, slices.Clone(c[half:]))
		r.chunks[i] = slices.Clone(c[:half])
		if byID(c[half-1], s.id) < 0 {
			i++
		}
	}
	at, _ := slices.BinarySearchFunc(r.chunks[i], s.id, byID)
	r.chunks[i] = slices.Insert(r.chunks[i], at, s)
}

// remove takes a session out that is there.
func (r *roll) remove(s *session) {
	i := r.chunk(s.id)
	at, _ := slices.BinarySearchFunc(r.chunks[i], s.id, byID)
	r.chunks[i] = slices.Delete(r.chunks[i], at, at+1)
	switch n := len(r.chunks[i]); {
	case n == 0:
		r.chunks = tighten(slices.Delete(r.chunks, i, i+1))
	case n < chunkShort && i+1 < len(r.chunks) && n+len(r.chunks[i+1]) <= chunkMerged:
		r.join(i)
	case n < chunkShort && i > 0 && n+len(r.chunks[i-1]) <= chunkMerged:
		r.join(i - 1)
	}
}

// join puts chunk i+1 behind chunk i.
func (r *roll) join(i int) {
	r.chunks[i] = append(r.chunks[i], r.chunks[i+1]...)
	r.chunks = tighten(slices.Delete(r.chunks, i+1, i+2))
}

// from goes through the sessions from an id upwards. The roll must not change
// meanwhile.
func (r *roll) from(id string) iter.Seq[*session] {
	return func(yield func(*session) bool) {
		for i := r.chunk(id); i < len(r.chunks); i++ {
			c := r.chunks[i]
			at, _ := slices.BinarySearchFunc(c, id, byID)
			for _, s := range c[at:] {
				if !yield(s) {
					return
				}
			}
		}
	}
}
