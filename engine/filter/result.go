package filter

// A Result is what became of a condition.
type Result uint8

// The results: the three of the logic (FILT-29), and that it could not be
// evaluated.
const (
	False Result = iota
	Unknown
	True
	Failed
)

func (r Result) String() string {
	return [...]string{"false", "unknown", "true", "error"}[r]
}

// not is NOT r.
func (r Result) not() Result {
	if r == Failed {
		return Failed
	}
	return True - r
}

func truth(b bool) Result {
	if b {
		return True
	}
	return False
}
