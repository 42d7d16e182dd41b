package broker

import "testing"

// A session that was given and is over before its receiver wakes up is given all
// the same: what has become of it the session says.
func TestAcceptedAndOver(t *testing.T) {
	s := &Session{b: &Broker{done: make(chan struct{})}, taken: make(chan struct{}), done: make(chan struct{}), err: ErrSessionEnded}
	close(s.taken)
	close(s.done)
	for range 100 { // which of two channels is looked at first is chance
		if got, err := s.await(t.Context(), 0); got != s || err != nil {
			t.Fatalf("got %v, %v", got, err)
		}
	}
}
