package timeout

import (
	"net"
	"net/http"
	"sync"
)

// closeUnused closes the connections of s that have brought no byte yet when s shuts down.
// Browsers open such connections ahead, and Shutdown would wait five seconds for a request
// on each.
func closeUnused(s *http.Server) {
	var (
		mu     sync.Mutex
		over   bool
		unused = map[net.Conn]struct{}{}
		next   = s.ConnState
	)
	s.ConnState = func(c net.Conn, state http.ConnState) {
		mu.Lock()
		switch {
		case state != http.StateNew:
			delete(unused, c)
		case over:
			_ = c.Close() // accepted just now; the client sees that it is closed
		default:
			unused[c] = struct{}{}
		}
		mu.Unlock()
		if next != nil {
			next(c, state)
		}
	}
	s.RegisterOnShutdown(func() {
		mu.Lock()
		defer mu.Unlock()
		over = true
		for c := range unused {
			_ = c.Close() // the client sees that it is closed
		}
	})
}
