package main

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

	"mayfly/engine"
	"mayfly/storage"
	"mayfly/web/authority"
	"mayfly/web/oidc"
	"mayfly/web/sas"
)

// Config is what a server is started with. The zero value is the command line
// without flags.
type Config struct {
	HTTP         string         // zero: 127.0.0.1:8080
	BasePath     string         // the path that the dashboard and its API are served under; zero: the root
	Admin        string         // zero: 127.0.0.1:5300
	AMQP         string         // zero: 127.0.0.1:5672; none: nobody listens
	AMQPS        string         // zero: none
	HTTPS        string         // zero: none
	Listen       []Listen       // ports of one namespace each, beside these
	TLSDir       string         // folder of certificates; zero: one in the user's data folder
	TLSNames     []string       // names that the certificate is for beside the usual ones
	Store        string         // URL; zero: sqlite: and the user's data folder
	Wait         time.Duration  // how long to try to reach the store at the start; zero: one try
	Lease        time.Duration  // how long others wait for this server's silence; zero: 5 s
	Advertise    string         // URL that others tell people; zero: the dashboard's address
	Peer         string         // where other servers pass on to this one; zero: 127.0.0.1 and a free port; none: nowhere
	PeerAt       string         // host and port by which they reach that; zero: its address
	Definition   string         // path of a Config.json; zero: none
	Namespace    string         // zero: the definition's, or default
	Namespaces   int            // how many others there may be; zero: fleet.DefaultMost; negative: none
	Scenes       string         // folder of further scenes; zero: there are the program's own
	Limits       *engine.Limits // zero: engine.DefaultLimits; not changed
	HistoryFor   time.Duration  // how long history is kept; zero: a week; negative: no bound
	HistoryBytes int64          // how much history is kept; zero: 256 MiB; negative: no bound
	Insecure     bool
	OIDC         *oidc.Config        // the provider that people sign in with; nil: none
	Auth         string              // path of a file of users; zero: the dashboard asks nobody
	SAS          sas.Policy          // what becomes of clients that do not show that they may
	SASKeys      []engine.AccessRule // of the namespace, each with its primary key
	Safe         bool                // pages and API refuse what does away with something for good
	AllowReset   bool                // the admin port deletes everything for whoever asks
	AllowHosts   []string
	// PrivateWebhooks permits webhooks to this machine and to private networks on a
	// server that others can reach.
	PrivateWebhooks bool
	// MetricsEntities is how many entities /metrics tells one by one; zero: 1000;
	// negative: none.
	MetricsEntities int
	// How many sockets of open pages a namespace has, and of them one address; and how
	// many pages a socket watches. Pages without one poll.
	LiveSockets           int // zero: 500; negative: none
	LiveSocketsPerAddress int // zero: as many
	LivePages             int // zero: 64
	ReadyJSON             bool
	Logger                *slog.Logger // zero: nothing is logged
	Ready                 func(Ready)  // called each time everything is served, and each time standing by begins

	// open opens a store; zero: storage.Open.
	open func(ctx context.Context, url string, o storage.Options) (engine.Store, error)
}

const defaultHistoryFor = 7 * 24 * time.Hour

