package show

// A Refusal is one of the dashboard's own, in the language of whoever asked. The words of
// every other error are English.
type Refusal struct {
	Kind error // what it is, or what it comes of
	Text string
}

func (e *Refusal) Error() string { return e.Text }

// Unwrap is what it is, or what it comes of.
func (e *Refusal) Unwrap() error { return e.Kind }
