package amqp_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine/broker"
	"mayfly/engine/value"
	"mayfly/web/amqp"
	"mayfly/web/amqp/amqptest"
	"mayfly/web/amqp/wire"
)

// The log shows the operator why a client was refused, because SDKs hide it. The same
// refusal is logged once in a while, however often the client tries.
func TestRefusalsAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		logged := func(want string, n int) {
			t.Helper()
			synctest.Wait()
			if got := strings.Count(out.String(), want); got != n {
				t.Errorf("%q was logged %d times, want %d:\n%s", want, got, n, &out)
			}
		}
		w := newWorld(t, amqp.Options{Logger: slog.New(slog.NewTextHandler(&out, nil))}, broker.Options{})
		c := w.client()
		for range 3 {
			if refused(c, amqptest.ReceiverAttach(0, "missing")) == nil {
				t.Fatal("a link to a missing entity was attached")
			}
		}
		logged("address=missing condition=amqp:not-found", 1)
		time.Sleep(31 * time.Second)
		refused(c, amqptest.ReceiverAttach(0, "missing"))
		logged("address=missing condition=amqp:not-found", 2)
		refused(c, amqptest.ReceiverAttach(0, "other"))
		logged("address=other", 1)

		for _, hello := range []string{"GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\n\r\n", ""} {
			nc := w.plug()
			go func() {
				_, _ = nc.Write([]byte(hello)) //nolint:errcheck // the server may have hung up already
				_ = nc.Close()
			}()
			synctest.Wait()
		}
		logged("ended before it was open", 1) // a client that only checked the port is not logged
	})
}

// A refused request about rules and one for an unknown operation are logged once each.
// Refused requests about messages are not logged.
func TestRefusedAdministrationIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		w := newWorld(t, amqp.Options{Logger: slog.New(slog.NewTextHandler(&out, nil))}, broker.Options{})
		d := newManagementClient(w)
		logged := func(want string, lines int) {
			t.Helper()
			synctest.Wait()
			if got := out.String(); !strings.Contains(got, want) || strings.Count(got, "\n") != lines {
				t.Errorf("the log says\n%s\nwant %s in %d lines", got, want, lines)
			}
		}
		s, q := manages(d.c, "t/Subscriptions/s"), manages(w.client(), "q")
		for range 2 {
			s.do("com.microsoft:add-rule", value.Properties{prop("rule-name", value.OfString("$Default")), prop("rule-description", mapOf())})
		}
		logged(`level=INFO msg="a request to $management was refused" client=pipe container="a test" path=t/Subscriptions/s operation=com.microsoft:add-rule condition=com.microsoft:entity-already-exists`, 1)
		s.do("com.microsoft:remove-rule", value.Properties{prop("rule-name", value.OfString("none"))})
		logged("operation=com.microsoft:remove-rule condition=amqp:not-found", 2)
		q.do("com.microsoft:brew-coffee", nil)
		logged("path=q operation=com.microsoft:brew-coffee condition=amqp:not-implemented", 3)
		q.do("com.microsoft:renew-lock", value.Properties{prop("lock-tokens", arrayOf(value.UUID, d.foreign))})
		logged("", 3)
	})
}

// A connection or session that ends because of a protocol error is logged once, with the
// client and the reason. A client that just disconnects is not logged.
func TestProtocolErrorsAreLogged(t *testing.T) {
	for name, tc := range map[string]struct {
		client func(w *world)
		want   string
	}{
		"a second open": {func(w *world) {
			w.client().WriteFrames(0, &wire.Open{ContainerID: "again"})
		}, `msg="an AMQP connection was closed" client=pipe container="a test" condition=amqp:illegal-state description="A second open arrived."`},
		"a broken frame": {func(w *world) {
			w.client().Write([]byte{0, 0, 0, 4, 2, 0, 0, 0})
		}, `msg="an AMQP connection was closed" client=pipe container="a test" condition=amqp:connection:framing-error`},
		"a handle in use": {func(w *world) {
			c := w.client()
			a := amqptest.SenderAttach(0, "$cbs")
			c.Attach(0, a)
			a.Name = "other"
			c.WriteFrames(0, &a)
		}, `msg="an AMQP session was ended" client=pipe container="a test" channel=0 condition=amqp:session:handle-in-use description="Handle 0 is in use."`},
		"silence": {func(w *world) {
			w.client()
			time.Sleep(10 * time.Minute)
		}, `description="The client sent nothing for 4m0s."`},
		"it goes":    {func(w *world) { w.client().Disconnect() }, ""},
		"it said so": {func(w *world) { w.client().WriteFrames(0, &wire.Close{}) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out bytes.Buffer
				w := newWorld(t, amqp.Options{Logger: slog.New(slog.NewTextHandler(&out, nil))}, broker.Options{})
				tc.client(w)
				synctest.Wait()
				text := out.String()
				if tc.want == "" && text != "" || !strings.Contains(text, tc.want) || strings.Count(text, "\n") > 1 || tc.want != "" && !strings.Contains(text, "level=INFO") {
					t.Errorf("the log says\n%s\nwant %s", text, tc.want)
				}
			})
		})
	}
}
