package websocket_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	amqpsocket "mayfly/web/amqp/websocket"
)

// serving returns the address of a handler that serves connections with serve.
func serving(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	s := httptest.NewServer(amqpsocket.NewHandler(func(c net.Conn, _ *http.Request) { serve(c) }))
	t.Cleanup(s.Close)
	return "ws" + strings.TrimPrefix(s.URL, "http") + amqpsocket.Path
}

func dial(t *testing.T, address string) *websocket.Conn {
	t.Helper()
	d := websocket.Dialer{Subprotocols: []string{"AMQPWSB10"}}
	ws, answer, err := d.Dial(address, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	t.Cleanup(func() { ws.Close() })
	return ws
}

// echo sends back what it reads until the end, and reports the error that ended it.
func echo(ended chan<- error) func(net.Conn) {
	return func(c net.Conn) {
		defer c.Close()
		_, err := io.Copy(c, c)
		ended <- err
	}
}

func TestAt(t *testing.T) {
	for path, want := range map[string]bool{
		"/$servicebus/websocket": true, "/$servicebus/websocket/": true, "/$ServiceBus/WebSocket": true,
		"/$servicebus/websocket//": false, "/$servicebus": false, "/x/$servicebus/websocket": false, "/": false, "": false,
	} {
		if got := amqpsocket.IsPath(path); got != want {
			t.Errorf("%q: got %v", path, got)
		}
	}
}

// TestMessagesAreAStream checks that the messages of a client are one stream, however it
// cuts them.
func TestMessagesAreAStream(t *testing.T) {
	ended := make(chan error, 1)
	ws := dial(t, serving(t, echo(ended)))
	body := make([]byte, 200<<10)
	_, _ = rand.Read(body)
	written := make(chan struct{})
	go func() { // waited for below
		defer close(written)
		for rest, n := body, 0; len(rest) > 0; n = (n*7 + 1) % 9001 { // includes empty messages
			k := min(n, len(rest))
			if err := ws.WriteMessage(websocket.BinaryMessage, rest[:k]); err != nil {
				return
			}
			rest = rest[k:]
		}
	}()
	var heard bytes.Buffer
	for heard.Len() < len(body) {
		kind, p, err := ws.ReadMessage()
		if err != nil || kind != websocket.BinaryMessage {
			t.Fatal(kind, err)
		}
		heard.Write(p)
	}
	<-written
	if !bytes.Equal(heard.Bytes(), body) {
		t.Error("the echo differs from the sent bytes")
	}
	if err := ws.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseGoingAway, "")); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("the connection ended with %v", err)
	}
}

// TestLargeMessageIsReadInPieces checks that a read returns only as much as fits into its buffer.
func TestLargeMessageIsReadInPieces(t *testing.T) {
	largest := make(chan int, 1)
	ws := dial(t, serving(t, func(c net.Conn) {
		defer c.Close()
		p, most := make([]byte, 512), 0
		for all := 0; all < 1<<20; {
			n, err := c.Read(p)
			if err != nil {
				most = -1
				break
			}
			all, most = all+n, max(most, n)
		}
		largest <- most
	}))
	if err := ws.WriteMessage(websocket.BinaryMessage, make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	if n := <-largest; n < 1 || n > 512 {
		t.Errorf("a read returned %d bytes", n)
	}
}

func TestTextIsRefused(t *testing.T) {
	ended := make(chan error, 1)
	ws := dial(t, serving(t, echo(ended)))
	if err := ws.WriteMessage(websocket.TextMessage, []byte("AMQP")); err != nil {
		t.Fatal(err)
	}
	_, _, err := ws.ReadMessage()
	if !websocket.IsCloseError(err, websocket.CloseUnsupportedData) {
		t.Errorf("got %v", err)
	}
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "binary") {
		t.Errorf("the connection ended with %v", err)
	}
}

