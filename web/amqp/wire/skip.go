package wire

// Skip is the length of the value that b begins with. It checks all of the value
// (sizes, counts, UTF-8, nesting) and allocates nothing unless it fails.
func Skip(b []byte) (n int, err error) {
	c := over(b)
	c.skip(MaxDepth)
	if c.err != nil {
		return 0, c.err
	}
	return c.off, nil
}

// valid says whether b is one value and nothing else.
func valid(b []byte) bool {
	n, err := Skip(b)
	return err == nil && n == len(b)
}

// maxEmpty bounds an array whose elements take no bytes: nothing else does.
const maxEmpty = 256

func (c *cursor) skip(depth int) {
	code := c.byte()
	if code == codeDescribed && c.err == nil {
		if c.deeper(depth) {
			c.skip(depth - 1)
			c.skip(depth - 1)
		}
		return
	}
	c.skipContent(code, depth)
}

// skipAll walks over n values. Those that are short, plain and there are most of
// what comes, and are passed without a call; about all others skip knows.
func (c *cursor) skipAll(n, depth int) {
	b, off := c.b[:c.end], c.off
	for ; n > 0 && c.err == nil; n-- {
		if off < len(b) {
			next := len(b) + 1
			switch code := b[off]; {
			case (code == codeString8 || code == codeSymbol8) && off+1 < len(b):
				if to := off + 2 + int(b[off+1]); to <= len(b) && plain(b[off+2:to]) {
					next = to
				}
			case layouts[code]&^widthMask == fixed && code != codeBool:
				next = off + 1 + int(layouts[code]&widthMask)
			}
			if next <= len(b) {
				off = next
				continue
			}
		}
		c.off = off
		c.skip(depth)
		off = c.off
	}
	c.off = off
}

func (c *cursor) deeper(depth int) bool {
	if depth == 0 {
		c.fail(CondDecodeError, "values are nested more than %d deep", MaxDepth)
	}
	return c.err == nil
}

// skipContent walks over a value whose constructor was read.
func (c *cursor) skipContent(code byte, depth int) {
	if c.err != nil {
		return
	}
	l := layouts[code]
	switch width := l & widthMask; l - width {
	case fixed:
		if code == codeBool {
			c.bool()
		} else {
			c.take(uint64(width))
		}
	case variable:
		c.bytes(code)
	case compound:
		if !c.deeper(depth) {
			return
		}
		outer, n := c.span(width)
		c.even(code, n)
		c.skipAll(n, depth-1)
		c.widen(outer)
	case array:
		if !c.deeper(depth) {
			return
		}
		a := c.enterArray(width, depth)
		c.skipElements(a, depth)
		c.widen(a.outer)
	default:
		c.off--
		c.fail(CondDecodeError, "no type has the constructor %#02x", code)
	}
}

// even refuses a map whose last key has no value.
func (c *cursor) even(code byte, count int) {
	if (code == codeMap8 || code == codeMap32) && count%2 != 0 {
		c.fail(CondDecodeError, "a map has %d keys and values", count)
	}
}

// elements is an array that was entered; what remains of the cursor are its
// elements.
type elements struct {
	outer       int
	count       int
	constructor []byte // of each element, with its descriptors
	code        byte   // the last byte of constructor
}

// enterArray reads up to the first element. An array of none may lack the
// constructor.
func (c *cursor) enterArray(width layout, depth int) (a elements) {
	size := c.size(width)
	a.outer = c.end
	if size > uint64(c.rest()) {
		c.short(size)
		return a
	}
	c.end = c.off + int(size)
	n := c.size(width)
	if n == 0 && c.rest() == 0 {
		a.code = codeNull
		return a
	}
	start := c.off
	a.code = c.byte()
	for a.code == codeDescribed && c.err == nil {
		if depth--; !c.deeper(depth) {
			return a
		}
		c.skip(depth)
		a.code = c.byte()
	}
	if c.err != nil {
		return a
	}
	a.constructor = c.b[start:c.off]
	l := layouts[a.code]
	if l == unknown {
		c.off--
		c.fail(CondDecodeError, "no type has the constructor %#02x", a.code)
		return a
	}
	least := uint64(l & widthMask)
	if l-l&widthMask >= compound {
		least *= 2 // its count as well
	}
	if n > maxEmpty && least == 0 || n*least > uint64(c.rest()) {
		c.fail(CondDecodeError, "%d bytes cannot hold an array of %d", c.rest(), n)
		return a
	}
	a.count = int(n)
	return a
}

func (c *cursor) skipElements(a elements, depth int) {
	if l := layouts[a.code]; l-l&widthMask == fixed && a.code != codeBool {
		c.take(uint64(a.count) * uint64(l&widthMask))
		return
	}
	for n := a.count; n > 0 && c.err == nil; n-- {
		c.skipContent(a.code, depth-1)
	}
}
