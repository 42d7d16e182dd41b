package engine

import (
	"iter"
	"math"
	"math/bits"
	"slices"
)

// An order holds messages by sequence number and knows which are ready to be
// received. It is a trie over six bits of the number at a time, in which only
// what is there takes room: 9 bytes a message when the numbers are dense, about
// a hundred when each is alone. Every step costs the few levels that the
// highest number needs, four at a million, wherever the number lies. The zero
// order is empty. Numbers below zero are never there.
type order struct {
	root  *page // nil when empty
	level uint  // of root; its pages begin at level 0
	total int
	able  int // how many are ready
}

// A page is 64 numbers at level 0, or at level n 64 pages of level n-1. Message
// or page i is at place popcount(there below i), if bit i is there.
//
// INVARIANT: a page above level 0 has a ready bit exactly for those pages under
// it that have one, and there is no page without a bit there.
type page struct {
	there, ready uint64
	pages        []*page    // above level 0
	msgs         []*message // at level 0
}

// topLevel is the level whose pages hold every number there is.
const topLevel = 10

func (p *page) place(i uint) int { return bits.OnesCount64(p.there & (1<<i - 1)) }

func (p *page) has(i uint) bool { return p.there>>i&1 != 0 }

// digit is which of the 64 of a page of this level seq belongs to.
func digit(seq Seq, level uint) uint { return uint(seq>>(6*level)) & 63 }

// len is how many messages there are.
func (o *order) len() int { return o.total }

// ready is how many messages are ready.
func (o *order) ready() int { return o.able }

// put takes m in, not ready, in place of the one of the same number if there
// is one. Its number must not change while it is there.
func (o *order) put(m *message) {
	if m.Seq < 0 {
		panic("a sequence number is negative")
	}
	if o.root == nil {
		o.root, o.level = &page{}, 0
	}
	for o.level < topLevel && m.Seq>>(6*(o.level+1)) != 0 {
		top := &page{}
		if o.root.there != 0 {
			top.there, top.pages = 1, []*page{o.root}
			if o.root.ready != 0 {
				top.ready = 1
			}
		}
		o.root = top
		o.level++
	}
	p := o.root
	for level := o.level; level > 0; level-- {
		i := digit(m.Seq, level)
		at := p.place(i)
		if !p.has(i) {
			p.there |= 1 << i
			p.pages = slices.Insert(p.pages, at, &page{})
		}
		p = p.pages[at]
	}
	i := digit(m.Seq, 0)
	if p.has(i) {
		o.setReady(m.Seq, false)
		p.msgs[p.place(i)] = m
		return
	}
	p.msgs = slices.Insert(p.msgs, p.place(i), m)
	p.there |= 1 << i
	o.total++
}

// drop lets go of the message seq, if there is one.
func (o *order) drop(seq Seq) {
	if o.at(seq) == nil {
		return
	}
	o.setReady(seq, false)
	path := o.path(seq)
	for level := uint(0); level <= o.level; level++ {
		p, i := path[level], digit(seq, level)
		at := p.place(i)
		p.there &^= 1 << i
		if level == 0 {
			p.msgs = tighten(slices.Delete(p.msgs, at, at+1))
		} else {
			p.pages = tighten(slices.Delete(p.pages, at, at+1))
		}
		if p.there != 0 {
			break
		}
	}
	if o.total--; o.total == 0 {
		o.root, o.level = nil, 0
		return
	}
	for o.level > 0 && o.root.there == 1 {
		o.root = o.root.pages[0]
		o.level--
	}
}

// tighten gives room back when most of it has become empty.
func tighten[T any](s []T) []T {
	if cap(s) <= 4 || len(s)*4 > cap(s) {
		return s
	}
	return append(make([]T, 0, 2*len(s)), s...)
}

// at is the message seq, nil if there is none.
func (o *order) at(seq Seq) *message {
	p := o.leaf(seq)
	if p == nil || !p.has(digit(seq, 0)) {
		return nil
	}
	return p.msgs[p.place(digit(seq, 0))]
}

// within tells whether seq is a number that the root could hold.
func (o *order) within(seq Seq) bool {
	return o.root != nil && seq >= 0 && (o.level == topLevel || seq>>(6*(o.level+1)) == 0)
}

// leaf is the page of level 0 that seq is in, nil if there is none.
func (o *order) leaf(seq Seq) *page {
	if !o.within(seq) {
		return nil
	}
	p := o.root
	for level := o.level; level > 0; level-- {
		i := digit(seq, level)
		if !p.has(i) {
			return nil
		}
		p = p.pages[p.place(i)]
	}
	return p
}

// path is the page of each level that seq is in; all of them must be there.
func (o *order) path(seq Seq) (path [topLevel + 1]*page) {
	p := o.root
	for level := o.level; level > 0; level-- {
		path[level] = p
		p = p.pages[p.place(digit(seq, level))]
	}
	path[0] = p
	return path
}

// setReady says whether the message seq may be received. Without such a message
// it does nothing.
func (o *order) setReady(seq Seq, ready bool) {
	p, i := o.leaf(seq), digit(seq, 0)
	if p == nil || !p.has(i) || p.ready>>i&1 != 0 == ready {
		return
	}
	if ready {
		o.able++
	} else {
		o.able--
	}
	// The pages above learn of it only when the first comes or the last goes.
	before := p.ready
	p.ready ^= 1 << i
	if before != 0 && p.ready != 0 {
		return
	}
	path := o.path(seq)
	for level := uint(1); level <= o.level; level++ {
		p, i := path[level], digit(seq, level)
		before := p.ready
		p.ready ^= 1 << i
		if before != 0 && p.ready != 0 {
			return
		}
	}
}

