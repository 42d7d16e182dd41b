package server

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"

	"mayfly/cmd/mayfly/cli"
	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/web/auth/sas"
	"mayfly/web/dashboard/overview"
)

// States of a server.
const (
	StateReady   = "ready"
	StateStandby = "standby"
)

// Ready describes a server that has started: its state and its addresses.
type Ready struct {
	State     string `json:"state"`           // ready or standby
	Dashboard string `json:"dashboard"`       // URL without a trailing slash
	API       string `json:"api"`             // URL of the namespace's JSON API, without a trailing slash
	Admin     string `json:"admin"`           // URL of Service Bus REST and /health
	AMQP      string `json:"amqp,omitempty"`  // host and port of AMQP
	AMQPS     string `json:"amqps,omitempty"` // host and port of AMQP with TLS
	HTTPS     string `json:"https,omitempty"` // URL of what Admin serves, with TLS
	CA        string `json:"ca,omitempty"`    // path of the CA that clients have to trust; empty for the operator's own certificate
	// Connection strings for SDKs on this machine: for messages, if there is AMQP without TLS,
	// and for administration. If tokens are required, KEY stands in place of the key.
	ConnectionString      string `json:"connectionString,omitempty"`
	AdminConnectionString string `json:"adminConnectionString"`
	// Curl is a shell command that sends a message. If the API requires a token, it uses the one
	// in MAYFLY_TOKEN. Empty while the server is a standby.
	Curl      string `json:"curl"`
	Data      string `json:"data"` // where messages are stored: a file, a database, or in memory
	Namespace string `json:"namespace"`
	Epoch     uint64 `json:"epoch"`           // how many times the namespace has been opened so far, by any server
	Owner     string `json:"owner,omitempty"` // on a standby: the address of the server that owns the namespace

	Listen []NamespacePortInfo `json:"listen,omitempty"` // ports of one namespace each

	RequiresSignIn bool `json:"asks,omitempty"` // whether the dashboard and the API require sign-in
}

// readyInfo returns the part of Ready that does not depend on the content of the namespace.
func (sp *servedNamespace) readyInfo(state string) Ready {
	p := sp.server
	r := Ready{State: state, Dashboard: localURL(p.ports.dashboard.Addr()) + p.config.BasePath, Data: cli.DescribeStore(sp.storeURL), Namespace: sp.spec.Name, Listen: p.namespacePorts(), RequiresSignIn: p.authentication.login != nil}
	r.ConnectionString, r.AdminConnectionString = p.connectionStrings(sp.spec.Name)
	r.API = r.Dashboard + "/api/v1"
	if !sp.isOwn { // then the name is part of its addresses
		r.API += "/n/" + sp.spec.Name
	}
	at, host := p.ports.clientAddress(sp.spec.Name, KindAdmin)
	if r.Admin = localURL(at); host != "localhost" {
		r.Admin = urlWithHost(at, host)
	}
	for kind, to := range map[string]*string{KindAMQP: &r.AMQP, KindAMQPS: &r.AMQPS, KindHTTPS: &r.HTTPS} {
		if at, _ := p.ports.clientAddress(sp.spec.Name, kind); at != nil {
			*to = portAddress(at, kind)
		}
	}
	if p.ports.certificate != nil {
		r.CA = p.ports.certificate.CA()
	}
	return r
}

// A NamespacePortInfo is a port of one namespace.
type NamespacePortInfo struct {
	Namespace        string `json:"namespace"`
	Kind             string `json:"kind"`                       // amqp, amqps, admin or https
	Address          string `json:"at"`                         // host and port, or a URL, as in Ready
	ConnectionString string `json:"connectionString,omitempty"` // as in Ready; empty with TLS
}

// namespacePorts returns the ports that serve only one namespace, in the order of their flags.
func (p *serverRun) namespacePorts() (all []NamespacePortInfo) {
	for _, o := range p.ports.namespacePorts {
		l := NamespacePortInfo{Namespace: o.Namespace, Kind: o.Kind, Address: portAddress(o.Addr(), o.Kind)}
		if !o.usesTLS() {
			l.ConnectionString = p.portConnectionString("localhost", o.Addr(), o.Kind)
		}
		all = append(all, l)
	}
	return all
}

