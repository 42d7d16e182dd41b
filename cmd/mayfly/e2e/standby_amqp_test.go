package e2e

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/Azure/go-amqp"

	"mayfly/cmd/mayfly/server"
	"mayfly/engine"
)

// sentAway returns the reason for which a standby closed a connection.
func sentAway(t *testing.T, err error) string {
	t.Helper()
	e, ok := errors.AsType[*amqp.ConnError](err)
	if !ok || e.RemoteErr == nil || e.RemoteErr.Condition != amqp.ErrCondConnectionForced {
		t.Fatalf("got %v, want amqp:connection:forced", err)
	}
	return e.RemoteErr.Description
}

// TestStandbySendsAMQPAway checks that clients that are connected when the namespace is lost, and
// later ones, get an error with the owner's AMQP address, if it has one.
func TestStandbySendsAMQPAway(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for name, tc := range map[string]struct {
		owner engine.Owner
		want  string
	}{
		"of this version":   {engine.Owner{Dashboard: "http://till-2.example:8080", AMQP: "till-2.example:5672", Host: "till-2"}, "the server at till-2.example:5672 owns"},
		"of an earlier one": {other, "the server at http://till-2.example:8080 owns"},
		"by its host":       {engine.Owner{Host: "till-2"}, "the server at till-2 owns"},
	} {
		t.Run(name, func(t *testing.T) {
			on := NewSharedStore()
			s := StartShared(t, on, server.Config{})
			r := s.Next(server.StateReady)
			c, err := amqp.Dial(ctx, "amqp://"+r.AMQP, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if _, err := c.NewSession(ctx, nil); err != nil {
				t.Fatal(err)
			}
			on.Seize(tc.owner)
			s.Next(server.StateStandby)
			select {
			case <-c.Done():
			case <-ctx.Done():
				t.Fatal("the connection is still open")
			}
			// At that moment the server may not know the new owner yet.
			if why := sentAway(t, c.Err()); !strings.Contains(why, tc.want) && !strings.Contains(why, "or to find its owner") {
				t.Errorf("a connected client got %q", why)
			}
			late, err := amqp.Dial(ctx, "amqp://"+r.AMQP, nil)
			if err == nil {
				defer late.Close()
				_, err = late.NewSession(ctx, nil)
			}
			if why := sentAway(t, err); !strings.Contains(why, tc.want) {
				t.Errorf("a later client got %q", why)
			}
			on.Release()
			s.Next(server.StateReady)
			again, err := amqp.Dial(ctx, "amqp://"+r.AMQP, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer again.Close()
			if _, err := again.NewSession(ctx, nil); err != nil {
				t.Error(err)
			}
			s.End()
		})
	}
}

// TestOwnerTellsWhereAMQPIs checks that a standby's error has the AMQP address that the owner
// advertises.
func TestOwnerTellsWhereAMQPIs(t *testing.T) {
	on := NewSharedStore()
	first := StartShared(t, on, server.Config{})
	owner := first.Next(server.StateReady)
	second := StartShared(t, on, server.Config{}).Next(server.StateStandby)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, err := amqp.Dial(ctx, "amqp://"+second.AMQP, nil)
	if err == nil {
		defer c.Close()
		_, err = c.NewSession(ctx, nil)
	}
	if why := sentAway(t, err); !strings.Contains(why, owner.AMQP) {
		t.Errorf("the error is %q, without %s", why, owner.AMQP)
	}
}

// TestSDKFindsTheOwner checks that a client that tries two servers in turn, like one behind a load
// balancer, continues after each takeover.
func TestSDKFindsTheOwner(t *testing.T) {
	on := NewSharedStore()
	first := StartShared(t, on, server.Config{})
	one := first.Next(server.StateReady)
	CreateQueue(t, one, "q")
	second := StartShared(t, on, server.Config{})
	two := second.Next(server.StateStandby)

	turn := atomic.Int64{}
	c := NewSDKClient(t, one.AMQP, azservicebus.ClientOptions{
		RetryOptions: azservicebus.RetryOptions{MaxRetries: 50, RetryDelay: time.Millisecond, MaxRetryDelay: 20 * time.Millisecond},
		NewWebSocketConn: func(ctx context.Context, _ azservicebus.NewWebSocketConnArgs) (net.Conn, error) {
			var d net.Dialer // any stream works
			return d.DialContext(ctx, "tcp", []string{one.AMQP, two.AMQP}[turn.Add(1)%2])
		},
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := c.NewSender("q", nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.NewReceiverForQueue("q", nil)
	if err != nil {
		t.Fatal(err)
	}
	works := func(when string) {
		t.Helper()
		if err := s.SendMessage(ctx, &azservicebus.Message{Body: []byte(when)}, nil); err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		got, err := r.ReceiveMessages(ctx, 1, nil)
		for err == nil && len(got) == 0 { // the SDK returns no messages when its link is lost
			got, err = r.ReceiveMessages(ctx, 1, nil)
		}
		if err != nil || string(got[0].Body) != when {
			t.Fatalf("%s: %v %v", when, got, err)
		}
		if err := r.CompleteMessage(ctx, got[0], nil); err != nil {
			t.Fatalf("%s: %v", when, err)
		}
	}
	works("at first")
	first.End()
	second.Next(server.StateReady)
	works("after a takeover")
	third := StartShared(t, on, server.Config{})
	third.Next(server.StateStandby)
	on.Seize(other)
	second.Next(server.StateStandby)
	on.Release()
	select { // either standby may take over
	case r := <-second.States:
		two = r
	case r := <-third.States:
		two = r
	}
	works("after being fenced")
}