// first is the ready message with the lowest number, nil if none is ready.
func (o *order) first() *message {
	p := o.root
	if p == nil || p.ready == 0 {
		return nil
	}
	for level := o.level; level > 0; level-- {
		p = p.pages[p.place(uint(bits.TrailingZeros64(p.ready)))]
	}
	return p.msgs[p.place(uint(bits.TrailingZeros64(p.ready)))]
}

// readyFrom goes through the ready messages from number seq upwards, without a
// look at the others. The order may change meanwhile, as for from.
func (o *order) readyFrom(seq Seq) iter.Seq[*message] {
	return func(yield func(*message) bool) {
		for next := max(seq, 0); next >= 0 && o.within(next); { // below zero after the highest number there is
			m := o.root.firstFrom(o.level, next)
			if m == nil {
				return
			}
			next = m.Seq + 1
			if !yield(m) {
				return
			}
		}
	}
}

// firstFrom looks at the digits of seq from level down.
func (p *page) firstFrom(level uint, seq Seq) *message {
	i := digit(seq, level)
	for rest := p.ready & (^uint64(0) << i); rest != 0; rest &= rest - 1 {
		next := uint(bits.TrailingZeros64(rest))
		at := p.place(next)
		if level == 0 {
			return p.msgs[at]
		}
		if next != i {
			seq = 0
		}
		if m := p.pages[at].firstFrom(level-1, seq); m != nil {
			return m
		}
	}
	return nil
}

// last is the message with the highest number, ready or not; nil if there is
// none.
func (o *order) last() *message {
	p, at := o.floor(math.MaxInt64)
	if p == nil {
		return nil
	}
	return p.msgs[p.place(digit(at, 0))]
}

// from goes through the messages from number seq upwards, ready or not. The
// order may change meanwhile, even in what is being visited: whatever is there
// when its turn comes is seen.
func (o *order) from(seq Seq) iter.Seq[*message] {
	return func(yield func(*message) bool) {
		for next := max(seq, 0); next >= 0; { // below zero after the highest number there is
			p, at := o.ceiling(next)
			if p == nil {
				return
			}
			// A page that empties is given up, and a new one may take its place; but
			// one that is not empty is the one in place.
			for rest := p.there >> digit(at, 0) << digit(at, 0); rest != 0; {
				i := uint(bits.TrailingZeros64(rest))
				next = at&^63 + Seq(i) + 1
				if !yield(p.msgs[p.place(i)]) {
					return
				}
				rest = p.there & (^uint64(0) << i << 1)
			}
		}
	}
}

// back goes through the messages from number seq downwards, as from does
// upwards.
func (o *order) back(seq Seq) iter.Seq[*message] {
	return func(yield func(*message) bool) {
		for next := seq; next >= 0; {
			p, at := o.floor(next)
			if p == nil {
				return
			}
			for rest := p.there & (1<<(digit(at, 0)+1) - 1); rest != 0; {
				i := uint(bits.Len64(rest)) - 1
				next = at&^63 + Seq(i) - 1
				if !yield(p.msgs[p.place(i)]) {
					return
				}
				rest = p.there & (1<<i - 1)
			}
		}
	}
}

// ceiling is the lowest number there that is at least seq, which is not
// negative, and the page of level 0 it is in; no page if there is none.
func (o *order) ceiling(seq Seq) (*page, Seq) {
	if !o.within(seq) {
		return nil, 0
	}
	return o.root.ceiling(o.level, seq)
}

// floor is the highest number there that is at most seq, which is not negative.
func (o *order) floor(seq Seq) (*page, Seq) {
	if o.root == nil {
		return nil, 0
	}
	if !o.within(seq) {
		seq = -1 // every digit is 63
	}
	return o.root.floor(o.level, seq)
}

// ceiling looks at the digits of seq from level down, and so does floor.
func (p *page) ceiling(level uint, seq Seq) (leaf *page, at Seq) {
	i := digit(seq, level)
	if level > 0 && p.has(i) {
		if leaf, at = p.pages[p.place(i)].ceiling(level-1, seq); leaf != nil {
			return leaf, Seq(i)<<(6*level) | at
		}
	}
	rest := p.there & (^uint64(0) << i)
	if level > 0 {
		rest &^= 1 << i
	}
	if rest == 0 {
		return nil, 0
	}
	i = uint(bits.TrailingZeros64(rest))
	if level == 0 {
		return p, Seq(i)
	}
	leaf, at = p.pages[p.place(i)].ceiling(level-1, 0)
	return leaf, Seq(i)<<(6*level) | at
}

func (p *page) floor(level uint, seq Seq) (leaf *page, at Seq) {
	i := digit(seq, level)
	if level > 0 && p.has(i) {
		if leaf, at = p.pages[p.place(i)].floor(level-1, seq); leaf != nil {
			return leaf, Seq(i)<<(6*level) | at
		}
	}
	rest := p.there & (1<<(i+1) - 1)
	if level > 0 {
		rest &^= 1 << i
	}
	if rest == 0 {
		return nil, 0
	}
	i = uint(bits.Len64(rest)) - 1
	if level == 0 {
		return p, Seq(i)
	}
	leaf, at = p.pages[p.place(i)].floor(level-1, -1)
	return leaf, Seq(i)<<(6*level) | at
}
