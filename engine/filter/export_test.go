package filter

// Groups is how many sets of properties the filters of x look at, which is what
// Match goes through.
func (x *Index[T]) Groups() int { return len(x.groups) }
