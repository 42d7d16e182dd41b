package amqp_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine/broker"
	"mayfly/web/amqp"
	"mayfly/web/amqp/amqptest"
)

// Whoever runs the server finds in its log why a client was not served, for SDKs
// hide it; the same is said once in a while, however often the client tries.
func TestRefusalsAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		said := func(want string, n int) {
			t.Helper()
			synctest.Wait()
			if got := strings.Count(out.String(), want); got != n {
				t.Errorf("%q was logged %d times, want %d:\n%s", want, got, n, &out)
			}
		}
		w := newWorld(t, amqp.Options{Logger: slog.New(slog.NewTextHandler(&out, nil))}, broker.Options{})
		c := w.client()
		for range 3 {
			if refused(c, amqptest.Receives(0, "missing")) == nil {
				t.Fatal("a link to nothing is attached")
			}
		}
		said("address=missing condition=amqp:not-found", 1)
		time.Sleep(31 * time.Second)
		refused(c, amqptest.Receives(0, "missing"))
		said("address=missing condition=amqp:not-found", 2)
		refused(c, amqptest.Receives(0, "other"))
		said("address=other", 1)

		for _, hello := range []string{"GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\n\r\n", ""} {
			nc := w.plug()
			go func() {
				_, _ = nc.Write([]byte(hello)) //nolint:errcheck // the server may be gone already
				_ = nc.Close()
			}()
			synctest.Wait()
		}
		said("ended before it was open", 1) // not of who only looked whether the port is there
	})
}
