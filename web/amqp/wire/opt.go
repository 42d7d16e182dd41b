package wire

// An Opt is a field that need not be there. The zero Opt is absent, which is
// written as null.
type Opt[T comparable] struct {
	value T
	set   bool
}

// Some is a field that is there.
func Some[T comparable](v T) Opt[T] { return Opt[T]{value: v, set: true} }

// Get is the field and whether it is there.
func (o Opt[T]) Get() (v T, ok bool) { return o.value, o.set }

// IsSet says whether the field is there.
func (o Opt[T]) IsSet() bool { return o.set }

// Or is the field, or what stands for its absence.
func (o Opt[T]) Or(absent T) T {
	if o.set {
		return o.value
	}
	return absent
}

// Equal is ==, for packages that look for the method.
func (o Opt[T]) Equal(p Opt[T]) bool { return o == p }