// namespaceName is what a namespace may be called: it is part of addresses.
var namespaceName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$`)

// complete fills in defaults and checks what can be checked without touching
// anything.
func (c *Config) complete() error {
	c.HTTP, c.Admin, c.AMQP = cmp.Or(c.HTTP, "127.0.0.1:8080"), cmp.Or(c.Admin, "127.0.0.1:5300"), cmp.Or(c.AMQP, "127.0.0.1:5672")
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	c.Lease = cmp.Or(c.Lease, storage.DefaultLease)
	c.HistoryFor = cmp.Or(c.HistoryFor, defaultHistoryFor)
	if c.open == nil {
		c.open = storage.Open
	}
	limits := engine.DefaultLimits()
	if c.Limits != nil {
		limits = *c.Limits
	}
	limits.Namespace = c.Namespace
	c.Limits = &limits
	if c.Store == "" {
		path := defaultData()
		if path == "" {
			return errors.New("there is no home folder to keep data in: say where with --store sqlite:PATH")
		}
		c.Store = "sqlite:" + path
	}
	if c.Namespace != "" && !namespaceName.MatchString(c.Namespace) {
		return fmt.Errorf("the namespace %q cannot be called so: a name has 1 to 63 letters, digits and hyphens, and a letter or digit at either end", c.Namespace)
	}
	if c.Safe && c.AllowReset {
		return errors.New("--safe and --allow-reset do not go together: a reset deletes everything")
	}
	for _, name := range c.AllowHosts {
		if name == "" || strings.ContainsAny(name, "/: *") {
			return fmt.Errorf("--allow-host takes a name without scheme, port or wildcard, not %q", name)
		}
	}
	if err := c.checkBase(); err != nil {
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
		if a.address == "" || a.address == noPort && (a.flag == "--amqp" || a.flag == "--peer") {
			continue
		}
		if err := checkAddress(a.flag, a.address, c.Insecure || c.guarded(a.flag)); err != nil {
			return err
		}
	}
	for _, l := range c.Listen {
		if err := checkAddress(l.flag(), l.Address, c.Insecure || c.guarded(l.flag())); err != nil {
			return err
		}
	}
	return nil
}

// noPort stands where an address could for nobody to listen.
const noPort = "none"

// checkTLS checks what is for the ports with TLS, and finds the folder for it.
func (c *Config) checkTLS() error {
	if !c.secure() {
		if c.TLSDir != "" || len(c.TLSNames) > 0 {
			return errors.New("--tls-dir and --tls-name are for the ports with TLS, and there are none: add --amqps ADDRESS, --https ADDRESS or both")
		}
		return nil
	}
	for _, n := range c.TLSNames {
		if _, err := authority.CheckName(n); err != nil {
			return fmt.Errorf("--tls-name: %w", err)
		}
	}
	if c.TLSDir = cmp.Or(c.TLSDir, defaultTLS()); c.TLSDir == "" {
		return errors.New("there is no home folder to keep certificates in: say where with --tls-dir DIR")
	}
	return nil
}

// secure tells whether any port has TLS.
func (c *Config) secure() bool {
	return c.AMQPS != "" || c.HTTPS != "" || slices.ContainsFunc(c.Listen, Listen.secure)
}

// checkSharing checks what is for a store that servers share.
func (c *Config) checkSharing() error {
	if c.Wait < 0 {
		return fmt.Errorf("--wait is how long to try, not %s", c.Wait)
	}
	if c.Lease < storage.LeastLease {
		return fmt.Errorf("--lease is at least %s, not %s", storage.LeastLease, c.Lease)
	}
	if c.Advertise == "" {
		return nil
	}
	u, err := url.Parse(c.Advertise)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("--advertise is a URL such as http://host:8080, not %q", c.Advertise)
	}
	c.Advertise = strings.TrimSuffix(c.Advertise, "/")
	if !strings.HasSuffix(strings.TrimSuffix(u.Path, "/"), c.BasePath) {
		c.Advertise += c.BasePath
	}
	return nil
}

// checkBase checks the path that the dashboard is served under. Of characters that are
// escaped in some places and in others not there are none in it.
func (c *Config) checkBase() error {
	if c.BasePath == "" {
		return nil
	}
	parts := strings.Split(c.BasePath, "/")
	if parts[0] != "" || slices.ContainsFunc(parts[1:], func(part string) bool {
		return part == "" || part == "." || part == ".." || strings.Trim(strings.ToLower(part), "abcdefghijklmnopqrstuvwxyz0123456789-._~") != ""
	}) {
		return fmt.Errorf("--base-path is a path such as /mayfly, of letters, digits and -._~, without a slash at the end, not %q", c.BasePath)
	}
	return nil
}

// checkPeer checks where servers that share a store pass on to this one, and finds an
// address for it.
func (c *Config) checkPeer() error {
	if !storage.Shared(c.Store) {
		c.Peer = noPort
	}
	if c.Peer == noPort && c.PeerAt != "" {
		return errors.New("--peer-advertise is the address of --peer, and there is none")
	}
	c.Peer = cmp.Or(c.Peer, "127.0.0.1:0")
	if c.PeerAt != "" {
		if host, port, err := net.SplitHostPort(c.PeerAt); err != nil || host == "" || port == "" || strings.ContainsAny(c.PeerAt, "/@ ") {
			return fmt.Errorf("--peer-advertise is a host and a port such as mayfly-1:7071, not %q", c.PeerAt)
		}
	}
	return nil
}

// checkAddress refuses what is no address, and one beyond loopback unless that
// was asked for in so many words.
func checkAddress(flag, text string, insecure bool) error {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		port = "8080"
		if _, err := strconv.ParseUint(text, 10, 16); err == nil {
			port = text // a port alone
		}
		return fmt.Errorf("%s is an address such as 127.0.0.1:%s, not %q", flag, port, text)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("%s: %q is not a port", given(flag, text), port)
	}
	if insecure || host == "localhost" {
		return nil
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return fmt.Errorf("%s is reachable from other machines and there is no authentication; use 127.0.0.1, %s, or add --insecure if that is what you want", given(flag, text), asking(flag))
	}
	return nil
}
