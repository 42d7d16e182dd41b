package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/storage"
	"mayfly/web"
)

// Config is what a server is started with. The zero value is the command line
// without flags.
type Config struct {
	HTTP       string // zero: 127.0.0.1:8080
	Admin      string // zero: 127.0.0.1:5300
	AMQP       string // only checked; zero: none
	Store      string // URL; zero: sqlite: and the user's data folder
	Definition string // path of a Config.json; zero: none
	Namespace  string // zero: the definition's, or default
	Limits     *engine.Limits
	Insecure   bool
	AllowHosts []string
	ReadyJSON  bool
	Logger     *slog.Logger // zero: nothing is logged
	Ready      func(Ready)  // called once, when everything is served
}

// stopPatience bounds how long running requests are waited for at the end.
const stopPatience = 10 * time.Second

// run serves until ctx ends, and returns nil then. If anything keeps it from
// starting, that is the error, a sentence, and nothing was started. When all is
// served it prints one block to stdout and calls c.Ready.
func run(ctx context.Context, c Config, stdout io.Writer) (err error) {
	if err := c.complete(); err != nil {
		return err
	}
	want, err := c.readDefinition()
	if err != nil {
		return err
	}
	dashboard, err := listen(ctx, "--http", c.HTTP, c.Insecure)
	if err != nil {
		return err
	}
	defer dashboard.Close() //nolint:errcheck // for the ways out before it is served; otherwise a second close
	admin, err := listen(ctx, "--admin", c.Admin, c.Insecure)
	if err != nil {
		return err
	}
	defer admin.Close() //nolint:errcheck // likewise

	b, err := broker.Open(ctx, func(ctx context.Context) (engine.Store, error) {
		return storage.Open(ctx, c.Store, storage.Options{Logger: c.Logger})
	}, broker.Options{Name: cmp.Or(c.Namespace, want.Namespace, "default"), Limits: c.Limits, Logger: c.Logger})
	if err != nil {
		return err
	}
	defer func() { // after the doors: what they let in is made durable
		if cerr := b.Close(); cerr != nil {
			err = errors.Join(err, fmt.Errorf("the broker did not end well: %w", cerr))
		}
	}()
	if err := apply(ctx, b, want, c.Definition); err != nil {
		return err
	}
	ready := Ready{
		Dashboard: address(dashboard.Addr()), Admin: address(admin.Addr()), Namespace: b.Name(), Data: data(c.Store),
	}
	if ready.Curl, err = curl(ctx, b, ready); err != nil {
		return err
	}
	pages := openDashboard(b, c, ready) //nolint:contextcheck // what follows the broker ends with close, after the last request
	defer pages.close()
	server := web.New(pages.options) //nolint:contextcheck // requests end with Shutdown, gracefully
	served := make(chan error, 1)
	go func() { defer close(served); served <- server.Serve(dashboard, admin) }() // waited for below
	if err := ready.print(stdout, c.ReadyJSON); err != nil {
		c.Logger.Warn("nobody reads where the server is", "err", err)
	}
	if c.Ready != nil {
		c.Ready(ready)
	}
	select {
	case err = <-served:
	case <-b.Done():
		err = errors.New("the broker has ended")
	case <-ctx.Done():
		c.Logger.Info("stopping", "why", context.Cause(ctx))
	}
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopPatience)
	defer cancel()
	return errors.Join(err, pages.leave(stopping), server.Shutdown(stopping), <-served)
}

// namespaceName is what a namespace may be called: it is part of addresses.
var namespaceName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]{0,48}[A-Za-z0-9])?$`)

// complete fills in defaults and checks what can be checked without touching
// anything.
func (c *Config) complete() error {
	c.HTTP, c.Admin = cmp.Or(c.HTTP, "127.0.0.1:8080"), cmp.Or(c.Admin, "127.0.0.1:5300")
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	if c.Limits == nil {
		l := engine.DefaultLimits()
		c.Limits = &l
	}
	if c.Store == "" {
		path := defaultData()
		if path == "" {
			return errors.New("there is no home folder to keep data in: say where with --store sqlite:PATH")
		}
		c.Store = "sqlite:" + path
	}
	if c.Namespace != "" && !namespaceName.MatchString(c.Namespace) {
		return fmt.Errorf("the namespace %q cannot be called so: a name has 1 to 50 letters, digits and hyphens, and a letter or digit at either end", c.Namespace)
	}
	for _, name := range c.AllowHosts {
		if name == "" || strings.ContainsAny(name, "/: *") {
			return fmt.Errorf("--allow-host takes a name without scheme, port or wildcard, not %q", name)
		}
	}
	for _, a := range []struct{ flag, address string }{{"--http", c.HTTP}, {"--admin", c.Admin}, {"--amqp", c.AMQP}} {
		if a.address == "" {
			continue
		}
		if err := checkAddress(a.flag, a.address, c.Insecure); err != nil {
			return err
		}
	}
	return nil
}

// checkAddress refuses what is no address, and one beyond loopback unless that
// was asked for in so many words.
func checkAddress(flag, text string, insecure bool) error {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return fmt.Errorf("%s is an address such as 127.0.0.1:8080, not %q", flag, text)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("%s %s: %q is not a port", flag, text, port)
	}
	if insecure || host == "localhost" {
		return nil
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return fmt.Errorf("%s %s is reachable from other machines and there is no authentication; use 127.0.0.1, or add --insecure if that is what you want", flag, text)
	}
	return nil
}

func listen(ctx context.Context, flag, text string, insecure bool) (net.Listener, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", text)
	if err != nil {
		if e, ok := errors.AsType[*net.OpError](err); ok {
			err = e.Err
		}
		return nil, fmt.Errorf("nothing can listen on %s %s: %w", flag, text, err)
	}
	// localhost is what the system's hosts file says.
	if at, ok := l.Addr().(*net.TCPAddr); !insecure && (!ok || !at.IP.IsLoopback()) {
		return nil, errors.Join(fmt.Errorf("%s %s is %s here, which other machines may reach; add --insecure if that is what you want", flag, text, l.Addr()), l.Close())
	}
	return l, nil
}

// data says where messages are, for people.
func data(store string) string {
	scheme, path, _ := strings.Cut(store, ":")
	if scheme == "memory" {
		return "in memory; it ends with the server"
	}
	if full, err := filepath.Abs(path); err == nil {
		return full
	}
	return path
}
