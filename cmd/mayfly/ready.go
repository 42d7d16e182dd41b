package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/web/sas"
	"mayfly/web/show"
)

// What a server may be.
const (
	stateReady   = "ready"
	stateStandby = "standby"
)

// Ready says where a server is that has started, and what it is.
type Ready struct {
	State     string `json:"state"`           // ready or standby
	Dashboard string `json:"dashboard"`       // URL without a slash at the end
	API       string `json:"api"`             // URL of the JSON API of the namespace, without a slash at the end
	Admin     string `json:"admin"`           // URL of Service Bus REST and /health
	AMQP      string `json:"amqp,omitempty"`  // host and port of AMQP
	AMQPS     string `json:"amqps,omitempty"` // host and port of AMQP with TLS
	HTTPS     string `json:"https,omitempty"` // URL of what Admin is, with TLS
	CA        string `json:"ca,omitempty"`    // path of what clients are to trust for TLS; empty where the operator's own certificate is served
	// What SDKs are given, on this machine, with the word KEY for the key where
	// tokens are asked for: for messages, if AMQP is to be had
	// without TLS, and for entities.
	ConnectionString      string `json:"connectionString,omitempty"`
	AdminConnectionString string `json:"adminConnectionString"`
	// Curl is a line for a shell that sends a message, now: with the token in MAYFLY_TOKEN
	// where the API asks for one. Empty while it stands by.
	Curl      string `json:"curl"`
	Data      string `json:"data"` // where messages are kept: a file, a database, or that they are not
	Namespace string `json:"namespace"`
	Epoch     uint64 `json:"epoch"`           // how many times the namespace has been opened, so far, by whoever owns it
	Owner     string `json:"owner,omitempty"` // while it stands by: where the server is that owns the namespace

	Asks bool `json:"asks,omitempty"` // the dashboard and the API ask who somebody is
}

// ready is what there is to tell whatever the namespace holds.
func (sp *space) ready(state string) Ready {
	p, host := sp.p, sp.p.hostOf(sp.spec.Name)
	r := Ready{State: state, Dashboard: address(p.ports.dashboard.Addr()), Admin: address(p.ports.admin.Addr()), Data: data(sp.store), Namespace: sp.spec.Name, Asks: p.people.door != nil}
	r.ConnectionString, r.AdminConnectionString = p.connections(sp.spec.Name)
	r.API = r.Dashboard + "/api/v1"
	if !sp.main { // whose name is part of its addresses
		r.API += "/n/" + sp.spec.Name
		r.Admin = addressNamed(p.ports.admin.Addr(), host)
	}
	if at := p.ports.amqp; at != nil {
		r.AMQP = at.Addr().String()
	}
	if at := p.ports.amqps; at != nil {
		r.AMQPS = at.Addr().String()
	}
	if at := p.ports.https; at != nil {
		r.HTTPS = "https" + strings.TrimPrefix(address(at.Addr()), "http")
	}
	if p.ports.authority != nil {
		r.CA = p.ports.authority.CA()
	}
	return r
}

// hostOf is what clients on this machine call the server by for a namespace.
func (p *program) hostOf(name string) string {
	if name == p.c.Namespace {
		return "localhost"
	}
	return name + ".localhost"
}

// connections are what SDKs are given for a namespace, as Ready has them.
func (p *program) connections(name string) (messages, admin string) {
	host := p.hostOf(name)
	if at := p.ports.amqp; at != nil {
		messages = connectionString(host, at.Addr(), portAMQP)
	}
	admin = connectionString(host, p.ports.admin.Addr(), 0)
	if p.c.SAS == sas.Enforce { // which key is nothing for a log
		messages, admin = withoutKey(messages), withoutKey(admin)
	}
	return messages, admin
}

// withoutKey has KEY where the key is to stand that the JSON API tells.
func withoutKey(connection string) string {
	return strings.Replace(connection, "SharedAccessKey=SAS_KEY_VALUE", keyElsewhere, 1)
}

// keyElsewhere is what a connection string says instead of a key.
const keyElsewhere = "SharedAccessKey=KEY"

// portAMQP is where SDKs look for AMQP if a connection string says nothing else.
const portAMQP = 5672

// connectionString is what an SDK on this machine is given for a listener, by a
// name of the machine. The port is left out where it is the usual one.
func connectionString(host string, a net.Addr, usual int) string {
	port := 0
	if at, ok := a.(*net.TCPAddr); ok {
		port = at.Port
		if !at.IP.IsUnspecified() && !at.IP.IsLoopback() && host == "localhost" {
			host = at.IP.String()
		}
	}
	switch {
	case port != usual:
		host = net.JoinHostPort(host, strconv.Itoa(port))
	case strings.Contains(host, ":"):
		host = "[" + host + "]"
	}
	return "Endpoint=sb://" + host + ";SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey=SAS_KEY_VALUE;UseDevelopmentEmulator=true;"
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
	var b strings.Builder
	b.WriteString("Mayfly is running. Ctrl-C stops it.\n\n")
	for _, line := range [][2]string{
		{"Dashboard", r.Dashboard}, {"Service Bus", r.Admin}, {"AMQP", r.AMQP}, {"with TLS", strings.TrimSpace(r.AMQPS + "  " + r.HTTPS)}, {"Trust", tilde(r.CA)},
		{"SDKs", r.ConnectionString}, {"Send", r.Curl}, {"Data", tilde(r.Data)},
	} {
		if line[1] != "" {
			fmt.Fprintf(&b, "  %-11s  %s\n", line[0], line[1])
		}
	}
	if strings.Contains(r.ConnectionString, keyElsewhere) {
		b.WriteString("\n  KEY stands for a key: the dashboard's page Access has those of the namespace.\n")
	}
	if strings.Contains(r.Curl, tokenVariable) {
		fmt.Fprintf(&b, "\n  %s is to hold a token of an admin: sign in, and make one at %s/tokens.\n", tokenVariable, r.Dashboard)
	}
	b.WriteByte('\n')
	_, err := io.WriteString(w, b.String())
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
	token := ""
	if r.Asks {
		token = `-H "Authorization: Bearer $` + tokenVariable + `" `
	}
	return fmt.Sprintf(`curl %s-d '{"body":"hello","timeToLive":"60s"}' '%s/send/hello?create=queue'`, token, r.API)
}

// tokenVariable is where commands look for a token.
const tokenVariable = "MAYFLY_TOKEN"
