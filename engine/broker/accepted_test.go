package broker

import "testing"

// A session that was granted, but ended before its receiver wakes up, is still returned: its
// methods report the end.
func TestAcceptedAndOver(t *testing.T) {
	s := &Session{b: &Broker{done: make(chan struct{})}, accepted: make(chan struct{}), done: make(chan struct{}), err: ErrSessionEnded}
	close(s.accepted)
	close(s.done)
	for range 100 { // select picks one of two ready channels at random
		if got, err := s.await(t.Context(), 0); got != s || err != nil {
			t.Fatalf("got %v, %v", got, err)
		}
	}
}
