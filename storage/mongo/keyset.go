package mongo

import "mayfly/engine"

// A keyset is a set of keys that mostly follow each other. Its zero value is
// empty.
type keyset struct{ words map[engine.Key]uint64 }

func (s *keyset) add(k engine.Key) {
	if s.words == nil {
		s.words = map[engine.Key]uint64{}
	}
	s.words[k/64] |= 1 << (k % 64)
}

func (s *keyset) has(k engine.Key) bool { return s.words[k/64]&(1<<(k%64)) != 0 }

func (s *keyset) remove(k engine.Key) {
	switch left := s.words[k/64] &^ (1 << (k % 64)); left {
	case 0:
		delete(s.words, k/64)
	default:
		s.words[k/64] = left
	}
}
