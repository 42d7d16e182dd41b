package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"mayfly/cmd/mayfly/cli"
	"mayfly/engine"
	"mayfly/storage"
	amqpsocket "mayfly/web/amqp/websocket"
	"mayfly/web/auth/oidc"
	"mayfly/web/auth/sas"
	"mayfly/web/certificate"
	"mayfly/web/proxy"
)

// Config is the configuration of a server. The zero value is the command line without flags.
type Config struct {
	HTTP             string          // zero means 127.0.0.1:8080
	BasePath         string          // the path that the dashboard and its API are served under; zero means the root
	Admin            string          // zero means 127.0.0.1:5300
	AMQP             string          // zero means 127.0.0.1:5672; none means no listener
	AMQPS            string          // zero means none
	HTTPS            string          // zero means none
	Listen           []NamespacePort // further ports, each for one namespace
	TLSDir           string          // folder of certificates; zero means one in the user's data folder
	TLSNames         []string        // names of the certificate besides the usual ones
	Store            string          // URL; zero means sqlite: and the user's data folder
	StoreWait        time.Duration   // how long to retry the store at the start; zero means one attempt
	Lease            time.Duration   // how long other servers wait after this one falls silent; zero means 5 s
	Advertise        string          // URL that other servers show to people; zero means the dashboard's address
	Peer             string          // where other servers forward requests to this one; zero means 127.0.0.1 and a free port; none means no listener
	PeerAdvertise    string          // host and port where other servers reach Peer; zero means its address
	ConfigFile       string          // path of a Config.json; zero means none
	Namespace        string          // zero means the name in ConfigFile, or default
	MaxNamespaces    int             // maximum number of namespaces besides the server's own; zero means namespaces.DefaultMax; negative means none
	Scenes           string          // folder of further scenes; zero means only the built-in ones
	Limits           *engine.Limits  // zero means engine.DefaultLimits; not modified
	Memory           int64           // bytes of memory for messages of all namespaces; zero means memoryShare of the machine's; negative means no limit
	HistoryRetention time.Duration   // how long history is kept; zero means a week; negative means no bound
	HistoryBytes     int64           // maximum size of the history; zero means 256 MiB; negative means no bound
	Insecure         bool
	OIDC             *oidc.Config        // the provider for sign-in; nil means none
	Auth             string              // path of a file of users; zero means that the dashboard requires no sign-in
	SAS              sas.Policy          // what happens to clients without a valid token
	SASKeys          []engine.AccessRule // of the namespace, each with its primary key
	SafeMode         bool                // pages and API reject operations that cannot be undone
	AllowReset       bool                // the admin port has a reset that deletes everything, without sign-in
	AllowHosts       []string
	StrictHosts      bool     // reject clients whose host name belongs to neither a namespace nor the server
	AllowOrigins     []string // origins of pages that may open AMQP over WebSocket
	MaxConnections   int      // of all ports; zero means as many as the limit of open files allows, at most connlimit.DefaultMax
	TrustProxy       []string // networks of trusted proxies
	// PrivateWebhooks permits webhooks to this machine and to private networks on a
	// server that others can reach.
	PrivateWebhooks bool
	// MetricsEntities is the number of entities that /metrics lists separately; zero means 1000;
	// negative means none.
	MetricsEntities int
	// Limits on the sockets of open pages per namespace and per client address, and on the pages
	// per socket. Pages without a socket poll.
	LiveSockets           int // zero means 500; negative means none
	LiveSocketsPerAddress int // zero means the same as LiveSockets
	LivePages             int // zero means 64
	ReadyJSON             bool
	Logger                *slog.Logger // zero means that nothing is logged
	Ready                 func(Ready)  // called each time the server is ready to serve, and each time it becomes a standby

	// clientLogger is the rate-limited logger of all packages that serve clients; set by Run.
	clientLogger   *slog.Logger
	trustedProxies proxy.Trusted // TrustProxy, parsed by complete

	// OpenStore opens a store; zero means storage.Open.
	OpenStore func(ctx context.Context, url string, o storage.Options) (engine.Store, error)
}