// portAddress returns the address of a port of a kind, in the form that Ready has for that kind: a
// URL, or host and port.
func portAddress(at net.Addr, kind string) string {
	switch kind {
	case KindAdmin:
		return localURL(at)
	case KindHTTPS:
		return "https" + strings.TrimPrefix(localURL(at), "http")
	default:
		return at.String()
	}
}

// connectionStrings returns the connection strings of a namespace, as in Ready.
func (p *serverRun) connectionStrings(name string) (messages, admin string) {
	if at, host := p.ports.clientAddress(name, KindAMQP); at != nil {
		messages = p.portConnectionString(host, at, KindAMQP)
	}
	at, host := p.ports.clientAddress(name, KindAdmin)
	return messages, p.portConnectionString(host, at, KindAdmin)
}

// portConnectionString returns the connection string for a port of a kind without TLS. If keys are
// required, KEY stands in place of the key, which must not get into logs; the JSON API
// returns it.
func (p *serverRun) portConnectionString(host string, at net.Addr, kind string) string {
	usual := 0
	if kind == KindAMQP {
		usual = defaultAMQPPort
	}
	s := connectionString(host, at, usual)
	if p.config.SAS == sas.Enforce {
		s = strings.Replace(s, "SharedAccessKey=SAS_KEY_VALUE", keyPlaceholder, 1)
	}
	return s
}

// keyPlaceholder replaces the key in a connection string.
const keyPlaceholder = "SharedAccessKey=KEY"

// defaultAMQPPort is the port that SDKs use if a connection string contains none.
const defaultAMQPPort = 5672

// connectionString returns the connection string of a listener for an SDK on this machine, with
// host, a name of this machine, or the listener's own address if that is specific and host is
// localhost. It omits the port if it is `usual`.
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
	if r.State == StateStandby {
		_, err := fmt.Fprintf(w, "Standing by: the server at %s owns namespace %s. This server, at %s, takes over when that server stops.\n", r.Owner, r.Namespace, r.Dashboard)
		return err
	}
	var b strings.Builder
	b.WriteString("Mayfly is running. Ctrl-C stops it.\n\n")
	lines := [][2]string{{"Dashboard", r.Dashboard}, {"Service Bus", r.Admin}, {"AMQP", r.AMQP}, {"with TLS", strings.TrimSpace(r.AMQPS + "  " + r.HTTPS)}}
	for _, l := range r.Listen {
		lines = append(lines, [2]string{l.Namespace, l.Kind + " " + l.Address})
	}
	lines = append(lines, [][2]string{{"Trust", cli.AbbreviateHome(r.CA)}, {"SDKs", r.ConnectionString}, {"Send", r.Curl}, {"Data", cli.AbbreviateHome(r.Data)}}...)
	for _, line := range lines {
		if line[1] != "" {
			fmt.Fprintf(&b, "  %-11s  %s\n", line[0], line[1])
		}
	}
	if strings.Contains(r.ConnectionString, keyPlaceholder) {
		b.WriteString("\n  KEY stands for a key: the dashboard's page Access has those of the namespace.\n")
	}
	if strings.Contains(r.Curl, tokenVariable) {
		fmt.Fprintf(&b, "\n  Set %s to an admin token: sign in, and create one at %s/tokens.\n", tokenVariable, r.Dashboard)
	}
	b.WriteByte('\n')
	_, err := io.WriteString(w, b.String())
	return err
}

// curlCommand returns a command that sends a message: to an existing queue or, in an empty namespace,
// to a queue that it creates.
func curlCommand(ctx context.Context, b *broker.Broker, r Ready) (line string, err error) {
	err = b.Read(ctx, func(look broker.Reader) error {
		line = curlCreatingQueue(r)
		all := look.States(engine.Queue)
		if i := slices.IndexFunc(all, overview.AcceptsSends); i >= 0 {
			line = fmt.Sprintf(`curl -d hello -H 'BrokerProperties: {"TimeToLive":60}' %s/%s/messages`, r.Admin, all[i].Path)
		}
		return nil
	})
	return line, err
}

// curlCreatingQueue returns a command that sends a message to a queue that it creates.
func curlCreatingQueue(r Ready) string {
	token := ""
	if r.RequiresSignIn {
		token = `-H "Authorization: Bearer $` + tokenVariable + `" `
	}
	return fmt.Sprintf(`curl %s-d '{"body":"hello","timeToLive":"60s"}' '%s/send/hello?create=queue'`, token, r.API)
}

// tokenVariable is the environment variable for a token.
const tokenVariable = "MAYFLY_TOKEN"
