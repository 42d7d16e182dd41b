package wire

// An Opt is an optional field. The zero Opt is absent, and written as null.
type Opt[T comparable] struct {
	value T
	set   bool
}

// Some returns a field with the value v.
func Some[T comparable](v T) Opt[T] { return Opt[T]{value: v, set: true} }

// Get returns the value, and reports whether the field is set.
func (o Opt[T]) Get() (v T, ok bool) { return o.value, o.set }

// IsSet reports whether the field is set.
func (o Opt[T]) IsSet() bool { return o.set }

// Or returns the value, or absent if the field is not set.
func (o Opt[T]) Or(absent T) T {
	if o.set {
		return o.value
	}
	return absent
}

// Equal is ==, for packages that need a method.
func (o Opt[T]) Equal(p Opt[T]) bool { return o == p }
