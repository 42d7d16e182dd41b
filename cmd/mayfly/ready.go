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

	Listen []Listening `json:"listen,omitempty"` // ports of one namespace each

	Asks bool `json:"asks,omitempty"` // the dashboard and the API ask who somebody is
}

// ready is what there is to tell whatever the namespace holds.
func (sp *space) ready(state string) Ready {
	p := sp.p
	r := Ready{State: state, Dashboard: address(p.ports.dashboard.Addr()) + p.c.BasePath, Data: data(sp.store), Namespace: sp.spec.Name, Listen: p.listens(), Asks: p.people.door != nil}
	r.ConnectionString, r.AdminConnectionString = p.connections(sp.spec.Name)
	r.API = r.Dashboard + "/api/v1"
	if !sp.main { // whose name is part of its addresses
		r.API += "/n/" + sp.spec.Name
	}
	at, host := p.ports.reached(sp.spec.Name, kindAdmin)
	if r.Admin = address(at); host != "localhost" {
		r.Admin = addressNamed(at, host)
	}
	for kind, to := range map[string]*string{kindAMQP: &r.AMQP, kindAMQPS: &r.AMQPS, kindHTTPS: &r.HTTPS} {
		if at, _ := p.ports.reached(sp.spec.Name, kind); at != nil {
			*to = placeOf(at, kind)
		}
	}
	if p.ports.authority != nil {
		r.CA = p.ports.authority.CA()
	}
	return r
}

// A Listening is a port of one namespace.
type Listening struct {
	Namespace        string `json:"namespace"`
	Kind             string `json:"kind"`                       // amqp, amqps, admin or https
	At               string `json:"at"`                         // host and port, or a URL, as Ready has them
	ConnectionString string `json:"connectionString,omitempty"` // likewise, where it is to be had without TLS
}

// listens are the ports of one namespace, in the order of their flags.
func (p *program) listens() (all []Listening) {
	for _, o := range p.ports.its {
		l := Listening{Namespace: o.Namespace, Kind: o.Kind, At: placeOf(o.Addr(), o.Kind)}
		if !o.secure() {
			l.ConnectionString = p.connection("localhost", o.Addr(), o.Kind)
		}
		all = append(all, l)
	}
	return all
}

// placeOf is where a port of a kind is, as Ready has it.
func placeOf(at net.Addr, kind string) string {
	switch kind {
	case kindAdmin:
		return address(at)
	case kindHTTPS:
		return "https" + strings.TrimPrefix(address(at), "http")
	default:
		return at.String()
	}
}

// connections are what SDKs are given for a namespace, as Ready has them.
func (p *program) connections(name string) (messages, admin string) {
	if at, host := p.ports.reached(name, kindAMQP); at != nil {
		messages = p.connection(host, at, kindAMQP)
	}
	at, host := p.ports.reached(name, kindAdmin)
	return messages, p.connection(host, at, kindAdmin)
}

// connection is what SDKs are given for a port of a kind without TLS. Where keys are
// asked for, KEY stands where the one is to stand that the JSON API tells: it is nothing
// for a log.
func (p *program) connection(host string, at net.Addr, kind string) string {
	usual := 0
	if kind == kindAMQP {
		usual = portAMQP
	}
	s := connectionString(host, at, usual)
	if p.c.SAS == sas.Enforce {
		s = strings.Replace(s, "SharedAccessKey=SAS_KEY_VALUE", keyElsewhere, 1)
	}
	return s
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
	lines := [][2]string{{"Dashboard", r.Dashboard}, {"Service Bus", r.Admin}, {"AMQP", r.AMQP}, {"with TLS", strings.TrimSpace(r.AMQPS + "  " + r.HTTPS)}}
	for _, l := range r.Listen {
		lines = append(lines, [2]string{l.Namespace, l.Kind + " " + l.At})
	}
	lines = append(lines, [][2]string{{"Trust", tilde(r.CA)}, {"SDKs", r.ConnectionString}, {"Send", r.Curl}, {"Data", tilde(r.Data)}}...)
	for _, line := range lines {
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
