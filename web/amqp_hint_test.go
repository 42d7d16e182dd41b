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

// shared is a log with several writers.
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

// TestAMQPAtThePortOfHTTP: an AMQP client at an HTTP port gets an answer at once, however its
// first bytes arrive; the log names the AMQP address, once.
func TestAMQPAtThePortOfHTTP(t *testing.T) {
	for name, tc := range map[string]struct{ at, want string }{
		"AMQP is there": {"127.0.0.1:5672", "this port speaks HTTP; AMQP is on 127.0.0.1:5672"},
		"it is not":     {"", "this port speaks HTTP; this server has no AMQP port"},
	} {
		t.Run(name, func(t *testing.T) {
			var log shared
			w := serve(t, web.Options{Logger: slog.New(slog.NewTextHandler(&log, nil)), AMQPAddress: tc.at}, web.Services{})
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
						t.Errorf("%q got %d %q, %v", pieces, r.StatusCode, body, err)
					}
					_ = nc.Close()
				}
			}
			if got := log.String(); strings.Count(got, "AMQP client connected") != 1 || !strings.Contains(got, tc.want) {
				t.Errorf("the log has %s", got)
			}
		})
	}
}

// TestAlmostAMQP: a request that only begins like AMQP's protocol header is handled as HTTP, and so
// is a body with that text.
func TestAlmostAMQP(t *testing.T) {
	w := serve(t, web.Options{AMQPAddress: "elsewhere"}, web.Services{})
	nc, err := net.Dial("tcp", w.admin)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	for range 2 { // after the first request nothing is checked any more
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
			t.Errorf("the client got %d %q, %v", r.StatusCode, body, err)
		}
	}
}
