package filter

// A search finds a piece of a pattern with the bitap algorithm: it keeps one bit for each character
// of the piece, which says whether the piece up to that character matches the text that ends at the
// present position. Its size is proportional to the length of the piece.
type search struct {
	length int
	any    []uint64          // positions of wildcards
	dense  map[rune][]uint64 // positions of a frequent character and of wildcards
	rare   map[rune][]int    // positions of other characters
}

func newSearch(runes []rune) *search {
	words := (len(runes) + 63) / 64
	f := &search{length: len(runes), any: make([]uint64, words), dense: map[rune][]uint64{}, rare: map[rune][]int{}}
	for i, r := range runes {
		if r == wildcard {
			f.any[i/64] |= 1 << (i % 64)
		} else {
			f.rare[r] = append(f.rare[r], i)
		}
	}
	for r, at := range f.rare {
		if len(at) < words {
			continue
		}
		fits := append([]uint64(nil), f.any...)
		for _, i := range at {
			fits[i/64] |= 1 << (i % 64)
		}
		f.dense[r] = fits
		delete(f.rare, r)
	}
	return f
}

// find returns the end of the first part of s that matches the piece.
func (f *search) find(s string) (end int, ok bool) {
	words := len(f.any)
	var few [32]uint64 // no allocation for pieces of common length
	all := few[:]
	if 2*words > len(all) {
		all = make([]uint64, 2*words)
	}
	state, next := all[:words], all[words:2*words]
	last, bit := (f.length-1)/64, uint64(1)<<((f.length-1)%64)
	for end < len(s) {
		r, size := decodeRune(s[end:])
		end += size
		fits, rare := f.dense[r], f.rare[r]
		if fits == nil {
			fits = f.any
		}
		carry := uint64(1) // an attempt begins at each character
		for i, w := range state {
			w, carry = w<<1|carry, w>>63
			state[i], next[i] = w, w&fits[i]
		}
		for _, i := range rare {
			next[i/64] |= state[i/64] & (1 << (i % 64))
		}
		state, next = next, state
		if state[last]&bit != 0 {
			return end, true
		}
	}
	return 0, false
}
