package connlimit

// An addressIndex lists connections of one kind by client address. Its zero value is empty.
type addressIndex struct {
	byKey   map[string]*addressConns
	byCount heap[*addressConns] // the address with the most connections first
	n       int                 // connections
}

// An addressConns is the connections of one address.
type addressConns struct {
	key   string
	index int          // in the heap of its addressIndex
	conns heap[*entry] // the oldest first
}

// An entry is the place of a connection in an addressIndex. Its zero value is in none.
type entry struct {
	conn  *Conn
	order uint64 // lower is older
	index int    // in the heap of its addressConns
	group *addressConns
}

func (r *addressIndex) add(e *entry, c *Conn, key string, order uint64) {
	h := r.byKey[key]
	if h == nil {
		if r.byKey == nil {
			r.byKey = map[string]*addressConns{}
			r.byCount.less = func(a, b *addressConns) bool {
				if x, y := len(a.conns.items), len(b.conns.items); x != y {
					return x > y
				}
				return len(a.conns.items) > 0 && a.conns.items[0].order < b.conns.items[0].order
			}
			r.byCount.moved = func(h *addressConns, i int) { h.index = i }
		}
		h = &addressConns{key: key}
		h.conns.less = func(a, b *entry) bool { return a.order < b.order }
		h.conns.moved = func(e *entry, i int) { e.index = i }
		r.byKey[key] = h
		r.byCount.push(h)
	}
	*e = entry{conn: c, order: order, group: h}
	h.conns.push(e)
	r.byCount.fix(h.index)
	r.n++
}

// remove takes e out of the index, if it is in it.
func (r *addressIndex) remove(e *entry) {
	h := e.group
	if h == nil {
		return
	}
	h.conns.remove(e.index)
	if r.n--; len(h.conns.items) == 0 {
		r.byCount.remove(h.index)
		delete(r.byKey, h.key)
	} else {
		r.byCount.fix(h.index)
	}
	*e = entry{}
}

// oldest returns the oldest connection of the address with the most connections, and the number of
// its connections. It returns nil if the index is empty.
func (r *addressIndex) oldest() (c *Conn, has int) {
	h, ok := r.byCount.first()
	if !ok {
		return nil, 0
	}
	return h.conns.items[0].conn, len(h.conns.items)
}
