package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strings"

	"mayfly/engine"
)

func describeServe() description {
	return description{
		name: "serve", summary: "Start the broker. This is what happens without a command.", command: &serveCommand{}, tags: `default:"withargs"`,
		examples: []example{
			{"mayfly", "Serves what is in the data folder, at the usual ports of this machine."},
			{"mayfly --store memory: --config Config.json --http 127.0.0.1:0", "Forgets all at its end, begins with what a file of the emulator names, and takes a free port."},
		},
	}
}

// serveCommand is the flags of the server.
type serveCommand struct {
	HTTP      string   `name:"http" placeholder:"ADDRESS" default:"127.0.0.1:8080" env:"MAYFLY_HTTP" help:"Dashboard and JSON API. Port 0 picks a free one. Default: ${default}."`
	BasePath  string   `placeholder:"PATH" env:"MAYFLY_BASE_PATH" help:"The path that the dashboard and its JSON API are served under, such as /mayfly, for a proxy that passes it on as it is. Default: the root."`
	Admin     string   `placeholder:"ADDRESS" default:"127.0.0.1:5300" env:"MAYFLY_ADMIN" help:"Service Bus REST, administration by SDKs, /health, and AMQP in WebSockets. Default: ${default}."`
	AMQP      string   `name:"amqp" placeholder:"ADDRESS" default:"127.0.0.1:5672" env:"MAYFLY_AMQP" help:"AMQP, for the SDKs of Service Bus; none: no such port. Default: ${default}."`
	AMQPS     string   `name:"amqps" placeholder:"ADDRESS" env:"MAYFLY_AMQPS" help:"AMQP with TLS, such as 127.0.0.1:5671."`
	HTTPS     string   `name:"https" placeholder:"ADDRESS" env:"MAYFLY_HTTPS" help:"What --admin serves, with TLS, such as 127.0.0.1:443."`
	Listen    []string `placeholder:"NAMESPACE=KIND:ADDRESS" env:"MAYFLY_LISTEN" help:"A port that belongs to one namespace, whatever host its clients name, such as shop=amqp:127.0.0.1:5673; the kinds are amqp, amqps, admin and https, as the flags above. May be repeated."`
	TLSDir    string   `name:"tls-dir" placeholder:"DIR" type:"path" env:"MAYFLY_TLS_DIR" help:"Where the certificate is: tls.crt and tls.key if they are there; else ca.pem, of a local CA that is made at the first start. Default: ${tls}."`
	TLSName   []string `name:"tls-name" placeholder:"NAME" env:"MAYFLY_TLS_NAME" help:"A name or address that the certificate is for, beside localhost, 127.0.0.1, ::1 and *.servicebus.windows.net; may be repeated."`
	Store     string   `placeholder:"URL" env:"MAYFLY_STORE" help:"Where messages are kept: sqlite:PATH, mongodb://HOST/DATABASE, or memory: for a broker that forgets. Default: sqlite:${data}."`
	Wait      string   `placeholder:"DURATION" env:"MAYFLY_WAIT" help:"How long to try to reach the store at the start, such as 30s. Default: one try."`
	Lease     string   `placeholder:"DURATION" default:"5s" env:"MAYFLY_LEASE" help:"On a store that servers share: for how long of its silence the others leave the namespace to this one. At least 300ms."`
	Advertise string   `placeholder:"URL" env:"MAYFLY_ADVERTISE" help:"On a store that servers share: where the others tell people that this dashboard is. Default: its address."`
	Peer      string   `placeholder:"ADDRESS" env:"MAYFLY_PEER" help:"On a store that servers share: where this one takes what the others pass on to it, for namespaces that it owns; none: nothing. Servers show each other that they know a secret of the store, so it may be beyond loopback. Default: a free port of 127.0.0.1, which is for servers of one machine."`
	PeerAt    string   `name:"peer-advertise" placeholder:"HOST:PORT" env:"MAYFLY_PEER_ADVERTISE" help:"Where the others reach --peer. Default: its address; if that is every one, those of this machine."`
	History   struct {
		For   string `placeholder:"DURATION" default:"168h" env:"MAYFLY_HISTORY_FOR" help:"How long history is kept; never: until there is too much of it."`
		Bytes string `placeholder:"SIZE" default:"256MiB" env:"MAYFLY_HISTORY_BYTES" help:"How much history is kept; 0: no matter how much."`
	} `embed:"" prefix:"history-"`
	Config     string   `placeholder:"FILE" type:"path" env:"MAYFLY_CONFIG" help:"A Config.json of the Service Bus emulator: what it names is created or updated, nothing is deleted."`
	Namespace  string   `placeholder:"NAME" env:"MAYFLY_NAMESPACE" help:"Name of the namespace; wins over the one in --config. Default: the file's, or default."`
	Namespaces int      `placeholder:"N" default:"50" env:"MAYFLY_NAMESPACES" help:"How many other namespaces there may be beside it, made on the dashboard or by mayfly namespaces. Default: ${default}."`
	Scenes     string   `placeholder:"DIR" type:"path" env:"MAYFLY_SCENES" help:"A folder of further scenes, *.yaml, for the dashboard's Scenes and mayfly scenes."`
	Profile    string   `enum:"${profiles}" default:"standard" env:"MAYFLY_PROFILE" help:"Whose limits and defaults: those of a tier of Service Bus, or of its emulator: ${profiles}."`
	Limit      []string `placeholder:"NAME=VALUE" env:"MAYFLY_LIMIT" help:"One value other than the profile's; may be repeated. There are ${limits}; without names what there is not: ${features}."`
	Auth       string   `placeholder:"FILE" type:"path" env:"MAYFLY_AUTH" help:"Who may use the dashboard and its JSON API: a file of users, which mayfly users add writes. With it, --http may be beyond loopback. Default: whoever reaches them."`
	OIDC       struct {
		Issuer string   `placeholder:"URL" env:"MAYFLY_OIDC_ISSUER" help:"People sign in with this OpenID provider, beside --auth or instead of it. It has to know HTTP/login/openid/back, at the address of the dashboard, or at --advertise, as a redirect URI."`
		Client string   `placeholder:"ID" env:"MAYFLY_OIDC_CLIENT" help:"What the provider knows this server by."`
		Secret string   `placeholder:"SECRET" env:"MAYFLY_OIDC_SECRET" help:"The client's secret; @FILE reads it from a file. Default: it is a public client."`
		Title  string   `placeholder:"NAME" env:"MAYFLY_OIDC_TITLE" help:"What people know the provider by. Default: its host."`
		Scope  []string `placeholder:"SCOPE" env:"MAYFLY_OIDC_SCOPE" help:"What to ask for beside openid; may be repeated. Default: profile and email."`
		Name   string   `placeholder:"CLAIM" env:"MAYFLY_OIDC_NAME" help:"The claim that people are called by, which none of them should be able to change. Default: preferred_username, else email, else sub."`
		Roles  string   `placeholder:"CLAIM" default:"roles" env:"MAYFLY_OIDC_ROLES" help:"The claim that --oidc-role is about, such as groups or realm_access.roles."`
		Role   []string `sep:";" placeholder:"VALUE=ROLE" env:"MAYFLY_OIDC_ROLE" help:"Who has VALUE in that claim is viewer, operator or admin; * is everybody. May be repeated; who has none of them does not come in."`
	} `embed:"" prefix:"oidc-"`
	Insecure        bool     `env:"MAYFLY_INSECURE" help:"Permit addresses beyond loopback. Whoever reaches a port may do everything there, unless --sas asks for tokens, or --auth on the dashboard."`
	SAS             string   `name:"sas" enum:"accept,enforce" default:"accept" env:"MAYFLY_SAS" help:"Tokens of clients: accept whatever they are, as the emulator does, or enforce what the namespace's access rules allow. With enforce, all addresses but the dashboard's may be beyond loopback."`
	SASKey          []string `name:"sas-key" sep:";" placeholder:"NAME=KEY:RIGHTS" env:"MAYFLY_SAS_KEY" help:"An access rule of the namespace with its primary key, such as ci=c2VjcmV0:Send,Listen; may be repeated. The rights are Manage, Send and Listen."`
	Safe            bool     `env:"MAYFLY_SAFE" help:"Safe mode for everybody: the dashboard, the JSON API and the commands that use it delete, purge, cancel and clear nothing. Clients of Service Bus, their administration too, may do what they may."`
	AllowReset      bool     `env:"MAYFLY_ALLOW_RESET" help:"For test suites: POST /reset at the admin port deletes every entity with all its messages, or goes back to what --config says."`
	AllowHost       []string `placeholder:"NAME" env:"MAYFLY_ALLOW_HOST" help:"A further name by which requests may call the server, beside loopback's and the addresses above; may be repeated."`
	PrivateWebhooks bool     `name:"allow-private-webhooks" env:"MAYFLY_ALLOW_PRIVATE_WEBHOOKS" help:"On a server that other machines reach: alert rules may post to this machine and to private networks. A server on loopback always may, unless it has a base path."`
	Metrics         struct {
		Entities int `placeholder:"N" default:"1000" env:"MAYFLY_METRICS_ENTITIES" help:"How many entities /metrics tells one by one; the rest is summed."`
	} `embed:"" prefix:"metrics-"`
	Live struct {
		Sockets           int `placeholder:"N" default:"500" env:"MAYFLY_LIVE_SOCKETS" help:"How many open pages of one namespace are kept up to date by a socket; others look again every five seconds. 0: none. Default: ${default}."`
		SocketsPerAddress int `placeholder:"N" default:"0" env:"MAYFLY_LIVE_SOCKETS_PER_ADDRESS" help:"How many of them come from one address. Default: as many as there are, for a team may sit behind one."`
		Pages             int `placeholder:"N" default:"64" env:"MAYFLY_LIVE_PAGES" help:"How many pages one socket is told of. Default: ${default}."`
	} `embed:"" prefix:"live-"`
	ReadyJSON bool   `name:"ready-json" env:"MAYFLY_READY_JSON" help:"Print the block at the start as one line of JSON."`
	LogLevel  string `enum:"debug,info,warn,error" default:"info" env:"MAYFLY_LOG_LEVEL" help:"What to log on standard error: debug, info, warn or error. Requests are logged at debug."`
}

