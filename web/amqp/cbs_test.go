package amqp_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	goamqp "github.com/Azure/go-amqp"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/web/amqp"
	"mayfly/web/auth/sas"
)

// A cbsClient is a pair of links to $cbs.
type cbsClient struct {
	t   *testing.T
	s   *goamqp.Session
	out *goamqp.Sender
	in  *goamqp.Receiver
}

// called reports whether host is the server's name in these tests.
func called(host string) bool { return host == "h" }

func (w *world) counter(t *testing.T) *cbsClient {
	t.Helper()
	return counterOn(t, w.dial())
}

func counterOn(t *testing.T, nc *goamqp.Conn) *cbsClient {
	t.Helper()
	s, err := nc.NewSession(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &cbsClient{t: t, s: s}
	if c.out, err = s.NewSender(t.Context(), "$cbs", nil); err != nil {
		t.Fatal(err)
	}
	if c.in, err = s.NewReceiver(t.Context(), "$cbs", &goamqp.ReceiverOptions{TargetAddress: "me", Credit: 10}); err != nil {
		t.Fatal(err)
	}
	return c
}

// put sends a token and returns the server's reply.
func (c *cbsClient) put(kind, audience string, token any) (status int32, description, condition string) {
	c.t.Helper()
	to := "me"
	if err := c.out.Send(c.t.Context(), &goamqp.Message{
		Properties: &goamqp.MessageProperties{MessageID: "1", ReplyTo: &to}, Value: token,
		ApplicationProperties: map[string]any{"operation": "put-token", "type": kind, "name": audience},
	}, nil); err != nil {
		c.t.Fatal(err)
	}
	m, err := c.in.Receive(c.t.Context(), nil)
	if err != nil {
		c.t.Fatal(err)
	}
	status, _ = m.ApplicationProperties["status-code"].(int32)
	description, _ = m.ApplicationProperties["status-description"].(string)
	if s, ok := m.ApplicationProperties["error-condition"].(goamqp.Symbol); ok {
		condition = string(s)
	} else if s, ok := m.ApplicationProperties["error-condition"].(string); ok {
		condition = s
	}
	return status, description, condition
}

const sastoken = "servicebus.windows.net:sastoken"

// TestTokens checks the replies of $cbs to tokens.
func TestTokens(t *testing.T) {
	for _, policy := range []sas.Policy{sas.Accept, sas.Enforce} {
		t.Run(policy.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, amqp.Options{SAS: policy, Names: called}, broker.Options{})
				w.b.CreateQueue("Q", engine.Config{})
				if _, err := w.b.SetAccessRule(t.Context(), "", engine.AccessRule{Name: "root", Rights: engine.ManageRight, PrimaryKey: "key"}, ""); err != nil {
					t.Fatal(err)
				}
				good := func(resource string) string { return sas.Sign(resource, "root", "key", time.Now().Add(time.Hour)) }
				c := w.counter(t)
				for name, tc := range map[string]struct {
					kind, audience string
					token          any
					enforced       int32 // status if tokens are enforced
					accepted       int32 // status if not
					description    string
				}{
					"a good one":             {sastoken, "sb://h/q", good("sb://h/q"), 202, 202, "Accepted"},
					"one that is called jwt": {"jwt", "amqp://h/q", good("sb://h/q"), 202, 202, "Accepted"},
					"of $management":         {sastoken, "sb://h/q/$management", good("sb://h/q"), 202, 202, "Accepted"},
					"of the dead letters":    {sastoken, "sb://h/q/$DeadLetterQueue", good("sb://h/q/$DeadLetterQueue"), 202, 202, "Accepted"},
					"of the namespace":       {sastoken, "sb://h/", good("sb://h"), 202, 202, "Accepted"},
					"expired":                {sastoken, "sb://h/q", sas.Sign("sb://h/q", "root", "key", time.Now()), 401, 202, "ExpiredToken: The token is expired. Expiration time:"},
					"signed by another":      {sastoken, "sb://h/q", sas.Sign("sb://h/q", "root", "yek", time.Now().Add(time.Hour)), 401, 202, "InvalidSignature: "},
					"for another host":       {sastoken, "sb://h/q", good("sb://evil.example/q"), 401, 202, "InvalidAudience: The token is for another audience. It is for the host 'evil.example'"},
					"of another host":        {sastoken, "sb://h/", good("sb://evil.example/"), 401, 202, "InvalidAudience: "},
					"without a host":         {sastoken, "sb://h/", good("orders"), 401, 202, "InvalidAudience: "},
					"for everything":         {sastoken, "sb://h/", good("*"), 401, 202, "InvalidAudience: "},
					"for another":            {sastoken, "sb://h/q", good("sb://h/r"), 401, 202, "InvalidAudience: "},
					"no signature":           {"jwt", "sb://h/q", "eyJhbGciOiJub25lIn0.e30.", 401, 202, "MalformedToken: "},
					"nothing":                {sastoken, "sb://h/q", "", 401, 202, "MissingToken: "},
					"a number":               {sastoken, "sb://h/q", int64(7), 401, 202, "MissingToken: "},
					"a missing entity":       {sastoken, "amqp://h/Nothing", good("sb://h/nothing"), 404, 404, "The messaging entity 'Nothing' could not be found."}, // sdk-demands 1
					"missing, and wrong":     {sastoken, "sb://h/nothing", "", 401, 404, ""},
				} {
					want := tc.enforced
					if policy == sas.Accept {
						want = tc.accepted
					}
					status, description, condition := c.put(tc.kind, tc.audience, tc.token)
					if status != want || status == tc.enforced && !strings.HasPrefix(description, tc.description) || condition != map[int32]string{202: "", 401: "amqp:unauthorized-access", 404: "amqp:not-found"}[want] {
						t.Errorf("%s: %d %s %q; want %d %q", name, status, condition, description, want, tc.description)
					}
				}
			})
		})
	}
}