func TestPing(t *testing.T) {
	ws := dial(t, serving(t, echo(make(chan error, 1))))
	pong := make(chan string, 1)
	ws.SetPongHandler(func(s string) error { pong <- s; return nil })
	if err := ws.WriteControl(websocket.PingMessage, []byte("x"), time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	go func() { _, _, _ = ws.ReadMessage() }() //nolint:errcheck // ends with the connection
	if got := <-pong; got != "x" {
		t.Errorf("got %q", got)
	}
}

// TestClose checks that the client gets a close frame, that all operations fail
// afterwards, and that a second Close does not.
func TestClose(t *testing.T) {
	ended := make(chan error, 1)
	ws := dial(t, serving(t, func(c net.Conn) {
		reading := make(chan error, 1)
		go func() { _, err := c.Read(make([]byte, 1)); reading <- err }()
		_ = c.Close()
		err := <-reading
		if err == nil {
			err = errors.New("a closed connection was read from")
		} else {
			err = nil
		}
		if _, werr := c.Write([]byte("x")); werr == nil {
			err = errors.New("a closed connection was written to")
		}
		_ = c.Close()
		ended <- err
	}))
	if _, _, err := ws.ReadMessage(); !websocket.IsCloseError(err, websocket.CloseNormalClosure) {
		t.Errorf("the client got %v", err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestDeadlines checks that deadlines end operations in progress, as for any net.Conn.
func TestDeadlines(t *testing.T) {
	for name, try := range map[string]func(c net.Conn) error{
		"read in the past": func(c net.Conn) error {
			_ = c.SetReadDeadline(time.Unix(1, 0)) //nolint:errcheck // the read returns the error
			_, err := c.Read(make([]byte, 1))
			return err
		},
		"read under way": func(c net.Conn) error {
			defer time.AfterFunc(time.Millisecond, func() { _ = c.SetReadDeadline(time.Unix(1, 0)) }).Stop() //nolint:errcheck // the read returns the error
			_, err := c.Read(make([]byte, 1))
			return err
		},
		"write in the past": func(c net.Conn) error {
			_ = c.SetDeadline(time.Unix(1, 0)) //nolint:errcheck // the write returns the error
			_, err := c.Write([]byte("x"))
			return err
		},
		"write under way": func(c net.Conn) error {
			defer time.AfterFunc(time.Millisecond, func() { _ = c.SetWriteDeadline(time.Unix(1, 0)) }).Stop() //nolint:errcheck // the write returns the error
			for {                                                                                             // until the buffers are full, because the peer does not read
				if _, err := c.Write(make([]byte, 1<<20)); err != nil {
					return err
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := make(chan error, 1)
			dial(t, serving(t, func(c net.Conn) {
				defer c.Close()
				got <- try(c)
			}))
			if err := <-got; !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestHandshake tries all kinds of requests for a WebSocket.
func TestHandshake(t *testing.T) {
	address := serving(t, func(c net.Conn) { _ = c.Close() })
	host := strings.TrimPrefix(strings.TrimSuffix(address, amqpsocket.Path), "ws://")
	for name, tc := range map[string]struct {
		offered  []string
		header   http.Header
		status   int
		protocol string
	}{
		"an SDK":                 {[]string{"AMQPWSB10"}, nil, 101, "AMQPWSB10"},
		"by the standard's name": {[]string{"amqp"}, nil, 101, "amqp"},
		"as it was written":      {[]string{"mqtt", "AMQP"}, nil, 101, "AMQP"},
		"both":                   {[]string{"AMQPWSB10", "amqp"}, nil, 101, "AMQPWSB10"},
		"without a protocol":     {nil, nil, 101, ""},
		"another protocol":       {[]string{"mqtt"}, nil, 400, ""},
		"our own page":           {[]string{"amqp"}, http.Header{"Origin": {"http://" + host}, "Sec-Fetch-Site": {"same-origin"}}, 101, "amqp"},
		"a foreign page":         {[]string{"amqp"}, http.Header{"Origin": {"http://evil.example"}}, 403, ""},
		"another port's page":    {[]string{"amqp"}, http.Header{"Origin": {"http://127.0.0.1:1"}}, 403, ""},
		"a page of no origin":    {[]string{"amqp"}, http.Header{"Origin": {"null"}}, 403, ""},
		"a site next door":       {[]string{"amqp"}, http.Header{"Sec-Fetch-Site": {"same-site"}}, 403, ""},
		"a foreign site":         {[]string{"amqp"}, http.Header{"Origin": {"http://" + host}, "Sec-Fetch-Site": {"cross-site"}}, 403, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := websocket.Dialer{Subprotocols: tc.offered}
			ws, answer, err := d.Dial(address, tc.header)
			if answer == nil {
				t.Fatal(err)
			}
			answer.Body.Close()
			if answer.StatusCode != tc.status || answer.Header.Get("Sec-WebSocket-Protocol") != tc.protocol {
				t.Errorf("got %s, protocol %q", answer.Status, answer.Header.Get("Sec-WebSocket-Protocol"))
			}
			if ws != nil {
				ws.Close()
			}
		})
	}
	plain, err := http.Get("http://" + host + amqpsocket.Path)
	if err != nil {
		t.Fatal(err)
	}
	plain.Body.Close()
	if plain.StatusCode != http.StatusUpgradeRequired || plain.Header.Get("Upgrade") != "websocket" {
		t.Errorf("without an upgrade: %s", plain.Status)
	}
}

// A page of another origin may open a WebSocket if that is allowed. If not, the response
// names the option that allows it.
func TestAllowOrigin(t *testing.T) {
	s := httptest.NewServer(amqpsocket.NewHandler(func(c net.Conn, _ *http.Request) { c.Close() }, "https://shop.example:8443"))
	t.Cleanup(s.Close)
	address := "ws" + strings.TrimPrefix(s.URL, "http") + amqpsocket.Path
	for origin, want := range map[string]int{
		"https://shop.example:8443": 101, "https://Shop.Example:8443": 101, "http://shop.example:8443": 403, "https://shop.example": 403, "https://evil.example": 403, "null": 403, "": 403,
	} {
		d := websocket.Dialer{Subprotocols: []string{"amqp"}}
		h := http.Header{"Sec-Fetch-Site": {"cross-site"}}
		if origin != "" {
			h.Set("Origin", origin)
		}
		ws, answer, err := d.Dial(address, h)
		if err == nil {
			ws.Close()
		}
		if answer == nil || answer.StatusCode != want {
			t.Errorf("%q: %v, %v", origin, answer, err)
			continue
		}
		body, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil {
			t.Error(err)
		}
		if want == 403 && strings.Contains(origin, "://") && !strings.Contains(string(body), "--allow-origin "+origin) {
			t.Errorf("%q got %q", origin, body)
		}
	}
	for text, want := range map[string]string{
		"https://Shop.example": "https://shop.example", "https://shop.example:443/": "https://shop.example", "http://shop.example:80": "http://shop.example",
		"http://shop.example:443": "http://shop.example:443", "http://[::1]:3000": "http://[::1]:3000", "https://shop.example:": "https://shop.example",
		"shop.example": "", "*": "", "https://*.example": "", "https://shop.example/page": "", "ftp://shop.example": "", "https://": "", "https://u:p@shop.example": "", "null": "",
	} {
		if got, err := amqpsocket.CheckOrigin(text); got != want || (err == nil) != (want != "") {
			t.Errorf("%q is %q, %v", text, got, err)
		}
	}
}
