package main

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

	"mayfly/engine"
)

// sentAway is what a client hears of a server that does not serve it.
func sentAway(t *testing.T, err error) string {
	t.Helper()
	e, ok := errors.AsType[*amqp.ConnError](err)
	if !ok || e.RemoteErr == nil || e.RemoteErr.Condition != amqp.ErrCondConnectionForced {
		t.Fatalf("got %v, want amqp:connection:forced", err)
	}
	return e.RemoteErr.Description
}

// TestStandbySendsAMQPAway: those who are connected when the namespace is lost,
// and those who come later, are told where to go, by the address of AMQP where
// the owner has one.
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
			on := newShelf()
			s := share(t, on, Config{})
			r := s.next(stateReady)
			c, err := amqp.Dial(ctx, "amqp://"+r.AMQP, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if _, err := c.NewSession(ctx, nil); err != nil {
				t.Fatal(err)
			}
			on.seize(tc.owner)
			s.next(stateStandby)
			select {
			case <-c.Done():
			case <-ctx.Done():
				t.Fatal("the connection goes on")
			}
			// Whoever was there at that moment may not know yet who the owner is.
			if why := sentAway(t, c.Err()); !strings.Contains(why, tc.want) && !strings.Contains(why, "or to learn who does") {
				t.Errorf("who was connected is told %q", why)
			}
			late, err := amqp.Dial(ctx, "amqp://"+r.AMQP, nil)
			if err == nil {
				defer late.Close()
				_, err = late.NewSession(ctx, nil)
			}
			if why := sentAway(t, err); !strings.Contains(why, tc.want) {
				t.Errorf("who comes later is told %q", why)
			}
			on.release()
			s.next(stateReady)
			again, err := amqp.Dial(ctx, "amqp://"+r.AMQP, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer again.Close()
			if _, err := again.NewSession(ctx, nil); err != nil {
				t.Error(err)
			}
			s.end()
		})
	}
}

// TestOwnerTellsWhereAMQPIs: what one advertises, the other says.
func TestOwnerTellsWhereAMQPIs(t *testing.T) {
	on := newShelf()
	first := share(t, on, Config{})
	owner := first.next(stateReady)
	second := share(t, on, Config{}).next(stateStandby)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, err := amqp.Dial(ctx, "amqp://"+second.AMQP, nil)
	if err == nil {
		defer c.Close()
		_, err = c.NewSession(ctx, nil)
	}
	if why := sentAway(t, err); !strings.Contains(why, owner.AMQP) {
		t.Errorf("it says %q, not %s", why, owner.AMQP)
	}
}

// TestSDKFindsTheOwner: a client that tries two servers in turn, as one behind a
// load balancer does, goes on after each takeover without being made anew.
func TestSDKFindsTheOwner(t *testing.T) {
	on := newShelf()
	first := share(t, on, Config{})
	one := first.next(stateReady)
	made(t, one, "q")
	second := share(t, on, Config{})
	two := second.next(stateStandby)

	turn := atomic.Int64{}
	c := messaging(t, one.AMQP, azservicebus.ClientOptions{
		RetryOptions: azservicebus.RetryOptions{MaxRetries: 50, RetryDelay: time.Millisecond, MaxRetryDelay: 20 * time.Millisecond},
		NewWebSocketConn: func(ctx context.Context, _ azservicebus.NewWebSocketConnArgs) (net.Conn, error) {
			var d net.Dialer // any stream does
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
		for err == nil && len(got) == 0 { // that is how it says that its link was lost
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
	first.end()
	second.next(stateReady)
	works("after a takeover")
	third := share(t, on, Config{})
	third.next(stateStandby)
	on.seize(other)
	second.next(stateStandby)
	on.release()
	select { // whichever is quicker
	case r := <-second.news:
		two = r
	case r := <-third.news:
		two = r
	}
	works("after being fenced")
}
