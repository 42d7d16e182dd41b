package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
)

// listen takes a port.
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
