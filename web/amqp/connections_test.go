package amqp_test

import (
	"errors"
	"io"
	"log/slog"
	"net"
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
	"mayfly/web/connlimit"
)

// worldWithConnectionLimit returns a world with a queue and room for most connections.
func worldWithConnectionLimit(t *testing.T, most int, policy sas.Policy) *world {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	w := newWorld(t, amqp.Options{Logger: quiet, SAS: policy, Connections: connlimit.New(connlimit.Options{Max: most, Logger: quiet})}, broker.Options{})
	w.b.CreateQueue("q", engine.Config{})
	return w
}

// ended reports whether the server has closed a connection without sending anything.
func ended(nc net.Conn) bool {
	_ = nc.SetReadDeadline(time.Now().Add(time.Millisecond)) //nolint:errcheck // the read returns the error
	_, err := nc.Read(make([]byte, 1))
	return errors.Is(err, io.EOF)
}

// Connections that stop in their handshake do not block others, and the oldest is closed
// first.
func TestHandshakesDoNotKeepOthersOut(t *testing.T) {
	for name, bytes := range map[string]string{"nothing": "", "part of a header": "AMQ"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := worldWithConnectionLimit(t, 8, sas.Accept)
				var silent []net.Conn
				for range 8 {
					nc := w.plug()
					if _, err := io.WriteString(nc, bytes); err != nil {
						t.Fatal(err)
					}
					silent = append(silent, nc)
					synctest.Wait()
				}
				c := w.client()
				c.AttachSender(0, 0, "q")
				if _, ok := c.Send(0, 0, 0, amqptest.DataMessage(nil)).(wire.Accepted); !ok {
					t.Error("a message was refused")
				}
				synctest.Wait()
				if !ended(silent[0]) || ended(silent[1]) {
					t.Error("a connection other than the oldest was closed")
				}
				for _, nc := range silent {
					_ = nc.Close()
				}
				synctest.Wait()
			})
		})
	}
}

// Where tokens are enforced, a connection without one is closed before an idle one that
// has shown one. Where they are not, the oldest connection without a link is closed. A
// connection that waits for messages stays.
func TestConnectionsWithTokensStay(t *testing.T) {
	for name, policy := range map[string]sas.Policy{"asked for": sas.Enforce, "not asked for": sas.Accept} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := worldWithConnectionLimit(t, 3, policy)
				if _, err := w.b.SetAccessRule(t.Context(), "", engine.AccessRule{Name: "app", Rights: engine.SendRight | engine.ListenRight, PrimaryKey: "app1"}, "tester"); err != nil {
					t.Fatal(err)
				}
				signedIn := func() *goamqp.Session {
					c, err := goamqp.NewConn(t.Context(), w.plug(), &goamqp.ConnOptions{SASLType: goamqp.SASLTypePlain("app", "app1")})
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { _ = c.Close() }) // the server may have closed it before
					s, err := c.NewSession(t.Context(), nil)
					if err != nil {
						t.Fatal(err)
					}
					return s
				}
				consumer, err := signedIn().NewReceiver(t.Context(), "q", &goamqp.ReceiverOptions{Credit: 10})
				if err != nil {
					t.Fatal(err)
				}
				idle := signedIn()
				snd, err := idle.NewSender(t.Context(), "q", nil)
				if err != nil {
					t.Fatal(err)
				}
				if err := snd.Close(t.Context()); err != nil { // the client has shown a valid token, and has no link any more
					t.Fatal(err)
				}
				nobody := w.client()
				synctest.Wait()
				w.client()
				synctest.Wait()
				_, err = idle.NewSender(t.Context(), "q", nil)
				if stays := policy == sas.Enforce; (err == nil) != stays {
					t.Errorf("the connection with a token and no link stays: %v", err)
				} else if stays {
					if e := nobody.WaitForClose(); e == nil || e.Condition != wire.CondConnectionForced {
						t.Errorf("no connection was closed, got %v", e)
					}
				}
				w.send("q", "", "for the consumer")
				if _, err := consumer.Receive(t.Context(), nil); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A connection without credit is closed before one that waits for messages. If all are in
// use, a new client gets an error.
func TestConnectionsWithCreditStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := worldWithConnectionLimit(t, 4, sas.Accept)
		from := func(address string) *amqptest.Client {
			nc, theirs := net.Pipe()
			go w.s.ServeConn(addressed{theirs, address}, "")
			c := amqptest.Connect(t, nc, wire.Open{})
			c.Begin(0)
			c.Attach(0, amqptest.ReceiverAttach(0, "q"))
			synctest.Wait()
			return c
		}
		var all []*amqptest.Client
		for _, at := range []string{"192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"} {
			c := from(at)
			c.GrantCredit(0, 0, 0, 1)
			all = append(all, c)
		}
		all[2].GrantCredit(0, 0, 0, 0)
		synctest.Wait()
		c := from("192.0.2.5")
		c.GrantCredit(0, 0, 0, 1)
		if e := all[2].WaitForClose(); e == nil || e.Condition != wire.CondConnectionForced {
			t.Errorf("the connection without credit was closed with %v", e)
		}
		synctest.Wait()
		nc, theirs := net.Pipe()
		go w.s.ServeConn(addressed{theirs, "192.0.2.6"}, "")
		if e := amqptest.Connect(t, nc, wire.Open{}).WaitForClose(); e == nil || e.Condition != wire.CondResourceLimitExceeded {
			t.Errorf("a further connection was closed with %v", e)
		}
		for i, c := range all {
			if i != 2 && c.ReadError() != nil {
				t.Errorf("the connection at %d was closed", i)
			}
		}
	})
}

// An addressed is a connection from an address.
type addressed struct {
	net.Conn
	at string
}

func (a addressed) RemoteAddr() net.Addr { return fixedAddr(a.at + ":1") }

type fixedAddr string

func (fixedAddr) Network() string  { return "tcp" }
func (a fixedAddr) String() string { return string(a) }
