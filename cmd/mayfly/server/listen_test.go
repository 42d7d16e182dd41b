package server

import (
	"errors"
	"net"
	"slices"
	"testing"
)

// TestPortsBeyondLoopback checks that loopback returns false if any port, even one of a namespace,
// is reachable from other machines, and that close closes all ports.
func TestPortsBeyondLoopback(t *testing.T) {
	for at, want := range map[string]bool{"127.0.0.1:0": true, "0.0.0.0:0": false} {
		p, err := openPorts(t.Context(), Config{HTTP: "127.0.0.1:0", Admin: "127.0.0.1:0", Insecure: true, Listen: []NamespacePort{{"shop", KindAMQP, at}}})
		if err != nil {
			t.Fatal(err)
		}
		if p.loopback() != want {
			t.Errorf("%s: loopback is %v", at, !want)
		}
		p.close()
		if err := p.namespacePorts[0].Close(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("%s: the port is still open, or %v", at, err)
		}
	}
}

// TestCertificateHosts checks that the certificate is for the hosts of all ports with TLS, and for
// all addresses of this machine if a port listens on all of them.
func TestCertificateHosts(t *testing.T) {
	names := Config{AMQPS: "127.0.0.2:0", HTTPS: "broker.lan:443", Listen: []NamespacePort{{Address: "[::2]:1"}}, Peer: NoListener}.certificateHosts()
	if want := []string{"127.0.0.2", "broker.lan", "::2"}; !slices.Equal(names, want) {
		t.Errorf("the names are %q, want %q", names, want)
	}
	for _, address := range []string{"0.0.0.0:5671", ":5671", "[::]:5671"} {
		if names := (Config{AMQPS: address}).certificateHosts(); !slices.Contains(names, "127.0.0.1") {
			t.Errorf("at %s the names are %q, without this machine's addresses", address, names)
		}
	}
}
