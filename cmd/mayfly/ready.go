package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/web/show"
)

// What a server may be.
const (
	stateReady   = "ready"
	stateStandby = "standby"
)

// Ready says where a server is that has started, and what it is.
type Ready struct {
	State     string `json:"state"`     // ready or standby
	Dashboard string `json:"dashboard"` // URL without a slash at the end; the JSON API is at /api/v1 below it
	Admin     string `json:"admin"`     // URL of Service Bus REST and /health
	AMQP      string `json:"amqp"`      // host and port of AMQP
	Curl      string `json:"curl"`      // a line for a shell that sends a message, now; empty while it stands by
	Data      string `json:"data"`      // where messages are kept: a file, a database, or that they are not
	Namespace string `json:"namespace"`
	Epoch     uint64 `json:"epoch"`           // how many times the namespace has been opened, so far, by whoever owns it
	Owner     string `json:"owner,omitempty"` // while it stands by: where the server is that owns the namespace
}

// ready is what there is to tell whatever the namespace holds.
func (p *program) ready(state string) Ready {
	return Ready{
		State: state, Dashboard: address(p.dashboard.Addr()), Admin: address(p.admin.Addr()), AMQP: p.amqp.Addr().String(),
		Data: data(p.c.Store), Namespace: p.c.Namespace,
	}
}

func (r Ready) print(w io.Writer, asJSON bool) error {
	if asJSON {
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		return e.Encode(r)
	}
	if r.State == stateStandby {
		_, err := fmt.Fprintf(w, "Standing by: the server at %s owns namespace %s. This one, at %s, takes over when that one ends.\n", r.Owner, r.Namespace, r.Dashboard)
		return err
	}
	_, err := fmt.Fprintf(w, "Mayfly is running. Ctrl-C stops it.\n\n  Dashboard    %s\n  Service Bus  %s\n  AMQP         %s\n  Send         %s\n  Data         %s\n\n",
		r.Dashboard, r.Admin, r.AMQP, r.Curl, tilde(r.Data))
	return err
}

// curl is a line that sends a message and works as it stands: to a queue that
// is there or, in an empty namespace, to one that it makes.
func curl(ctx context.Context, b *broker.Broker, r Ready) (line string, err error) {
	err = b.Read(ctx, func(look broker.Reader) error {
		line = firstCurl(r)
		all := look.States(engine.Queue)
		if i := slices.IndexFunc(all, show.TakesSends); i >= 0 {
			line = fmt.Sprintf(`curl -d hello -H 'BrokerProperties: {"TimeToLive":60}' %s/%s/messages`, r.Admin, all[i].Path)
		}
		return nil
	})
	return line, err
}

// firstCurl is a line that sends a message to a queue that it makes.
func firstCurl(r Ready) string {
	return fmt.Sprintf(`curl -d '{"body":"hello","timeToLive":"60s"}' '%s/api/v1/send/hello?create=queue'`, r.Dashboard)
}
