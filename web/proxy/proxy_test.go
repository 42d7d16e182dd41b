package proxy_test

import (
	"bufio"
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"mayfly/web/proxy"
)

func trusted(t *testing.T, networks ...string) proxy.Trusted {
	t.Helper()
	all, err := proxy.Parse(networks)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestClient: the client's address is the first from the right that is not a trusted proxy's.
func TestClient(t *testing.T) {
	for name, tc := range map[string]struct {
		from   string
		logged []string
		want   string
	}{
		"no proxy":                       {"192.0.2.9:1", nil, "192.0.2.9"},
		"nobody's word":                  {"192.0.2.9:1", []string{"203.0.113.1"}, "192.0.2.9"},
		"a proxy":                        {"10.0.0.1:1", []string{"203.0.113.1"}, "203.0.113.1"},
		"a proxy, by IPv6":               {"[::ffff:10.0.0.1]:1", []string{"2001:db8::7"}, "2001:db8::7"},
		"two proxies":                    {"10.0.0.1:1", []string{"203.0.113.1, 10.0.0.2"}, "203.0.113.1"},
		"two proxies, two headers":       {"10.0.0.1:1", []string{"203.0.113.1", "10.0.0.2"}, "203.0.113.1"},
		"a client that invents":          {"10.0.0.1:1", []string{"127.0.0.1, 203.0.113.1"}, "203.0.113.1"},
		"a client that invents a proxy":  {"10.0.0.1:1", []string{"127.0.0.1, 10.0.0.3, 203.0.113.1, 10.0.0.2"}, "203.0.113.1"},
		"with ports":                     {"10.0.0.1:1", []string{"203.0.113.1:4711, [2001:db8::7]:99"}, "2001:db8::7"},
		"an unknown client":              {"10.0.0.1:1", []string{"unknown"}, "10.0.0.1"},
		"an unknown client of the first": {"10.0.0.1:1", []string{"203.0.113.1, unknown, 10.0.0.2"}, "10.0.0.2"},
		"a proxy that says nothing":      {"10.0.0.1:1", nil, "10.0.0.1"},
		"the proxy's own":                {"10.0.0.1:1", []string{"10.0.0.7"}, "10.0.0.7"},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.RemoteAddr = tc.from
			for _, h := range tc.logged {
				r.Header.Add("X-Forwarded-For", h)
			}
			r = trusted(t, "10.0.0.0/8", "::1").Request(r)
			if got := proxy.Network(proxy.Address(r)); got != proxy.Network(tc.want) || proxy.Address(r) != tc.want && tc.want != "10.0.0.1" {
				t.Errorf("got %s, want %s", r.RemoteAddr, tc.want)
			}
			if len(r.Header) != 0 {
				t.Errorf("headers of proxies remain: %v", r.Header)
			}
		})
	}
}

// TestSecure: a request counts as sent over TLS if its own connection has TLS, or if a trusted
// proxy's header says so.
func TestSecure(t *testing.T) {
	for name, tc := range map[string]struct {
		from, proto string
		tls, want   bool
	}{
		"without":               {"192.0.2.9:1", "", false, false},
		"with":                  {"192.0.2.9:1", "", true, true},
		"nobody's word":         {"192.0.2.9:1", "https", false, false},
		"a proxy":               {"10.0.0.1:1", "HTTPS", false, true},
		"a proxy without":       {"10.0.0.1:1", "http", false, false},
		"a client that invents": {"10.0.0.1:1", "https, http", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			if r.RemoteAddr = tc.from; tc.tls {
				r.TLS = &tls.ConnectionState{}
			}
			if tc.proto != "" {
				r.Header.Set("X-Forwarded-Proto", tc.proto)
			}
			if got := proxy.Secure(trusted(t, "10.0.0.1").Request(r)); got != tc.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestParse(t *testing.T) {
	for _, bad := range []string{"", "proxy", "10.0.0.0/33", "10.0.0"} {
		if _, err := proxy.Parse([]string{bad}); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
	all := trusted(t, "10.1.2.3/8", "2001:db8::/32", "::ffff:192.0.2.1")
	for address, want := range map[string]bool{
		"10.255.0.1": true, "11.0.0.1": false, "2001:db8:1::1": true, "2001:db9::1": false, "192.0.2.1": true, "192.0.2.2": false, "fe80::1%eth0": false, "pipe": false,
	} {
		if all.Has(address) != want {
			t.Errorf("%s: got %v", address, !want)
		}
	}
}

// TestNetwork: Network returns the /64 prefix of an IPv6 address, and an IPv4 address as it is.
func TestNetwork(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.7": "192.0.2.7", "::ffff:192.0.2.7": "192.0.2.7", "2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64", "fe80::1%eth0": "fe80::/64", "pipe": "pipe",
	} {
		if got := proxy.Network(address); got != want {
			t.Errorf("%s: got %s", address, got)
		}
	}
}

// TestReadHeader reads both versions of the header, and connections without one.
func TestReadHeader(t *testing.T) {
	const v2 = "\r\n\r\n\x00\r\nQUIT\n"
	for name, tc := range map[string]struct {
		sent, want, rest string
		bad              bool
	}{
		"version 1":        {sent: "PROXY TCP4 203.0.113.1 10.0.0.1 4711 5672\r\nAMQP", want: "203.0.113.1:4711", rest: "AMQP"},
		"by IPv6":          {sent: "PROXY TCP6 2001:db8::7 ::1 4711 5672\r\nAMQP", want: "[2001:db8::7]:4711", rest: "AMQP"},
		"a check":          {sent: "PROXY UNKNOWN\r\nAMQP", rest: "AMQP"},
		"version 2":        {sent: v2 + "\x21\x11\x00\x0c\xcb\x00\x71\x01\x0a\x00\x00\x01\x12\x67\x16\x28AMQP", want: "203.0.113.1:4711", rest: "AMQP"},
		"a check by 2":     {sent: v2 + "\x20\x00\x00\x00AMQP", rest: "AMQP"},
		"none":             {sent: "AMQP\x00\x01\x00\x00", rest: "AMQP\x00\x01\x00\x00"},
		"one that is cut":  {sent: "PROXY TCP4 203.0.1", bad: true},
		"one that is none": {sent: "PROXY TCP4 somewhere 10.0.0.1 1 2\r\n", bad: true},
		"a long one":       {sent: "PROXY " + strings.Repeat("x", 200) + "\r\n", bad: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := bufio.NewReader(strings.NewReader(tc.sent))
			at, err := proxy.ReadHeader(r)
			if (err != nil) != tc.bad {
				t.Fatal(err)
			}
			got := ""
			if at != nil {
				got = at.String()
			}
			rest := make([]byte, r.Buffered())
			_, _ = io.ReadFull(r, rest) //nolint:errcheck // the bytes are compared below
			if got != tc.want || !tc.bad && string(rest) != tc.rest {
				t.Errorf("got %q, and then %q", got, rest)
			}
		})
	}
}
