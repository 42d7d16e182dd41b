package wire

// Skip returns the length of the value at the beginning of b. It checks the whole value (sizes,
// counts, UTF-8, nesting) and allocates only for an error.
func Skip(b []byte) (n int, err error) {
	c := newCursor(b)
	c.skip(MaxDepth)
	if c.err != nil {
		return 0, c.err
	}
	return c.off, nil
}

// valid reports whether b is exactly one value.
func valid(b []byte) bool {
	n, err := Skip(b)
	return err == nil && n == len(b)
}

// maxEmptyElements is the maximum number of elements in an array whose elements have no bytes, such
// as nulls. The size of such an array does not limit their number.
const maxEmptyElements = 256

func (c *cursor) skip(depth int) {
	code := c.byte()
	if code == codeDescribed && c.err == nil {
		if c.checkDepth(depth) {
			c.skip(depth - 1)
			c.skip(depth - 1)
		}
		return
	}
	c.skipContent(code, depth)
}

// skipAll skips n values. Most values are short, ASCII and complete; it skips those without a call,
// and calls skip for all others.
func (c *cursor) skipAll(n, depth int) {
	b, off := c.b[:c.end], c.off
	for ; n > 0 && c.err == nil; n-- {
		if off < len(b) {
			next := len(b) + 1
			switch code := b[off]; {
			case (code == codeString8 || code == codeSymbol8) && off+1 < len(b):
				if to := off + 2 + int(b[off+1]); to <= len(b) && isASCII(b[off+2:to]) {
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

func (c *cursor) checkDepth(depth int) bool {
	if depth == 0 {
		c.fail(CondDecodeError, "values are nested more than %d deep", MaxDepth)
	}
	return c.err == nil
}

// skipContent skips the content of a value whose constructor has been read. depth is how many more
// levels of nesting are allowed.
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
		if !c.checkDepth(depth) {
			return
		}
		outer, n := c.enterCompound(width)
		c.checkPairs(code, n)
		c.skipAll(n, depth-1)
		c.leaveCompound(outer)
	case array:
		if !c.checkDepth(depth) {
			return
		}
		a := c.enterArray(width, depth)
		c.skipElements(a, depth)
		c.leaveCompound(a.outer)
	default:
		c.off--
		c.fail(CondDecodeError, "no type has the constructor %#02x", code)
	}
}

// checkPairs fails if the last key of a map has no value.
func (c *cursor) checkPairs(code byte, count int) {
	if (code == codeMap8 || code == codeMap32) && count%2 != 0 {
		c.fail(CondDecodeError, "a map has %d keys and values", count)
	}
}

// elements describes an array that the cursor has entered. The cursor's remaining bytes are its
// elements.
type elements struct {
	outer       int
	count       int
	constructor []byte // of each element, with its descriptors
	code        byte   // the last byte of constructor
}

// enterArray reads an array up to its first element. An empty array may lack the
// constructor.
func (c *cursor) enterArray(width layout, depth int) (a elements) {
	size := c.size(width)
	a.outer = c.end
	if size > uint64(c.remaining()) {
		c.failShort(size)
		return a
	}
	c.end = c.off + int(size)
	n := c.size(width)
	if n == 0 && c.remaining() == 0 {
		a.code = codeNull
		return a
	}
	start := c.off
	a.code = c.byte()
	for a.code == codeDescribed && c.err == nil {
		if depth--; !c.checkDepth(depth) {
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
	if n > maxEmptyElements && least == 0 || n*least > uint64(c.remaining()) {
		c.fail(CondDecodeError, "%d bytes cannot hold an array of %d", c.remaining(), n)
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
