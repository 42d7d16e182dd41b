package amqp_test

import (
	"bufio"
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine/broker"
	"mayfly/web/amqp"
	"mayfly/web/amqp/wire"
)

// An HTTP client at a port of AMQP gets an HTTP response. A client that speaks TLS or
// anything else gets the header of AMQP. All get it at once, and each is logged once.
func TestForeignProtocols(t *testing.T) {
	header := string(wire.ProtocolAMQP.Append(nil))
	for name, tc := range map[string]struct{ says, log string }{
		"HTTP":     {"GET / HTTP/1.1\r\nHost: localhost:5672\r\n\r\n", "the client speaks HTTP, but this port speaks AMQP"},
		"HTTP/2":   {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "the client speaks HTTP, but this port speaks AMQP"},
		"a method": {"GETS what it wants", `begins with AMQP, not \"GETS\"`},
		"TLS":      {"\x16\x03\x01\x00\xf4\x01\x00\x00\xf0\x03\x03", "the client speaks TLS, but this port has no TLS"},
		"anything": {"hello there", `begins with AMQP, not \"hell\"`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				w := newWorld(t, amqp.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}, broker.Options{})
				for range 3 {
					nc, before := w.plug(), time.Now()
					go func() { _, _ = io.WriteString(nc, tc.says) }() //nolint:errcheck // it may be cut off
					r := bufio.NewReader(nc)
					if strings.HasPrefix(name, "HTTP") {
						answer, err := http.ReadResponse(r, nil)
						if err != nil {
							t.Fatal(err)
						}
						body, err := io.ReadAll(answer.Body)
						answer.Body.Close()
						if err != nil || answer.StatusCode != http.StatusBadRequest || !answer.Close || !strings.HasPrefix(string(body), "This port speaks AMQP.") {
							t.Errorf("the client got %d %q, %v", answer.StatusCode, body, err)
						}
					} else if b, err := io.ReadAll(r); err != nil || string(b) != header {
						t.Errorf("the client got %q, %v", b, err)
					}
					if d := time.Since(before); d != 0 {
						t.Errorf("the client got the answer after %v", d)
					}
					_ = nc.Close()
					synctest.Wait()
				}
				if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, tc.log) {
					t.Errorf("the log has %s", got)
				}
			})
		})
	}
}
