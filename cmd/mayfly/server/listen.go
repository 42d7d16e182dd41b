package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"

	"mayfly/web/certificate"
)

// listen opens a listener at the address text. Without insecure, an address that is not on
// loopback is an error. flag is named in errors.
func listen(ctx context.Context, flag, text string, insecure bool) (net.Listener, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", text)
	if err != nil {
		if e, ok := errors.AsType[*net.OpError](err); ok {
			err = e.Err
		}
		err = fmt.Errorf("cannot listen on %s: %w", flagWithAddress(flag, text), err)
		if flag == "--amqp" && errors.Is(err, syscall.EADDRINUSE) {
			err = fmt.Errorf("%w; if that is another broker or the Service Bus emulator, choose another address with --amqp, or none", err)
		}
		return nil, err
	}
	// Check the resolved address, not the text: the hosts file may map localhost to another address.
	if at, ok := l.Addr().(*net.TCPAddr); !insecure && (!ok || !at.IP.IsLoopback()) {
		return nil, errors.Join(fmt.Errorf("%s is %s here, which other machines may reach; %s, or add --insecure if that is what you want", flagWithAddress(flag, text), l.Addr(), authenticationHint(flag)), l.Close())
	}
	return l, nil
}

// flagWithAddress returns a flag and its address as written on the command line. A flag that ends
// in a colon, such as --listen shop=amqp:, is not separated from the address.
func flagWithAddress(flag, address string) string {
	if strings.HasSuffix(flag, ":") {
		return flag + address
	}
	return flag + " " + address
}

// authenticationHint suggests the flag that makes a port authenticate its clients.
func authenticationHint(flag string) string {
	if flag == "--http" {
		return "ask people who they are with --auth FILE"
	}
	return "ask for tokens with --sas enforce"
}

// ports are a server's listeners.
type ports struct {
	dashboard, admin   net.Listener
	amqp, amqps, https net.Listener         // nil if there is none
	namespacePorts     []openPort           // for one namespace each
	peer               net.Listener         // for other servers; nil if there is none
	certificate        *certificate.Manager // nil if no port uses TLS
	ownNamespace       string               // the name of the server's own namespace
}

// openPorts opens all listeners, or none.
func openPorts(ctx context.Context, c Config) (p ports, err error) {
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	p.ownNamespace = c.Namespace
	if c.usesTLS() {
		p.certificate, err = certificate.Open(certificate.Options{Dir: c.TLSDir, Names: c.TLSNames, ExtraNames: c.certificateHosts(), Logger: c.Logger})
		if err != nil {
			return p, fmt.Errorf("--tls-dir: %w", err)
		}
	}
	for _, o := range []struct {
		flag, address string
		at            *net.Listener
	}{
		{"--http", c.HTTP, &p.dashboard}, {"--admin", c.Admin, &p.admin}, {"--amqp", c.AMQP, &p.amqp},
		{"--amqps", c.AMQPS, &p.amqps}, {"--https", c.HTTPS, &p.https}, {"--peer", c.Peer, &p.peer},
	} {
		if o.address == "" || o.address == NoListener {
			continue
		}
		l, err := listen(ctx, o.flag, o.address, c.Insecure || c.authenticates(o.flag))
		if err != nil {
			return p, err
		}
		*o.at = l
	}
	for _, o := range c.Listen {
		l, err := listen(ctx, o.flag(), o.Address, c.Insecure || c.authenticates(o.flag()))
		if err != nil {
			return p, err
		}
		p.namespacePorts = append(p.namespacePorts, openPort{o, l})
	}
	return p, nil
}

// certificateHosts returns host names and addresses for the certificate: those in the flags of the
// ports and, for a port on all addresses, the addresses of this machine. Names that the CA may not
// sign must be in --tls-name.
func (c Config) certificateHosts() (names []string) {
	addresses := []string{c.AMQPS, c.HTTPS, c.Peer}
	for _, o := range c.Listen {
		addresses = append(addresses, o.Address)
	}
	for _, address := range addresses {
		host, _, err := net.SplitHostPort(address)
		if err != nil || address == NoListener {
			continue
		}
		if ip := net.ParseIP(host); host != "" && (ip == nil || !ip.IsUnspecified()) {
			names = append(names, host)
			continue
		}
		all, err := net.InterfaceAddrs()
		if err != nil { // the addresses are unknown: users add them with --tls-name
			continue
		}
		for _, a := range all {
			if n, ok := a.(*net.IPNet); ok && !n.IP.IsLinkLocalUnicast() {
				names = append(names, n.IP.String())
			}
		}
	}
	return names
}

// tlsFault returns why TLS failed on nc, as certificate.Manager.Fault does.
func (p ports) tlsFault(nc *tls.Conn) string {
	if p.certificate == nil {
		return ""
	}
	return p.certificate.Fault(nc)
}

// close closes all listeners. Those that were served are closed already.
func (p ports) close() {
	all := p.clientListeners()
	if p.peer != nil {
		all = append(all, p.peer)
	}
	for _, l := range all {
		_ = l.Close() //nolint:errcheck // it may be closed already
	}
}

// remoteURLs returns a listener's URLs by the addresses that other machines can reach, or none
// for a listener on loopback.
func remoteURLs(a net.Addr) []string {
	at, ok := a.(*net.TCPAddr)
	if !ok || at.IP.IsLoopback() {
		return nil
	}
	if !at.IP.IsUnspecified() {
		return []string{localURL(a)}
	}
	const most = 8 // a machine with many containers has many addresses
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil // the addresses are unknown
	}
	var urls []string
	for _, i := range all {
		n, ok := i.(*net.IPNet)
		if ok && !n.IP.IsLoopback() && !n.IP.IsLinkLocalUnicast() && (n.IP.To4() != nil || at.IP.To4() == nil) && len(urls) < most {
			urls = append(urls, urlWithHost(a, n.IP.String()))
		}
	}
	return urls
}

// loopback reports whether all ports for clients are on loopback.
func (p ports) loopback() bool {
	for _, l := range p.clientListeners() {
		if at, ok := l.Addr().(*net.TCPAddr); !ok || !at.IP.IsLoopback() {
			return false
		}
	}
	return true
}

// localURL returns a listener's URL for use on this machine.
func localURL(a net.Addr) string { return urlWithDefaultHost(a, "127.0.0.1") }

// remoteURL returns a listener's URL for use on other machines: by the name of this
// machine, if it listens on all addresses.
func remoteURL(a net.Addr) string {
	name, err := os.Hostname()
	if err != nil {
		name = "127.0.0.1"
	}
	return urlWithDefaultHost(a, name)
}

// urlWithHost returns a listener's URL with a name of this machine, whatever address it
// listens on.
func urlWithHost(a net.Addr, host string) string {
	at, ok := a.(*net.TCPAddr)
	if !ok {
		return "http://" + host
	}
	return "http://" + net.JoinHostPort(host, fmt.Sprint(at.Port))
}

// urlWithDefaultHost returns a listener's URL, with host in place of the unspecified address.
func urlWithDefaultHost(a net.Addr, host string) string {
	at, ok := a.(*net.TCPAddr)
	if !ok {
		return "http://" + a.String()
	}
	if !at.IP.IsUnspecified() {
		host = at.IP.String()
	}
	return "http://" + net.JoinHostPort(host, fmt.Sprint(at.Port))
}
