package e2e

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// A LiveSocket is a live page's socket, without a browser.
type LiveSocket struct {
	net.Conn
	r *bufio.Reader
}

// DialLive opens a socket of the dashboard at base.
func DialLive(t *testing.T, base string) *LiveSocket {
	t.Helper()
	host := strings.TrimPrefix(base, "http://")
	conn, err := net.Dial("tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	s := &LiveSocket{conn, bufio.NewReader(conn)}
	_, err = fmt.Fprintf(conn, "GET /live HTTP/1.1\r\nHost: %s\r\nOrigin: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", host, base)
	if err != nil {
		t.Fatal(err)
	}
	w, err := http.ReadResponse(s.r, nil)
	if err != nil || w.StatusCode != http.StatusSwitchingProtocols {
		t.Fatal(w, err)
	}
	w.Body.Close()
	return s
}

// WaitClosed waits for the server to close the socket, for less than the hub's timeout for silent
// browsers.
func (s *LiveSocket) WaitClosed() error {
	if err := s.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, s.r); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("the socket did not end: %w", err)
	}
	return nil
}