const defaultHistoryRetention = 7 * 24 * time.Hour

// namespaceName matches valid names of namespaces, which are part of URLs.
var namespaceName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$`)

// completeStore returns the URL of the store that a server with these flags uses. It checks the
// namespace's name.
func completeStore(url, namespace string) (string, error) {
	c := Config{Store: url, Namespace: namespace}
	err := c.complete()
	return c.Store, err
}

// complete fills in defaults and checks the configuration, without opening or changing
// anything.
func (c *Config) complete() error {
	c.HTTP, c.Admin, c.AMQP = cmp.Or(c.HTTP, "127.0.0.1:8080"), cmp.Or(c.Admin, "127.0.0.1:5300"), cmp.Or(c.AMQP, "127.0.0.1:5672")
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	c.clientLogger = c.Logger
	c.Lease = cmp.Or(c.Lease, storage.DefaultLease)
	c.HistoryRetention = cmp.Or(c.HistoryRetention, defaultHistoryRetention)
	if c.OpenStore == nil {
		c.OpenStore = storage.Open
	}
	limits := engine.DefaultLimits()
	if c.Limits != nil {
		limits = *c.Limits
	}
	limits.Namespace = c.Namespace
	c.Limits = &limits
	if c.Store == "" {
		path := cli.DefaultDataFile()
		if path == "" {
			return errors.New("there is no home folder for the data; set the file with --store sqlite:PATH")
		}
		c.Store = "sqlite:" + path
	}
	if c.Namespace != "" && !namespaceName.MatchString(c.Namespace) {
		return fmt.Errorf("%q is not a valid namespace name: a name has 1 to 63 letters, digits and hyphens, and a letter or digit at either end", c.Namespace)
	}
	if c.SafeMode && c.AllowReset {
		return errors.New("--safe-mode and --allow-reset exclude each other: a reset deletes everything")
	}
	for _, name := range c.AllowHosts {
		if name == "" || strings.ContainsAny(name, "/: *") {
			return fmt.Errorf("--allow-host must be a name without scheme, port or wildcard, not %q", name)
		}
	}
	for i, o := range c.AllowOrigins {
		origin, err := amqpsocket.CheckOrigin(o)
		if err != nil {
			return fmt.Errorf("--allow-origin %s: %w", o, err)
		}
		c.AllowOrigins[i] = origin
	}
	trusted, err := proxy.Parse(c.TrustProxy)
	if err != nil {
		return fmt.Errorf("--trust-proxy: %w", err)
	}
	c.trustedProxies = trusted
	if err := c.checkBasePath(); err != nil {
		return err
	}
	if err := c.checkSharing(); err != nil {
		return err
	}
	if err := c.checkPeer(); err != nil {
		return err
	}
	if err := c.checkTLS(); err != nil {
		return err
	}
	for _, a := range []struct{ flag, address string }{
		{"--http", c.HTTP}, {"--admin", c.Admin}, {"--amqp", c.AMQP}, {"--amqps", c.AMQPS}, {"--https", c.HTTPS}, {"--peer", c.Peer},
	} {
		if a.address == "" || a.address == NoListener && (a.flag == "--amqp" || a.flag == "--peer") {
			continue
		}
		if err := checkAddress(a.flag, a.address, c.Insecure || c.authenticates(a.flag)); err != nil {
			return err
		}
	}
	for _, l := range c.Listen {
		if err := checkAddress(l.flag(), l.Address, c.Insecure || c.authenticates(l.flag())); err != nil {
			return err
		}
	}
	return nil
}

// NoListener is the value of an address flag for no listener.
const NoListener = "none"

// checkTLS checks the flags for TLS and fills in the certificate folder.
func (c *Config) checkTLS() error {
	if !c.usesTLS() {
		if c.TLSDir != "" || len(c.TLSNames) > 0 {
			return errors.New("--tls-dir and --tls-name require a port with TLS: add --amqps ADDRESS, --https ADDRESS or both")
		}
		return nil
	}
	for _, n := range c.TLSNames {
		if _, err := certificate.CheckName(n); err != nil {
			return fmt.Errorf("--tls-name: %w", err)
		}
	}
	if c.TLSDir = cmp.Or(c.TLSDir, cli.DefaultTLSDir()); c.TLSDir == "" {
		return errors.New("there is no home folder for certificates; set the folder with --tls-dir DIR")
	}
	return nil
}

// usesTLS reports whether any port uses TLS.
func (c *Config) usesTLS() bool {
	return c.AMQPS != "" || c.HTTPS != "" || slices.ContainsFunc(c.Listen, NamespacePort.usesTLS)
}

// checkSharing checks the flags for a shared store.
func (c *Config) checkSharing() error {
	if c.StoreWait < 0 {
		return fmt.Errorf("--store-wait must be a positive duration, not %s", c.StoreWait)
	}
	if c.Lease < storage.MinLease {
		return fmt.Errorf("--lease must be at least %s, not %s", storage.MinLease, c.Lease)
	}
	if c.Advertise == "" {
		return nil
	}
	u, err := url.Parse(c.Advertise)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("--advertise must be a URL such as http://host:8080, not %q", c.Advertise)
	}
	c.Advertise = strings.TrimSuffix(c.Advertise, "/")
	if !strings.HasSuffix(strings.TrimSuffix(u.Path, "/"), c.BasePath) {
		c.Advertise += c.BasePath
	}
	return nil
}

// checkBasePath checks the base path. It allows only characters that are never percent-encoded.
func (c *Config) checkBasePath() error {
	if c.BasePath == "" {
		return nil
	}
	parts := strings.Split(c.BasePath, "/")
	if parts[0] != "" || slices.ContainsFunc(parts[1:], func(part string) bool {
		return part == "" || part == "." || part == ".." || strings.Trim(strings.ToLower(part), "abcdefghijklmnopqrstuvwxyz0123456789-._~") != ""
	}) {
		return fmt.Errorf("--base-path must be a path such as /mayfly, of letters, digits and -._~, without a slash at the end, not %q", c.BasePath)
	}
	return nil
}

// checkPeer checks the address for requests that other servers on the store forward to this
// one, and fills in its default.
func (c *Config) checkPeer() error {
	if !storage.Shared(c.Store) {
		c.Peer = NoListener
	}
	if c.Peer == NoListener && c.PeerAdvertise != "" {
		return errors.New("--peer-advertise requires --peer")
	}
	c.Peer = cmp.Or(c.Peer, "127.0.0.1:0")
	if c.PeerAdvertise != "" {
		if host, port, err := net.SplitHostPort(c.PeerAdvertise); err != nil || host == "" || port == "" || strings.ContainsAny(c.PeerAdvertise, "/@ ") {
			return fmt.Errorf("--peer-advertise must be a host and a port such as mayfly-1:7071, not %q", c.PeerAdvertise)
		}
	}
	return nil
}

// checkAddress rejects an invalid address, and one that is not on loopback unless insecure is
// set.
func checkAddress(flag, text string, insecure bool) error {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		port = "8080"
		if _, err := strconv.ParseUint(text, 10, 16); err == nil {
			port = text // only a port
		}
		return fmt.Errorf("%s must be an address such as 127.0.0.1:%s, not %q", flag, port, text)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("%s: %q is not a port", flagWithAddress(flag, text), port)
	}
	if insecure || host == "localhost" {
		return nil
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return fmt.Errorf("%s is reachable from other machines and there is no authentication; use 127.0.0.1, %s, or add --insecure if that is what you want", flagWithAddress(flag, text), authenticationHint(flag))
	}
	return nil
}