// Run starts the server and returns when it has stopped.
func (c *serveCommand) Run(ctx context.Context, s streams) error {
	config, err := c.config(s)
	if err != nil {
		return &misuse{err}
	}
	return run(ctx, config, s.out)
}

// config is what the flags say.
func (c *serveCommand) config(s streams) (config Config, err error) {
	limits, err := parseLimits(c.Profile, c.Limit)
	if err != nil {
		return config, err
	}
	policy, err := parsePolicy(c.SAS)
	if err != nil {
		return config, err
	}
	keys, err := parseKeys(c.SASKey)
	if err != nil {
		return config, err
	}
	listens, err := parseListen(c.Listen)
	if err != nil {
		return config, err
	}
	provider, err := c.provider()
	if err != nil {
		return config, err
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil {
		panic(err) // the flag's enum has let it through
	}
	config = Config{
		HTTP: c.HTTP, BasePath: c.BasePath, Admin: c.Admin, AMQP: cmp.Or(c.AMQP, noPort), AMQPS: c.AMQPS, HTTPS: c.HTTPS, Listen: listens, TLSDir: c.TLSDir, TLSNames: c.TLSName,
		Store: c.Store, Definition: c.Config, Namespace: c.Namespace, Limits: &limits,
		Advertise: c.Advertise, Peer: c.Peer, PeerAt: c.PeerAt, Insecure: c.Insecure, Auth: c.Auth, OIDC: provider, SAS: policy, SASKeys: keys, Safe: c.Safe, Scenes: c.Scenes, AllowReset: c.AllowReset, AllowHosts: c.AllowHost, PrivateWebhooks: c.PrivateWebhooks, ReadyJSON: c.ReadyJSON,
		Logger: slog.New(slog.NewTextHandler(s.err, &slog.HandlerOptions{Level: level})),
	}
	if err := c.count(&config); err != nil {
		return config, err
	}
	return config, c.measure(&config)
}

// A limitError says what is wrong with one --limit.
type limitError struct {
	given string
	err   error
}

func (e *limitError) Error() string {
	// The kind of error is for programs.
	return fmt.Sprintf("--limit %s: %s", e.given, strings.TrimSuffix(e.err.Error(), ": "+engine.ErrArgument.Error()))
}

func (e *limitError) Unwrap() error { return e.err }

// parseLimits reads --limit flags over a profile.
func parseLimits(profile string, given []string) (engine.Limits, error) {
	limits, err := engine.Profile(profile)
	if err != nil {
		return limits, fmt.Errorf("--profile: %w", err)
	}
	for _, g := range rejoined(given) {
		name, value, ok := strings.Cut(g, "=")
		if !ok {
			return limits, fmt.Errorf("--limit is written NAME=VALUE, such as min-auto-delete=5s, not %q", g)
		}
		if err := limits.Set(strings.TrimSpace(name), strings.TrimSpace(value)); err != nil {
			return limits, &limitError{given: g, err: err}
		}
	}
	return limits, nil
}

// rejoined puts a list of features together again: a comma stands between
// limits as well.
func rejoined(given []string) (out []string) {
	for _, g := range given {
		if last := len(out) - 1; last >= 0 && strings.HasPrefix(out[last], "without=") && !strings.Contains(g, "=") {
			out[last] += "," + g
			continue
		}
		out = append(out, g)
	}
	return out
}
