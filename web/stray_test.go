package web_test

import (
	"bufio"
	"bytes"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"mayfly/web"
)

// shared is a log that several write to.
type shared struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *shared) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

func (s *shared) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// A client of AMQP at a port of HTTP hears at once what that is, however its first
// bytes come; the log says where AMQP is, once.
func TestAMQPAtThePortOfHTTP(t *testing.T) {
	for name, tc := range map[string]struct{ at, want string }{
		"AMQP is there": {"127.0.0.1:5672", "this is a port of HTTP; AMQP is on 127.0.0.1:5672"},
		"it is not":     {"", "this is a port of HTTP; there is no port of AMQP"},
	} {
		t.Run(name, func(t *testing.T) {
			var told shared
			w := serve(t, web.Options{Logger: slog.New(slog.NewTextHandler(&told, nil)), AMQPAt: tc.at}, web.Doors{})
			for _, port := range []string{w.dashboard, w.admin} {
				for _, pieces := range [][]string{{"AMQP\x03\x01\x00\x00"}, {"A", "MQ", "P\x00\x01\x00\x00"}} {
					nc, err := net.Dial("tcp", port)
					if err != nil {
						t.Fatal(err)
					}
					for _, piece := range pieces {
						if _, err := io.WriteString(nc, piece); err != nil {
							t.Fatal(err)
						}
					}
					r, err := http.ReadResponse(bufio.NewReader(nc), nil)
					if err != nil {
						t.Fatal(err)
					}
					body, err := io.ReadAll(r.Body)
					r.Body.Close()
					if err != nil || r.StatusCode != http.StatusBadRequest || !strings.Contains(string(body), tc.want) {
						t.Errorf("%q hears %d %q, %v", pieces, r.StatusCode, body, err)
					}
					_ = nc.Close()
				}
			}
			if got := told.String(); strings.Count(got, "an AMQP client came") != 1 || !strings.Contains(got, tc.want) {
				t.Errorf("the log says %s", got)
			}
		})
	}
}

// What only begins as AMQP does is HTTP's to judge.
func TestAlmostAMQP(t *testing.T) {
	w := serve(t, web.Options{AMQPAt: "elsewhere"}, web.Doors{})
	nc, err := net.Dial("tcp", w.admin)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	for range 2 { // and once it was looked at, nothing is looked for any more
		if _, err := io.WriteString(nc, "AMQ /health HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 4\r\n\r\nAMQP"); err != nil {
			t.Fatal(err)
		}
		r, err := http.ReadResponse(bufio.NewReader(nc), nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r.Body)
		r.Body.Close()
		if err != nil || strings.Contains(string(body), "elsewhere") {
			t.Errorf("it hears %d %q, %v", r.StatusCode, body, err)
		}
	}
}
