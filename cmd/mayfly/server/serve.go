package server

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strings"

	"mayfly/cmd/mayfly/cli"
	"mayfly/engine"
)

func describeServe() cli.Command {
	return cli.Command{
		Name: "serve", Summary: "Start the broker (default).", Flags: &serveCommand{}, Tags: `default:"withargs"`,
		Examples: []cli.Example{
			{Line: "mayfly", Text: "Serve the store in the data folder, at the default ports."},
			{Line: "mayfly --store memory: --config Config.json --http 127.0.0.1:0", Text: "Keep everything in memory, create the entities of an emulator's Config.json, and pick a free port for the dashboard."},
		},
	}
}

// serveCommand has the flags of the server.
type serveCommand struct {
	HTTP          string   `name:"http" placeholder:"ADDRESS" default:"127.0.0.1:8080" env:"MAYFLY_HTTP" help:"Address of the dashboard and the JSON API. Port 0 picks a free port. Default: ${default}."`
	BasePath      string   `placeholder:"PATH" env:"MAYFLY_BASE_PATH" help:"Base path of the dashboard and the JSON API, such as /mayfly, for a reverse proxy that does not strip it. Default: /."`
	Admin         string   `placeholder:"ADDRESS" default:"127.0.0.1:5300" env:"MAYFLY_ADMIN" help:"Address of Service Bus REST, administration by SDKs, /health and AMQP over WebSockets. Default: ${default}."`
	AMQP          string   `name:"amqp" placeholder:"ADDRESS" default:"127.0.0.1:5672" env:"MAYFLY_AMQP" help:"Address of AMQP for the Service Bus SDKs; \"none\" turns it off. Default: ${default}."`
	AMQPS         string   `name:"amqps" placeholder:"ADDRESS" env:"MAYFLY_AMQPS" help:"Address of AMQP with TLS, such as 127.0.0.1:5671."`
	HTTPS         string   `name:"https" placeholder:"ADDRESS" env:"MAYFLY_HTTPS" help:"Address of what --admin serves, with TLS, such as 127.0.0.1:443."`
	Listen        []string `placeholder:"NAMESPACE=KIND:ADDRESS" env:"MAYFLY_LISTEN" help:"Address that serves one namespace, whatever host clients name, such as shop=amqp:127.0.0.1:5673. Kinds: amqp, amqps, admin, https, as in the flags above. May be repeated."`
	TLSDir        string   `name:"tls-dir" placeholder:"DIR" type:"path" env:"MAYFLY_TLS_DIR" help:"Folder with the certificate: tls.crt and tls.key if they exist, else ca.pem of a local CA, which is created at the first start. Default: ${tls}."`
	TLSName       []string `name:"tls-name" placeholder:"NAME" env:"MAYFLY_TLS_NAME" help:"Additional name or address in the certificate, besides localhost, 127.0.0.1, ::1 and *.servicebus.windows.net; may be repeated."`
	Store         string   `placeholder:"URL" env:"MAYFLY_STORE" help:"Store of the messages: sqlite:PATH, mongodb://HOST/DATABASE, or memory: (lost when the server stops). Default: sqlite:${data}."`
	StoreWait     string   `placeholder:"DURATION" env:"MAYFLY_STORE_WAIT" help:"At startup, keep trying to reach the store for this long, such as 30s. Default: try once."`
	Lease         string   `placeholder:"DURATION" default:"5s" env:"MAYFLY_LEASE" help:"With a shared store: how long this server may be silent before another one takes over its namespaces. At least 300ms. Default: ${default}."`
	Advertise     string   `placeholder:"URL" env:"MAYFLY_ADVERTISE" help:"With a shared store: URL of this dashboard that the other servers show to users. Default: its address."`
	Peer          string   `placeholder:"ADDRESS" env:"MAYFLY_PEER" help:"With a shared store: address where this server accepts requests that the other servers forward, for namespaces it owns; \"none\" turns this off. Servers authenticate each other with a secret from the store, so the address may be beyond loopback. Default: a free port of 127.0.0.1, for servers on one machine."`
	PeerAdvertise string   `name:"peer-advertise" placeholder:"HOST:PORT" env:"MAYFLY_PEER_ADVERTISE" help:"Address at which the other servers reach --peer. Default: its address; for a wildcard, the addresses of this machine."`
	History       struct {
		Retention string `placeholder:"DURATION" default:"168h" env:"MAYFLY_HISTORY_RETENTION" help:"How long to keep history; \"never\" keeps it until --history-bytes is reached. Default: ${default}."`
		Bytes     string `placeholder:"SIZE" default:"256MiB" env:"MAYFLY_HISTORY_BYTES" help:"Maximum size of the history; 0 means no limit. Default: ${default}."`
	} `embed:"" prefix:"history-"`
	Config        string   `placeholder:"FILE" type:"path" env:"MAYFLY_CONFIG" help:"Config.json of the Service Bus emulator. Its entities are created or updated; nothing is deleted."`
	Namespace     string   `placeholder:"NAME" env:"MAYFLY_NAMESPACE" help:"Name of the namespace; overrides the name in --config. Default: the name in --config, or default."`
	MaxNamespaces int      `placeholder:"N" default:"50" env:"MAYFLY_MAX_NAMESPACES" help:"Maximum number of additional namespaces, created in the dashboard or with mayfly namespaces. Default: ${default}."`
	Scenes        string   `placeholder:"DIR" type:"path" env:"MAYFLY_SCENES" help:"Folder with additional scenes, *.yaml, for the dashboard and mayfly scenes."`
	Profile       string   `enum:"${profiles}" default:"standard" env:"MAYFLY_PROFILE" help:"Limits and defaults of a Service Bus tier or of the emulator: ${profiles}."`
	Limit         []string `placeholder:"NAME=VALUE" env:"MAYFLY_LIMIT" help:"Override one limit of the profile; may be repeated. Limits: ${limits}. without=NAME,NAME removes features: ${features}. memory=SIZE limits the memory of the messages of all namespaces; sends beyond it are refused (default: half of the container's or machine's memory; none: no limit). With several namespaces, the last 10 % is for those that use less than an equal share."`
	Auth          string   `placeholder:"FILE" type:"path" env:"MAYFLY_AUTH" help:"File of users who may use the dashboard and the JSON API; mayfly users add writes it. With it, --http may be beyond loopback. Default: no sign-in."`
	OIDC          struct {
		Issuer string   `placeholder:"URL" env:"MAYFLY_OIDC_ISSUER" help:"OpenID provider for sign-in, besides --auth or instead of it. Register the dashboard's URL, or that of --advertise, with the path /login/openid/back as a redirect URI."`
		Client string   `placeholder:"ID" env:"MAYFLY_OIDC_CLIENT" help:"Client ID of this server at the provider."`
		Secret string   `placeholder:"SECRET" env:"MAYFLY_OIDC_SECRET" help:"Client secret; @FILE reads it from a file. Default: none, a public client."`
		Title  string   `placeholder:"NAME" env:"MAYFLY_OIDC_TITLE" help:"Name of the provider on the sign-in page. Default: its host."`
		Scope  []string `placeholder:"SCOPE" env:"MAYFLY_OIDC_SCOPE" help:"Scope to request besides openid; may be repeated. Default: profile and email."`
		Name   string   `placeholder:"CLAIM" env:"MAYFLY_OIDC_NAME" help:"Claim with the user's name. Users should not be able to change it. Default: preferred_username, else email, else sub."`
		Roles  string   `placeholder:"CLAIM" default:"roles" env:"MAYFLY_OIDC_ROLES" help:"Claim that --oidc-role refers to, such as groups or realm_access.roles. Default: ${default}."`
		Role   []string `sep:";" placeholder:"VALUE=ROLE" env:"MAYFLY_OIDC_ROLE" help:"Give users with VALUE in the --oidc-roles claim this ROLE: viewer, operator or admin. * matches every user. May be repeated. Users who match none cannot sign in."`
	} `embed:"" prefix:"oidc-"`
	Insecure        bool     `env:"MAYFLY_INSECURE" help:"Permit addresses beyond loopback. Every client that reaches a port may do everything there, unless --sas or, for the dashboard, --auth is set."`
	SAS             string   `name:"sas" enum:"accept,enforce" default:"accept" env:"MAYFLY_SAS" help:"How to check the SAS tokens of clients: \"accept\" accepts any token, as the emulator does; \"enforce\" checks them against the namespace's access rules. With \"enforce\", all addresses except the dashboard's may be beyond loopback."`
	SASKey          []string `name:"sas-key" sep:";" placeholder:"NAME=KEY:RIGHTS" env:"MAYFLY_SAS_KEY" help:"Access rule of the namespace with its primary key, such as ci=c2VjcmV0:Send,Listen; may be repeated. The rights are Manage, Send and Listen."`
	SafeMode        bool     `env:"MAYFLY_SAFE_MODE" help:"Safe mode: the dashboard, the JSON API and the commands that use it refuse to delete, purge, cancel or clear anything. Service Bus clients are not affected."`
	AllowReset      bool     `env:"MAYFLY_ALLOW_RESET" help:"For test suites: POST /reset at the admin port deletes all entities and messages, or restores the entities of --config."`
	AllowHost       []string `placeholder:"NAME" env:"MAYFLY_ALLOW_HOST" help:"Additional host name that requests may use, besides loopback and the addresses above; may be repeated."`
	StrictHosts     bool     `env:"MAYFLY_STRICT_HOSTS" help:"Refuse clients that connect to an unknown host name, such as other.servicebus.windows.net: one that belongs to neither a namespace nor the server. Default: they get the server's own namespace, and the log reports each such host once."`
	AllowOrigin     []string `placeholder:"URL" env:"MAYFLY_ALLOW_ORIGIN" help:"Permit pages of this origin, such as https://shop.example, to open AMQP over a WebSocket; may be repeated. Default: only clients outside a browser, and pages of the server itself."`
	TrustProxy      []string `name:"trust-proxy" placeholder:"CIDR" env:"MAYFLY_TRUST_PROXY" help:"Trust proxies with this address or network, such as 10.0.0.0/8; may be repeated. Their X-Forwarded-For and X-Forwarded-Proto headers, and their PROXY protocol headers (version 1 or 2, at every port but --peer), name the client. Default: trust none and ignore these headers."`
	MaxConnections  int      `placeholder:"N" default:"0" env:"MAYFLY_MAX_CONNECTIONS" help:"Limit the connections of all ports together. At the limit, the server closes the least useful connection for a new one: see /docs/connection-limits. --limit connections is a separate limit for the AMQP connections of each namespace. Default: as many as the limit of open files allows, at most 10000."`
	PrivateWebhooks bool     `name:"allow-private-webhooks" env:"MAYFLY_ALLOW_PRIVATE_WEBHOOKS" help:"On a server beyond loopback: permit webhooks of alert rules to this machine and to private networks. A server on loopback permits them, unless it has a base path."`
	Metrics         struct {
		Entities int `placeholder:"N" default:"1000" env:"MAYFLY_METRICS_ENTITIES" help:"Number of entities that /metrics lists one by one; the others are summed. Default: ${default}."`
	} `embed:"" prefix:"metrics-"`
	Live struct {
		Sockets           int `placeholder:"N" default:"500" env:"MAYFLY_LIVE_SOCKETS" help:"Maximum number of WebSockets for live updates of pages in one namespace. Further pages poll every five seconds. 0 turns them off. Default: ${default}."`
		SocketsPerAddress int `placeholder:"N" default:"0" env:"MAYFLY_LIVE_SOCKETS_PER_ADDRESS" help:"Maximum number of WebSockets for live updates from one client address. Default: no limit."`
		Pages             int `placeholder:"N" default:"64" env:"MAYFLY_LIVE_PAGES" help:"Maximum number of pages that one WebSocket updates. Default: ${default}."`
	} `embed:"" prefix:"live-"`
	ReadyJSON bool   `name:"ready-json" env:"MAYFLY_READY_JSON" help:"Print the addresses at startup as one line of JSON."`
	LogLevel  string `enum:"debug,info,warn,error" default:"info" env:"MAYFLY_LOG_LEVEL" help:"Log level on standard error: debug, info, warn or error. Requests are logged at debug."`
}

