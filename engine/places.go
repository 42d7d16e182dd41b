package engine

// A Room is a place with messages, as whoever goes through all of them begins
// with.
type Room struct {
	Path     Path
	Messages int // of the class asked for
	Bound    Seq // every message that is there has a number below it
}

// Rooms are the places that have messages of a class, ClassAll or one of those
// kept in a list of their own, by the order of entities; an entity comes before
// its dead letters, and these before those of its transfers.
func (ns *Namespace) Rooms(c Class) []Room {
	var rooms []Room
	for _, e := range ns.sorted() {
		for _, h := range e.holders() {
			n := h.order.len()
			if c != ClassAll {
				n = int(h.count[class(c-ClassActive)])
			}
			if n > 0 {
				rooms = append(rooms, Room{Path: h.path, Messages: n, Bound: e.main.meter.NextSeq})
			}
		}
	}
	return rooms
}

// A Named is an entity by its name alone.
type Named struct {
	Kind EntityKind
	Path Path
}

// Names are all entities by path. It costs little, however many there are.
func (ns *Namespace) Names() []Named {
	all := ns.sorted()
	names := make([]Named, len(all))
	for i, e := range all {
		names[i] = Named{e.Kind, e.Path}
	}
	return names
}
