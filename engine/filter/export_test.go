package filter

// Groups returns how many sets of properties the filters of x use. The cost of Match is
// proportional to it.
func (x *Index[T]) Groups() int { return len(x.groups) }

// Collide makes all filters of a group have the same hash.
func (x *Index[T]) Collide() {
	for _, g := range x.groups {
		var all []entry[T]
		for _, some := range g.filter {
			all = append(all, some...)
		}
		for h := range g.filter {
			g.filter[h] = append([]entry[T](nil), all...)
		}
	}
}
