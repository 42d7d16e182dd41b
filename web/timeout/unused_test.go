package timeout_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"testing"
	"time"

	"mayfly/web/timeout"
)

// TestShutdownClosesUnusedConnections: a browser's spare connection does not hold up the end
// of the server; net/http alone waits five seconds for it.
func TestShutdownClosesUnusedConnections(t *testing.T) {
	t.Parallel()
	accepted := make(chan struct{}, 1)
	srv := timeout.Server(&http.Server{
		Handler:           http.NotFoundHandler(),
		ReadHeaderTimeout: time.Minute,
		ConnState: func(_ net.Conn, s http.ConnState) {
			if s == http.StateNew {
				accepted <- struct{}{}
			}
		},
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l) }()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	<-accepted
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second) // less than net/http waits
	defer cancel()
	if err := srv.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		t.Error(err)
	}
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("the connection is still open")
	}
}
