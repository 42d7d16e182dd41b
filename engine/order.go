package engine

import (
	"iter"
	"math"
	"math/bits"
	"slices"
)

// An order holds messages by sequence number, with a bit for each that is ready to be
// received. It is a trie over six bits of the number at a time, in which only existing
// entries take memory: 9 bytes a message when the numbers are dense, about a hundred when
// each is alone. Every operation visits as many levels as the highest number needs, for example
// four if that is a million. The zero order is empty. It contains no negative numbers.
type order struct {
	root       *page // nil when empty
	level      uint  // the level of root; pages of level 0 hold messages
	total      int
	readyCount int      // how many are ready
	account    *account // of its pages and lists; nil if they are not counted
}

// A page holds up to 64 messages at level 0, or up to 64 pages of level n-1 at level n. Message or
// page i exists if bit i of present is set; its index is the number of bits set below i.
//
// INVARIANT: a page above level 0 has a ready bit exactly for the pages under it that have
// one, and no page is empty.
type page struct {
	present, ready uint64
	pages          []*page    // above level 0
	msgs           []*message // at level 0
}

// maxLevel is the level whose pages can hold every number.
const maxLevel = 10

func (p *page) index(i uint) int { return bits.OnesCount64(p.present & (1<<i - 1)) }

func (p *page) has(i uint) bool { return p.present>>i&1 != 0 }

// digit returns which of the 64 entries of a page of this level seq belongs to.
func digit(seq Seq, level uint) uint { return uint(seq>>(6*level)) & 63 }

// len returns how many messages there are.
func (o *order) len() int { return o.total }

// ready returns how many messages are ready.
func (o *order) ready() int { return o.readyCount }

