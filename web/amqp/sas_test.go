package amqp_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	goamqp "github.com/Azure/go-amqp"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/web/amqp"
	"mayfly/web/auth/sas"
)

// A tokenWorld is a world that enforces tokens. Its rules have the keys KEY1 and KEY2.
type tokenWorld struct {
	*world
	at string
}

func newTokenWorld(t *testing.T) *tokenWorld {
	w := newWorld(t, amqp.Options{SAS: sas.Enforce}, broker.Options{})
	f := &tokenWorld{world: w}
	for name, right := range map[string]engine.Rights{"root": engine.ManageRight, "send": engine.SendRight, "listen": engine.ListenRight} {
		f.rule(engine.AccessRule{Name: name, Rights: right, PrimaryKey: name + "1", SecondaryKey: name + "2"})
	}
	w.b.CreateQueue("q", engine.Config{AuthorizationRules: []engine.AccessRule{{Name: "own", Rights: engine.SendRight, PrimaryKey: "own1"}}})
	w.b.CreateQueue("other", engine.Config{})
	return f
}

func (f *tokenWorld) rule(r engine.AccessRule) {
	f.t.Helper()
	if _, err := f.b.SetAccessRule(f.t.Context(), "", r, "tester"); err != nil {
		f.t.Fatal(err)
	}
}

// client returns a client of the Go SDK with a rule and a key.
func (f *tokenWorld) client(rule, key string) *azservicebus.Client {
	f.t.Helper()
	if f.at == "" {
		f.at = f.listen()
	}
	c, err := azservicebus.NewClientFromConnectionString(fmt.Sprintf("Endpoint=sb://%s;SharedAccessKeyName=%s;SharedAccessKey=%s;UseDevelopmentEmulator=true;", f.at, rule, key),
		&azservicebus.ClientOptions{RetryOptions: azservicebus.RetryOptions{MaxRetries: -1}})
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { c.Close(context.Background()) })
	return c
}

// tries are the operations of clients in the SDK.
var tries = map[string]func(context.Context, *azservicebus.Client, string) error{
	"send": func(ctx context.Context, c *azservicebus.Client, to string) error {
		return send(ctx, c, to, &azservicebus.Message{Body: []byte("x")})
	},
	"schedule": func(ctx context.Context, c *azservicebus.Client, to string) error {
		s, err := c.NewSender(to, nil)
		if err == nil {
			_, err = s.ScheduleMessages(ctx, []*azservicebus.Message{{Body: []byte("x")}}, time.Now().Add(time.Hour), nil)
		}
		return err
	},
	"peek": func(ctx context.Context, c *azservicebus.Client, from string) error {
		r, err := c.NewReceiverForQueue(from, nil)
		if err == nil {
			_, err = r.PeekMessages(ctx, 1, nil)
		}
		return err
	},
	"receive": func(ctx context.Context, c *azservicebus.Client, from string) error {
		r, err := c.NewReceiverForQueue(from, nil)
		if err == nil {
			var got []*azservicebus.ReceivedMessage
			if got, err = r.ReceiveMessages(ctx, 1, nil); err == nil {
				err = r.AbandonMessage(ctx, got[0], nil)
			}
		}
		return err
	},
}

// Each right allows its own operations and no others, whichever of the two keys signs.
// The SDK gets an error that it recognises.
func TestRightsOfTheSDK(t *testing.T) {
	f := newTokenWorld(t)
	if err := tries["send"](t.Context(), f.client("root", "root1"), "q"); err != nil {
		t.Fatal(err) // the message to receive
	}
	for _, tc := range []struct{ rule, key, at, may string }{
		{"root", "root1", "q", "send schedule peek receive"},
		{"root", "root2", "q", "send schedule peek receive"},
		{"send", "send1", "q", "send schedule"},
		{"send", "send2", "q", "send schedule"},
		{"listen", "listen1", "q", "peek receive"},
		{"listen", "listen2", "q", "peek receive"},
		{"own", "own1", "q", "send schedule"},
		{"own", "own1", "other", ""},
		{"root", "wrong", "q", ""},
		{"nobody", "root1", "q", ""},
	} {
		c := f.client(tc.rule, tc.key)
		for what, try := range tries {
			err := try(t.Context(), c, tc.at)
			if may := strings.Contains(tc.may, what); may != (err == nil) {
				t.Errorf("%s with %s: %s at %s: %v", tc.rule, tc.key, what, tc.at, err)
			} else if e, ok := errors.AsType[*azservicebus.Error](err); err != nil && (!ok || e.Code != azservicebus.CodeUnauthorizedAccess) {
				t.Errorf("%s with %s: %s is refused with %T %v", tc.rule, tc.key, what, err, err)
			}
		}
	}
}

// A regenerated key stops new links. The other key stays valid.
func TestRotatedKey(t *testing.T) {
	f := newTokenWorld(t)
	first, second := f.client("root", "root1"), f.client("root", "root2")
	if err := errors.Join(tries["send"](t.Context(), first, "q"), tries["send"](t.Context(), second, "q")); err != nil {
		t.Fatal(err)
	}
	r, err := f.b.RegenerateAccessKey(t.Context(), "", "root", engine.PrimaryKey, "tester")
	if err != nil {
		t.Fatal(err)
	}
	if err := tries["send"](t.Context(), first, "other"); err == nil {
		t.Error("the old key is still accepted")
	}
	if err := errors.Join(tries["send"](t.Context(), second, "other"), tries["send"](t.Context(), f.client("root", r.PrimaryKey), "other")); err != nil {
		t.Errorf("the other keys: %v", err)
	}
}

// SASL PLAIN with a rule's name and key gives all rights of the rule.
func TestPlain(t *testing.T) {
	f := newTokenWorld(t)
	try := func(rule, key string) error {
		c, err := goamqp.NewConn(t.Context(), f.plug(), &goamqp.ConnOptions{SASLType: goamqp.SASLTypePlain(rule, key)})
		if err != nil {
			return err
		}
		defer c.Close()
		s, err := c.NewSession(t.Context(), nil)
		if err == nil {
			_, err = s.NewSender(t.Context(), "q", nil)
		}
		return err
	}
	for _, tc := range []struct {
		rule, key string
		may       bool
	}{{"root", "root1", true}, {"send", "send2", true}, {"own", "own1", true}, {"listen", "listen1", false}, {"send", "x", false}, {"own", "", false}} {
		err := try(tc.rule, tc.key)
		if e, ok := errors.AsType[*goamqp.Error](err); tc.may != (err == nil) || err != nil && (!ok || e.Condition != goamqp.ErrCondUnauthorizedAccess ||
			!strings.HasPrefix(e.Description, "Unauthorized access. 'Send' claim(s) are required to perform this operation.")) { // sdk-demands 43
			t.Errorf("%s with %q: %v", tc.rule, tc.key, err)
		}
	}
}
