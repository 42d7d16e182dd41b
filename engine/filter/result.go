package filter

// A Result is the result of a condition.
type Result uint8

// The three truth values (FILT-29), and a failed evaluation.
const (
	False Result = iota
	Unknown
	True
	Failed
)

func (r Result) String() string {
	return [...]string{"false", "unknown", "true", "error"}[r]
}

// not returns NOT r.
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