// put adds m, marked as not ready, and replaces the message with the same number if there is one. The
// number of m must not change while it is in o.
func (o *order) put(m *message) {
	if m.Seq < 0 {
		panic("a sequence number is negative")
	}
	if o.root == nil {
		o.root, o.level = &page{}, 0
		o.account.add(pageMemory)
	}
	for o.level < maxLevel && m.Seq>>(6*(o.level+1)) != 0 {
		top := &page{}
		if o.root.present == 0 { // the root was made just now
			o.account.add(-pageMemory)
		}
		o.account.add(pageMemory)
		if o.root.present != 0 {
			top.present, top.pages = 1, []*page{o.root}
			o.account.add(pointerMemory)
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
		at := p.index(i)
		if !p.has(i) {
			p.present |= 1 << i
			had := cap(p.pages)
			p.pages = slices.Insert(p.pages, at, &page{})
			o.account.add(pageMemory + pointerMemory*int64(cap(p.pages)-had))
		}
		p = p.pages[at]
	}
	i := digit(m.Seq, 0)
	if p.has(i) {
		o.setReady(m.Seq, false)
		p.msgs[p.index(i)] = m
		return
	}
	had := cap(p.msgs)
	p.msgs = slices.Insert(p.msgs, p.index(i), m)
	o.account.add(pointerMemory * int64(cap(p.msgs)-had))
	p.present |= 1 << i
	o.total++
}

// drop removes the message with number seq, if there is one.
func (o *order) drop(seq Seq) {
	if o.at(seq) == nil {
		return
	}
	o.setReady(seq, false)
	path := o.path(seq)
	for level := uint(0); level <= o.level; level++ {
		p, i := path[level], digit(seq, level)
		at := p.index(i)
		p.present &^= 1 << i
		had := p.lists()
		if level == 0 {
			p.msgs = shrinkSlice(slices.Delete(p.msgs, at, at+1))
		} else {
			p.pages = shrinkSlice(slices.Delete(p.pages, at, at+1))
		}
		if p.present != 0 {
			o.account.add(pointerMemory * int64(p.lists()-had))
			break
		}
		o.account.add(-pageMemory - pointerMemory*int64(had))
	}
	if o.total--; o.total == 0 {
		o.root, o.level = nil, 0
		return
	}
	for o.level > 0 && o.root.present == 1 {
		o.account.add(-pageMemory - pointerMemory*int64(o.root.lists()))
		o.root = o.root.pages[0]
		o.level--
	}
}

// lists returns how many pointers p has capacity for.
func (p *page) lists() int { return cap(p.pages) + cap(p.msgs) }

// shrinkSlice copies s to a smaller array when most of its capacity is unused.
func shrinkSlice[T any](s []T) []T {
	if cap(s) <= 4 || len(s)*4 > cap(s) {
		return s
	}
	return append(make([]T, 0, 2*len(s)), s...)
}

// at returns the message with number seq, or nil if there is none.
func (o *order) at(seq Seq) *message {
	p := o.leaf(seq)
	if p == nil || !p.has(digit(seq, 0)) {
		return nil
	}
	return p.msgs[p.index(digit(seq, 0))]
}

// inRange reports whether seq is a number that the root could hold.
func (o *order) inRange(seq Seq) bool {
	return o.root != nil && seq >= 0 && (o.level == maxLevel || seq>>(6*(o.level+1)) == 0)
}

// leaf returns the page of level 0 for seq, or nil if there is none.
func (o *order) leaf(seq Seq) *page {
	if !o.inRange(seq) {
		return nil
	}
	p := o.root
	for level := o.level; level > 0; level-- {
		i := digit(seq, level)
		if !p.has(i) {
			return nil
		}
		p = p.pages[p.index(i)]
	}
	return p
}

// path returns, by level, the pages on the way to seq; all of them must exist.
func (o *order) path(seq Seq) (path [maxLevel + 1]*page) {
	p := o.root
	for level := o.level; level > 0; level-- {
		path[level] = p
		p = p.pages[p.index(digit(seq, level))]
	}
	path[0] = p
	return path
}

// setReady sets whether the message with number seq is ready to be received. If there is no such
// message, it does nothing.
func (o *order) setReady(seq Seq, ready bool) {
	p, i := o.leaf(seq), digit(seq, 0)
	if p == nil || !p.has(i) || p.ready>>i&1 != 0 == ready {
		return
	}
	if ready {
		o.readyCount++
	} else {
		o.readyCount--
	}
	// The pages above change only when the first ready bit is set or the last one cleared.
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

// first returns the ready message with the lowest number, or nil if none is ready.
func (o *order) first() *message {
	p := o.root
	if p == nil || p.ready == 0 {
		return nil
	}
	for level := o.level; level > 0; level-- {
		p = p.pages[p.index(uint(bits.TrailingZeros64(p.ready)))]
	}
	return p.msgs[p.index(uint(bits.TrailingZeros64(p.ready)))]
}

// readyFrom iterates over the ready messages from number seq upwards, without visiting
// others. Messages may be added and removed during the iteration, as for from.
func (o *order) readyFrom(seq Seq) iter.Seq[*message] {
	return func(yield func(*message) bool) {
		for next := max(seq, 0); next >= 0 && o.inRange(next); { // negative after the highest possible number
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

// firstFrom returns the first ready message under p with number seq or higher, or nil if there is
// none. p is a page of the given level, so only the digits of seq from that level down matter.
func (p *page) firstFrom(level uint, seq Seq) *message {
	i := digit(seq, level)
	for rest := p.ready & (^uint64(0) << i); rest != 0; rest &= rest - 1 {
		next := uint(bits.TrailingZeros64(rest))
		at := p.index(next)
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

// last returns the message with the highest number, ready or not, or nil if there is none.
func (o *order) last() *message {
	p, at := o.floor(math.MaxInt64)
	if p == nil {
		return nil
	}
	return p.msgs[p.index(digit(at, 0))]
}

// from iterates over the messages from number seq upwards, ready or not. Messages may be added
// and removed during the iteration, even near the current message: a message is yielded if it
// exists when the iteration reaches its number.
func (o *order) from(seq Seq) iter.Seq[*message] {
	return func(yield func(*message) bool) {
		for next := max(seq, 0); next >= 0; { // negative after the highest possible number
			p, at := o.ceiling(next)
			if p == nil {
				return
			}
			// A page that becomes empty is discarded, and a new one may replace it; but one
			// that is not empty is still in use.
			for rest := p.present >> digit(at, 0) << digit(at, 0); rest != 0; {
				i := uint(bits.TrailingZeros64(rest))
				next = at&^63 + Seq(i) + 1
				if !yield(p.msgs[p.index(i)]) {
					return
				}
				rest = p.present & (^uint64(0) << i << 1)
			}
		}
	}
}

// backwards iterates over the messages from number seq downwards, as from does upwards.
func (o *order) backwards(seq Seq) iter.Seq[*message] {
	return func(yield func(*message) bool) {
		for next := seq; next >= 0; {
			p, at := o.floor(next)
			if p == nil {
				return
			}
			for rest := p.present & (1<<(digit(at, 0)+1) - 1); rest != 0; {
				i := uint(bits.Len64(rest)) - 1
				next = at&^63 + Seq(i) - 1
				if !yield(p.msgs[p.index(i)]) {
					return
				}
				rest = p.present & (1<<i - 1)
			}
		}
	}
}

// ceiling returns the lowest number in o that is at least seq, which must not be negative,
// and its page of level 0. The page is nil if there is no such number.
func (o *order) ceiling(seq Seq) (*page, Seq) {
	if !o.inRange(seq) {
		return nil, 0
	}
	return o.root.ceiling(o.level, seq)
}

// floor returns the highest number in o that is at most seq, which must not be negative, and
// its page of level 0. The page is nil if there is no such number.
func (o *order) floor(seq Seq) (*page, Seq) {
	if o.root == nil {
		return nil, 0
	}
	if !o.inRange(seq) {
		seq = -1 // every digit is 63
	}
	return o.root.floor(o.level, seq)
}

// ceiling and floor do the same under p, a page of the given level, so that only the digits of seq
// from that level down matter.
func (p *page) ceiling(level uint, seq Seq) (leaf *page, at Seq) {
	i := digit(seq, level)
	if level > 0 && p.has(i) {
		if leaf, at = p.pages[p.index(i)].ceiling(level-1, seq); leaf != nil {
			return leaf, Seq(i)<<(6*level) | at
		}
	}
	rest := p.present & (^uint64(0) << i)
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
	leaf, at = p.pages[p.index(i)].ceiling(level-1, 0)
	return leaf, Seq(i)<<(6*level) | at
}

func (p *page) floor(level uint, seq Seq) (leaf *page, at Seq) {
	i := digit(seq, level)
	if level > 0 && p.has(i) {
		if leaf, at = p.pages[p.index(i)].floor(level-1, seq); leaf != nil {
			return leaf, Seq(i)<<(6*level) | at
		}
	}
	rest := p.present & (1<<(i+1) - 1)
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
	leaf, at = p.pages[p.index(i)].floor(level-1, -1)
	return leaf, Seq(i)<<(6*level) | at
}
