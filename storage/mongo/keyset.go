package mongo

import "mayfly/engine"

// A keySet is a set of mostly consecutive keys. Its zero value is empty.
type keySet struct{ words map[engine.Key]uint64 }

func (s *keySet) add(k engine.Key) {
	if s.words == nil {
		s.words = map[engine.Key]uint64{}
	}
	s.words[k/64] |= 1 << (k % 64)
}

func (s *keySet) has(k engine.Key) bool { return s.words[k/64]&(1<<(k%64)) != 0 }

func (s *keySet) remove(k engine.Key) {
	switch left := s.words[k/64] &^ (1 << (k % 64)); left {
	case 0:
		delete(s.words, k/64)
	default:
		s.words[k/64] = left
	}
}