// Run starts the server and returns when it has stopped.
func (c *serveCommand) Run(ctx context.Context, s cli.Streams) error {
	config, err := c.config(s)
	if err != nil {
		return &cli.UsageError{Err: err}
	}
	config.setMemoryLimit()
	return Run(ctx, config, s.Out)
}

// config returns the configuration of the flags.
func (c *serveCommand) config(s cli.Streams) (config Config, err error) {
	given, memory, err := splitMemoryLimit(c.Limit)
	if err != nil {
		return config, err
	}
	limits, err := ParseLimits(c.Profile, given)
	if err != nil {
		return config, err
	}
	policy, err := parseSASPolicy(c.SAS)
	if err != nil {
		return config, err
	}
	keys, err := parseSASKeys(c.SASKey)
	if err != nil {
		return config, err
	}
	listens, err := parseListen(c.Listen)
	if err != nil {
		return config, err
	}
	provider, err := c.oidcConfig()
	if err != nil {
		return config, err
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil {
		panic(err) // kong has checked the enum
	}
	config = Config{
		HTTP: c.HTTP, BasePath: c.BasePath, Admin: c.Admin, AMQP: cmp.Or(c.AMQP, NoListener), AMQPS: c.AMQPS, HTTPS: c.HTTPS, Listen: listens, TLSDir: c.TLSDir, TLSNames: c.TLSName,
		Store: c.Store, ConfigFile: c.Config, Namespace: c.Namespace, Limits: &limits, Memory: memory,
		Advertise: c.Advertise, Peer: c.Peer, PeerAdvertise: c.PeerAdvertise, Insecure: c.Insecure, Auth: c.Auth, OIDC: provider, SAS: policy, SASKeys: keys, SafeMode: c.SafeMode, Scenes: c.Scenes, AllowReset: c.AllowReset, AllowHosts: c.AllowHost, StrictHosts: c.StrictHosts, AllowOrigins: c.AllowOrigin, TrustProxy: c.TrustProxy, PrivateWebhooks: c.PrivateWebhooks, ReadyJSON: c.ReadyJSON,
		Logger: slog.New(slog.NewTextHandler(s.Err, &slog.HandlerOptions{Level: level})),
	}
	if err := c.copyNumbers(&config); err != nil {
		return config, err
	}
	return config, c.parseDurations(&config)
}

// A limitError is the error of one --limit.
type limitError struct {
	flagValue string
	err       error
}

func (e *limitError) Error() string {
	// Omit the kind of the error, which is only for programs.
	return fmt.Sprintf("--limit %s: %s", e.flagValue, strings.TrimSuffix(e.err.Error(), ": "+engine.ErrArgument.Error()))
}

func (e *limitError) Unwrap() error { return e.err }

// ParseLimits parses --limit flags on top of a profile.
func ParseLimits(profile string, given []string) (engine.Limits, error) {
	limits, err := engine.Profile(profile)
	if err != nil {
		return limits, fmt.Errorf("--profile: %w", err)
	}
	for _, g := range rejoinFeatures(given) {
		name, value, ok := strings.Cut(g, "=")
		if !ok {
			return limits, fmt.Errorf("--limit must be NAME=VALUE, such as min-auto-delete=5s, not %q", g)
		}
		if err := limits.Set(strings.TrimSpace(name), strings.TrimSpace(value)); err != nil {
			return limits, &limitError{flagValue: g, err: err}
		}
	}
	return limits, nil
}

// rejoinFeatures joins the features of without= again: kong splits --limit at commas, which also
// separate features.
func rejoinFeatures(given []string) (out []string) {
	for _, g := range given {
		if last := len(out) - 1; last >= 0 && strings.HasPrefix(out[last], "without=") && !strings.Contains(g, "=") {
			out[last] += "," + g
			continue
		}
		out = append(out, g)
	}
	return out
}
