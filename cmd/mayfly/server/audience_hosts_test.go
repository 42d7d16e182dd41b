package server

import (
	"net"
	"net/netip"
	"testing"

	"mayfly/web/certificate"
)

// A fixed is a listener with a given address.
type fixed struct {
	net.Listener
	at string
}

func (f fixed) Addr() net.Addr { return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(f.at)) }

// TestAudienceHosts checks that tokens may name the hosts that the command line gives this
// server. The local CA's certificate covers the whole hosted service, but adds no names of it.
func TestAudienceHosts(t *testing.T) {
	a, err := certificate.Open(certificate.Options{Dir: t.TempDir(), Names: []string{"broker", "contoso.servicebus.windows.net"}})
	if err != nil {
		t.Fatal(err)
	}
	c := Config{AllowHosts: []string{"Bus.example"}, Advertise: "https://face.example:8443/mayfly"}
	one := ports{dashboard: fixed{at: "127.0.0.1:1"}, admin: fixed{at: "192.0.2.7:2"}, certificate: a}.audienceHosts(c)
	every := ports{dashboard: fixed{at: "127.0.0.1:1"}, admin: fixed{at: "127.0.0.1:2"}, amqp: fixed{at: "0.0.0.0:3"}}.audienceHosts(c)
	for host, want := range map[string]struct{ one, every bool }{
		"bus.example": {true, true}, "face.example": {true, true}, "192.0.2.7": {true, true}, "192.0.2.8": {false, true}, "evil.example": {false, false}, "": {false, false},
		"broker": {true, false}, "contoso.servicebus.windows.net": {true, false}, "shop.servicebus.windows.net": {false, false},
	} {
		if got := one(host); got != want.one {
			t.Errorf("%q, with one address: %t", host, got)
		}
		if got := every(host); got != want.every {
			t.Errorf("%q, with every address: %t", host, got)
		}
	}
}
