package amqp_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	goamqp "github.com/Azure/go-amqp"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/web/amqp"
	"mayfly/web/amqp/amqptest"
	"mayfly/web/amqp/wire"
	"mayfly/web/auth/sas"
)

// enforced runs a test in a world that enforces tokens. Its rule root has the key key, and
// the rule own of queue q has the key own.
func enforced(t *testing.T, test func(w *world, log *bytes.Buffer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		w := newWorld(t, amqp.Options{SAS: sas.Enforce, Names: called, Logger: slog.New(slog.NewTextHandler(&log, nil))}, broker.Options{})
		w.b.CreateQueue("q", engine.Config{AuthorizationRules: []engine.AccessRule{{Name: "own", Rights: engine.SendRight, PrimaryKey: "own"}}})
		if _, err := w.b.SetAccessRule(t.Context(), "", engine.AccessRule{Name: "root", Rights: engine.ManageRight, PrimaryKey: "key"}, ""); err != nil {
			t.Fatal(err)
		}
		test(w, &log)
	})
}

// plain connects a client with SASL PLAIN.
func (w *world) plain(rule, key string) (*goamqp.Conn, *goamqp.Session) {
	w.t.Helper()
	c, err := goamqp.NewConn(w.t.Context(), w.plug(), &goamqp.ConnOptions{SASLType: goamqp.SASLTypePlain(rule, key)})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = c.Close() })
	s, err := c.NewSession(w.t.Context(), nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return c, s
}

// The server closes the connection of a client that shows no valid token within 20 s of its open.
// The error explains what to do, and is logged. A client with a token stays connected.
func TestTokenInTime(t *testing.T) {
	token := func(resource, key string, lasts time.Duration) string {
		return sas.Sign(resource, "root", key, time.Now().Add(lasts))
	}
	for name, tc := range map[string]struct {
		show  func(w *world) *goamqp.Conn
		stays bool
	}{
		"nothing":        {func(w *world) *goamqp.Conn { return w.dial() }, false},
		"a good token":   {shows("sb://localhost/q", func() string { return token("sb://localhost/q", "key", time.Minute) }), true},
		"of the whole":   {shows("sb://localhost", func() string { return token("sb://localhost", "key", time.Minute) }), true},
		"of no entity":   {shows("sb://localhost/none", func() string { return token("sb://localhost/none", "key", time.Minute) }), true},
		"expired":        {shows("sb://localhost/q", func() string { return token("sb://localhost/q", "key", -time.Second) }), false},
		"a wrong key":    {shows("sb://localhost/q", func() string { return token("sb://localhost/q", "yek", time.Minute) }), false},
		"for another":    {shows("sb://localhost/q", func() string { return token("sb://localhost/r", "key", time.Minute) }), false},
		"PLAIN":          {func(w *world) *goamqp.Conn { c, _ := w.plain("root", "key"); return c }, true},
		"PLAIN, wrong":   {func(w *world) *goamqp.Conn { c, _ := w.plain("root", "yek"); return c }, false},
		"PLAIN, nowhere": {func(w *world) *goamqp.Conn { c, _ := w.plain("own", "own"); return c }, false},
		"PLAIN, an entity's": {func(w *world) *goamqp.Conn {
			c, s := w.plain("own", "own")
			if _, err := s.NewSender(w.t.Context(), "q", nil); err != nil {
				w.t.Error(err)
			}
			return c
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			enforced(t, func(w *world, log *bytes.Buffer) {
				c := tc.show(w)
				time.Sleep(20*time.Second - time.Millisecond)
				synctest.Wait()
				select {
				case <-c.Done():
					t.Fatalf("the connection was closed too early: %v", c.Err())
				default:
				}
				time.Sleep(2 * time.Millisecond)
				synctest.Wait()
				closed := false
				select {
				case <-c.Done():
					closed = true
				default:
				}
				if closed == tc.stays {
					t.Errorf("closed: %v, %v", closed, c.Err())
				}
				if want := "no valid token within 20s of its open"; closed != strings.Contains(log.String(), want) ||
					closed && (c.Err() == nil || !strings.Contains(c.Err().Error(), want) || !strings.Contains(c.Err().Error(), "amqp:unauthorized-access")) {
					t.Errorf("the client got %v, and the log says\n%s", c.Err(), log)
				}
				if tc.stays { // even when its token has expired
					time.Sleep(time.Hour)
					synctest.Wait()
					if err := c.Err(); err != nil {
						t.Errorf("the connection was closed later: %v", err)
					}
				}
			})
		})
	}
}