// A link lasts as long as the token with which it was attached, or a later one. So does
// the right to use $management.
func TestLinksOutOfTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, amqp.Options{SAS: sas.Enforce, Names: called}, broker.Options{})
		w.b.CreateQueue("q", engine.Config{})
		w.b.CreateQueue("r", engine.Config{})
		if _, err := w.b.SetAccessRule(t.Context(), "", engine.AccessRule{Name: "root", Rights: engine.SendRight | engine.ListenRight, PrimaryKey: "key"}, ""); err != nil {
			t.Fatal(err)
		}
		c := w.counter(t)
		show := func(path string, lasts time.Duration) {
			t.Helper()
			if status, description, _ := c.put(sastoken, "sb://h/"+path, sas.Sign("sb://h/"+path, "root", "key", time.Now().Add(lasts))); status != 202 {
				t.Fatal(description)
			}
		}
		if _, err := c.s.NewSender(t.Context(), "q", nil); err == nil {
			t.Fatal("a link without a token was attached")
		}
		show("q", time.Minute)
		show("r", 3*time.Minute)
		q, err := c.s.NewSender(t.Context(), "q", nil)
		if err != nil {
			t.Fatal(err)
		}
		from, err := c.s.NewReceiver(t.Context(), "q", nil)
		if err != nil {
			t.Fatal(err)
		}
		r, err := c.s.NewSender(t.Context(), "r", nil)
		if err != nil {
			t.Fatal(err)
		}
		sends := func(s *goamqp.Sender, want bool) {
			t.Helper()
			err := s.Send(t.Context(), goamqp.NewMessage([]byte("x")), nil)
			if (err == nil) != want || err != nil && (!strings.Contains(err.Error(), "amqp:unauthorized-access") || !strings.Contains(err.Error(), "ExpiredToken: The token is expired. Expiration time:")) {
				t.Errorf("after %v: %v", time.Now().UTC(), err)
			}
		}
		time.Sleep(50 * time.Second)
		show("q", time.Minute) // the link now lasts until 1:50
		time.Sleep(59 * time.Second)
		sends(q, true)
		sends(r, true)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		sends(q, false)
		sends(r, true)
		for err = nil; err == nil; { // until the deliveries that arrived before are read
			_, err = from.Receive(t.Context(), nil)
		}
		if !strings.Contains(err.Error(), "ExpiredToken") {
			t.Errorf("the receiver got %v", err)
		}
		if _, err := c.s.NewSender(t.Context(), "q", nil); err == nil {
			t.Error("a link with an expired token was attached")
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		sends(r, false)
		show("q", time.Minute)
		if q, err = c.s.NewSender(t.Context(), "q", nil); err != nil {
			t.Fatal(err)
		}
		sends(q, true)
	})
}

// A link through an entity lasts as long as the tokens for both entities: renewing the
// token for one does not extend the other.
func TestLinkByWayOutOfTime(t *testing.T) {
	for name, renewed := range map[string][]string{"neither": nil, "the way": {"q"}, "the end": {"r"}, "both": {"q", "r"}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, amqp.Options{SAS: sas.Enforce, Names: called}, broker.Options{})
				w.b.CreateQueue("q", engine.Config{})
				w.b.CreateQueue("r", engine.Config{})
				if _, err := w.b.SetAccessRule(t.Context(), "", engine.AccessRule{Name: "root", Rights: engine.SendRight, PrimaryKey: "key"}, ""); err != nil {
					t.Fatal(err)
				}
				c := w.counter(t)
				show := func(paths ...string) {
					t.Helper()
					for _, path := range paths {
						if status, description, _ := c.put(sastoken, "sb://h/"+path, sas.Sign("sb://h/"+path, "root", "key", time.Now().Add(time.Minute))); status != 202 {
							t.Fatal(description)
						}
					}
				}
				show("q", "r")
				s, err := c.s.NewSender(t.Context(), "q", &goamqp.SenderOptions{Properties: map[string]any{"com.microsoft:transfer-destination-address": "r"}})
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(50 * time.Second)
				show(renewed...)
				time.Sleep(11 * time.Second)
				synctest.Wait()
				err = s.Send(t.Context(), goamqp.NewMessage([]byte("x")), nil)
				if (err == nil) != (len(renewed) == 2) || err != nil && !strings.Contains(err.Error(), "ExpiredToken") {
					t.Errorf("the send returned %v", err)
				}
			})
		})
	}
}
