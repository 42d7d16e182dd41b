package main

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

// A socket is a live page's, without a browser.
type socket struct {
	net.Conn
	r *bufio.Reader
}

// dialLive opens the socket of the dashboard at base.
func dialLive(t *testing.T, base string) *socket {
	t.Helper()
	host := strings.TrimPrefix(base, "http://")
	conn, err := net.Dial("tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	s := &socket{conn, bufio.NewReader(conn)}
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

// ends waits for the server to close the socket, for less than it takes until a
// hub has had enough of a browser that says nothing.
func (s *socket) ends() error {
	if err := s.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, s.r); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("the socket did not end: %w", err)
	}
	return nil
}
