package engine

import (
	"cmp"
	"slices"
)

// An alarm is the time at which a message expires, activates or unlocks. Judge decides then which of
// these happens.
// It holds no pointer, so that a million of them give the garbage collector nothing to scan.
type alarm struct {
	at  Instant
	seq Seq
}

func (a alarm) compare(b alarm) int {
	return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.seq, b.seq))
}

// alarms is a list of alarms sorted by time, then number. It may contain the same alarm more than
// once. The zero value is empty.
//
// INVARIANT: no chunk is empty or longer than chunkSize, the chunks one after
// the other are sorted, last[i] is the last of chunks[i], and n counts them all.
type alarms struct {
	last    []alarm
	chunks  [][]alarm
	n       int
	account *account // nil if the memory of chunks is not counted
	counted int64    // bytes that account counts for these chunks
}

const (
	chunkSize = 256
	// Neighbours are merged when one is short and both fit in a chunk with room to spare, so
	// that neither a split nor a merge is soon undone.
	chunkShort  = chunkSize / 4
	chunkMerged = chunkSize * 3 / 4
)

// len returns the number of alarms.
func (s *alarms) len() int { return s.n }

// first returns the soonest alarm; ok is false when there is none.
func (s *alarms) first() (a alarm, ok bool) {
	if s.n == 0 {
		return alarm{}, false
	}
	return s.chunks[0][0], true
}

// fill adds many alarms at once, in any order; s must be empty.
func (s *alarms) fill(all []alarm) {
	slices.SortFunc(all, alarm.compare)
	s.n = len(all)
	for part := range slices.Chunk(all, chunkMerged) {
		s.chunks = append(s.chunks, append(make([]alarm, 0, chunkSize), part...))
		s.last = append(s.last, part[len(part)-1])
	}
	s.count()
}

// count updates the account after a change. A chunk counts with the capacity of a full one, but a
// single chunk with its present capacity.
func (s *alarms) count() {
	takes := int64(len(s.chunks)) * chunkMemory
	if len(s.chunks) == 1 {
		takes = int64(cap(s.chunks[0])+1)*alarmMemory + 24
	}
	if takes != s.counted {
		s.account.add(takes - s.counted)
		s.counted = takes
	}
}

// add inserts one alarm.
func (s *alarms) add(at Instant, seq Seq) {
	s.insert(alarm{at, seq})
	s.count()
}

func (s *alarms) insert(a alarm) {
	s.n++
	i := s.chunk(a)
	if i == len(s.chunks) { // after all others: the last chunk is filled, never split
		if i == 0 || len(s.chunks[i-1]) == chunkSize {
			s.chunks = append(s.chunks, []alarm{a})
			s.last = append(s.last, a)
			return
		}
		s.chunks[i-1] = append(s.chunks[i-1], a)
		s.last[i-1] = a
		return
	}
	if c := s.chunks[i]; len(c) == chunkSize {
		const half = chunkSize / 2
		s.chunks = slices.Insert(s.chunks, i+1, slices.Clone(c[half:]))
		s.last = slices.Insert(s.last, i, c[half-1])
		s.chunks[i] = c[:half]
		if a.compare(c[half-1]) > 0 {
			i++
		}
	}
	c := s.chunks[i]
	j, _ := slices.BinarySearchFunc(c, a, alarm.compare)
	s.chunks[i] = slices.Insert(c, j, a)
	s.last[i] = s.chunks[i][len(c)]
}

// remove removes one alarm with this time and number, and reports whether there was one.
func (s *alarms) remove(at Instant, seq Seq) bool {
	a := alarm{at, seq}
	i := s.chunk(a)
	if i == len(s.chunks) {
		return false
	}
	c := s.chunks[i]
	j, ok := slices.BinarySearchFunc(c, a, alarm.compare)
	if !ok {
		return false
	}
	s.n--
	c = slices.Delete(c, j, j+1)
	s.chunks[i] = c
	switch {
	case len(c) == 0:
		s.cut(i)
	case len(c) >= chunkShort:
		s.last[i] = c[len(c)-1]
	case i+1 < len(s.chunks) && len(c)+len(s.chunks[i+1]) <= chunkMerged:
		s.join(i)
	case i > 0 && len(c)+len(s.chunks[i-1]) <= chunkMerged:
		s.last[i] = c[len(c)-1]
		s.join(i - 1)
	default:
		s.last[i] = c[len(c)-1]
	}
	s.count()
	return true
}

// join appends chunk i+1 to chunk i.
func (s *alarms) join(i int) {
	s.chunks[i] = append(s.chunks[i], s.chunks[i+1]...)
	s.last[i] = s.last[i+1]
	s.cut(i + 1)
}

// cut removes chunk i.
func (s *alarms) cut(i int) {
	s.chunks = shrinkSlice(slices.Delete(s.chunks, i, i+1))
	s.last = shrinkSlice(slices.Delete(s.last, i, i+1))
}

// countBefore returns how many alarms have a time before `at`. It adds the lengths of whole chunks
// and searches only one chunk.
func (s *alarms) countBefore(at Instant) int {
	i, n := s.before(at)
	if i > len(s.chunks)/2 {
		n = s.n + n
		for _, c := range s.chunks[i:] {
			n -= len(c)
		}
		return n
	}
	for _, c := range s.chunks[:i] {
		n += len(c)
	}
	return n
}

// chunk returns the index of the first chunk that ends with a or later, or len(s.chunks) if none
// does.
func (s *alarms) chunk(a alarm) int {
	i, _ := slices.BinarySearchFunc(s.last, a, alarm.compare)
	return i
}

// before returns the position of the first alarm whose time is `at` or later, as the index of a
// chunk and the index in it; if there is none, it returns the position behind the last chunk.
func (s *alarms) before(at Instant) (i, j int) {
	earlier := func(a alarm, at Instant) int { return cmp.Compare(a.at, at) }
	i, _ = slices.BinarySearchFunc(s.last, at, earlier)
	if i == len(s.chunks) {
		return i, 0
	}
	j, _ = slices.BinarySearchFunc(s.chunks[i], at, earlier)
	return i, j
}

// from returns the position of the first alarm that is a or later, as before does.
func (s *alarms) from(a alarm) (i, j int) {
	if i = s.chunk(a); i == len(s.chunks) {
		return i, 0
	}
	j, _ = slices.BinarySearchFunc(s.chunks[i], a, alarm.compare)
	return i, j
}
