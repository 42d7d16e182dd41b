package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"

	"mayfly/web/authority"
)

// listen takes a port.
func listen(ctx context.Context, flag, text string, insecure bool) (net.Listener, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", text)
	if err != nil {
		if e, ok := errors.AsType[*net.OpError](err); ok {
			err = e.Err
		}
		err = fmt.Errorf("nothing can listen on %s: %w", given(flag, text), err)
		if flag == "--amqp" && errors.Is(err, syscall.EADDRINUSE) {
			err = fmt.Errorf("%w; if that is another broker or the Service Bus emulator, choose another address with --amqp, or none", err)
		}
		return nil, err
	}
	// localhost is what the system's hosts file says.
	if at, ok := l.Addr().(*net.TCPAddr); !insecure && (!ok || !at.IP.IsLoopback()) {
		return nil, errors.Join(fmt.Errorf("%s is %s here, which other machines may reach; %s, or add --insecure if that is what you want", given(flag, text), l.Addr(), asking(flag)), l.Close())
	}
	return l, nil
}

// given is an address as the command line has it.
func given(flag, address string) string {
	if strings.HasSuffix(flag, ":") {
		return flag + address
	}
	return flag + " " + address
}

// asking is the flag by which whoever comes to a port is asked to show that he may.
func asking(flag string) string {
	if flag == "--http" {
		return "ask people who they are with --auth FILE"
	}
	return "ask for tokens with --sas enforce"
}

// ports are where a server listens.
type ports struct {
	dashboard, admin   net.Listener
	amqp, amqps, https net.Listener         // nil: there is none
	its                []port               // of one namespace each
	peer               net.Listener         // of other servers; nil: likewise
	authority          *authority.Authority // nil: nothing speaks TLS
	own                string               // the server's own namespace
}

// openPorts takes all ports, or none.
func openPorts(ctx context.Context, c Config) (p ports, err error) {
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	p.own = c.Namespace
	if c.secure() {
		p.authority, err = authority.Open(authority.Options{Dir: c.TLSDir, Names: c.TLSNames, Logger: c.Logger})
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
		if o.address == "" || o.address == noPort {
			continue
		}
		l, err := listen(ctx, o.flag, o.address, c.Insecure || c.guarded(o.flag))
		if err != nil {
			return p, err
		}
		*o.at = l
	}
	for _, o := range c.Listen {
		l, err := listen(ctx, o.flag(), o.Address, c.Insecure || c.guarded(o.flag()))
		if err != nil {
			return p, err
		}
		p.its = append(p.its, port{o, l})
	}
	return p, nil
}

// close lets all ports go. Those that were served are closed already.
func (p ports) close() {
	all := p.forClients()
	if p.peer != nil {
		all = append(all, p.peer)
	}
	for _, l := range all {
		_ = l.Close() //nolint:errcheck // as said
	}
}

// abroad are a listener's URLs by the addresses that other machines may reach: none
// for one that listens on loopback only.
func abroad(a net.Addr) []string {
	at, ok := a.(*net.TCPAddr)
	if !ok || at.IP.IsLoopback() {
		return nil
	}
	if !at.IP.IsUnspecified() {
		return []string{address(a)}
	}
	const most = 8 // machines with many containers have many
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil // nobody can say
	}
	var urls []string
	for _, i := range all {
		n, ok := i.(*net.IPNet)
		if ok && !n.IP.IsLoopback() && !n.IP.IsLinkLocalUnicast() && (n.IP.To4() != nil || at.IP.To4() == nil) && len(urls) < most {
			urls = append(urls, addressNamed(a, n.IP.String()))
		}
	}
	return urls
}

// loopback tells whether nobody on another machine reaches any port.
func (p ports) loopback() bool {
	for _, l := range p.forClients() {
		if at, ok := l.Addr().(*net.TCPAddr); !ok || !at.IP.IsLoopback() {
			return false
		}
	}
	return true
}

// address is a listener's URL as somebody on this machine would open it.
func address(a net.Addr) string { return addressAt(a, "127.0.0.1") }

// addressAbroad is a listener's URL as it makes most sense elsewhere: by the
// name of this machine, if it listens on all its addresses.
func addressAbroad(a net.Addr) string {
	name, err := os.Hostname()
	if err != nil {
		name = "127.0.0.1"
	}
	return addressAt(a, name)
}

// addressNamed is a listener's URL by a name of this machine, whatever it listens
// on.
func addressNamed(a net.Addr, host string) string {
	at, ok := a.(*net.TCPAddr)
	if !ok {
		return "http://" + host
	}
	return "http://" + net.JoinHostPort(host, fmt.Sprint(at.Port))
}

// addressAt is a listener's URL; host stands for every address.
func addressAt(a net.Addr, host string) string {
	at, ok := a.(*net.TCPAddr)
	if !ok {
		return "http://" + a.String()
	}
	if !at.IP.IsUnspecified() {
		host = at.IP.String()
	}
	return "http://" + net.JoinHostPort(host, fmt.Sprint(at.Port))
}
