package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"slices"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/web/show"
)

// Ready says where a server is that has started.
type Ready struct {
	Dashboard string `json:"dashboard"` // URL without a slash at the end; the JSON API is at /api/v1 below it
	Admin     string `json:"admin"`     // URL of Service Bus REST and /health
	Curl      string `json:"curl"`      // a line for a shell that sends a message, now
	Data      string `json:"data"`      // where messages are kept: a file, or that they are not
	Namespace string `json:"namespace"`
}

func (r Ready) print(w io.Writer, asJSON bool) error {
	if asJSON {
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		return e.Encode(r)
	}
	_, err := fmt.Fprintf(w, "Mayfly is running. Ctrl-C stops it.\n\n  Dashboard    %s\n  Service Bus  %s\n  Send         %s\n  Data         %s\n\n",
		r.Dashboard, r.Admin, r.Curl, tilde(r.Data))
	return err
}

// address is a listener's URL as somebody on this machine would open it.
func address(a net.Addr) string {
	at, ok := a.(*net.TCPAddr)
	if !ok {
		return "http://" + a.String()
	}
	host := at.IP.String()
	if at.IP.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, fmt.Sprint(at.Port))
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