func shows(audience string, token func() string) func(w *world) *goamqp.Conn {
	return func(w *world) *goamqp.Conn {
		conn := w.dial()
		s, err := conn.NewSession(w.t.Context(), nil)
		if err != nil {
			w.t.Fatal(err)
		}
		c := &cbsClient{t: w.t.(*testing.T), s: s}
		if c.out, err = s.NewSender(w.t.Context(), "$cbs", nil); err != nil {
			w.t.Fatal(err)
		}
		if c.in, err = s.NewReceiver(w.t.Context(), "$cbs", &goamqp.ReceiverOptions{TargetAddress: "me", Credit: 10}); err != nil {
			w.t.Fatal(err)
		}
		c.put(sastoken, audience, token())
		return conn
	}
}

// Before a valid token, a client may attach a few links to $cbs and no others, even with
// a wrong key in SASL PLAIN.
func TestLinksBeforeToken(t *testing.T) {
	coordinator := wire.Attach{Name: "tx", Handle: 1, Role: wire.RoleSender, Source: &wire.Source{}, Coordinator: &wire.Coordinator{}}
	enforced(t, func(w *world, _ *bytes.Buffer) {
		c := w.client()
		for what, a := range map[string]wire.Attach{
			"Send of q":                amqptest.SenderAttach(1, "q"),
			"Listen of q":              amqptest.ReceiverAttach(1, "q"),
			"Send of q's management":   amqptest.SenderAttach(1, "q/$management"),
			"Listen of q's management": amqptest.ReceiverAttach(1, "q/$management"),
			"Listen of nothing's":      amqptest.ReceiverAttach(1, "nothing/$management"),
			"Send of the coordinator":  coordinator,
		} {
			right, _, _ := strings.Cut(what, " ")
			want := "Unauthorized access. '" + right + "' claim(s) are required to perform this operation." // sdk-demands 43
			if e := refused(c, a); e == nil || e.Condition != wire.CondUnauthorizedAccess || !strings.HasPrefix(e.Description, want) {
				t.Errorf("%s: %+v", what, e)
			}
		}
		c.Attach(0, amqptest.SenderAttach(1, "$cbs"))
		for handle := range uint32(15) {
			c.Attach(0, amqptest.ReceiverAttach(2+handle, "$cbs"))
		}
		if e := refused(c, amqptest.ReceiverAttach(20, "$cbs")); e == nil || e.Condition != wire.CondUnauthorizedAccess {
			t.Errorf("a further link: %+v", e)
		}
		_, s := w.plain("root", "yek")
		for _, node := range []string{"q/$management", "x/$management", "q"} {
			if _, err := s.NewSender(w.t.Context(), node, nil); err == nil || !strings.Contains(err.Error(), "amqp:unauthorized-access") {
				t.Errorf("a wrong key opens %s: %v", node, err)
			}
		}
	})
	enforced(t, func(w *world, _ *bytes.Buffer) { // an entity's key opens its entity, and then all others
		_, s := w.plain("own", "own")
		if _, err := s.NewSender(w.t.Context(), "q/$management", nil); err == nil {
			t.Error("management was attached before a valid token")
		}
		for _, node := range []string{"q", "q/$management"} {
			if _, err := s.NewSender(w.t.Context(), node, nil); err != nil {
				t.Errorf("%s: %v", node, err)
			}
		}
	})
}

// A client without a token can begin at most about a thousand sessions, so that it leaves memory to
// clients with tokens.
func TestStateBeforeToken(t *testing.T) {
	enforced(t, func(w *world, _ *bytes.Buffer) {
		c := amqptest.Connect(t, w.plug(), wire.Open{})
		ended := 0
		for channel := range uint16(2_000) {
			c.WriteFrames(channel, &wire.Begin{IncomingWindow: 1, OutgoingWindow: 1})
			amqptest.Expect[*wire.Begin](c)
			synctest.Wait()
			if len(c.Pending()) > 0 {
				if e := amqptest.Expect[*wire.End](c); e.Error == nil || e.Error.Condition != wire.CondResourceLimitExceeded {
					t.Fatalf("%+v", e)
				}
				ended++
			}
		}
		if ended < 900 {
			t.Errorf("%d of 2,000 sessions were refused", ended)
		}
		if n := w.s.LinkBytes(); n > 2<<20 {
			t.Errorf("the links use %d bytes", n)
		}
		_, s := w.plain("root", "key")
		if _, err := s.NewSender(w.t.Context(), "q", nil); err != nil {
			t.Error(err)
		}
		c.Disconnect()
		synctest.Wait()
	})
}
