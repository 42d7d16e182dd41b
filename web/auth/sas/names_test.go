package sas

import (
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"
	"time"

	"mayfly/engine"
)

// TestNames checks which hosts name the namespace shop, as the server's own and as
// another one, beside the namespace till.
func TestNames(t *testing.T) {
	server := func(host string) bool {
		return host == "bus.example" || host == "shop.bus.example" || host == "till.bus.example" || host == "shop" || host == "192.0.2.7" || host == "contoso.servicebus.windows.net"
	}
	other := func(label string) bool { return label == "till" }
	for host, want := range map[string]string{
		"localhost": "own", "LOCALHOST.": "own", "localhost:5672": "own", "127.0.0.1": "own", "127.9.9.9:1": "own", "[::1]:5300": "own", "::1": "own", "::ffff:127.0.0.1": "own", "192.0.2.7:5672": "own", "bus.example": "own", "Bus.Example:443": "own",
		"shop.localhost": "both", "Shop.localhost:5672": "both", "shop.servicebus.windows.net": "both", "SHOP.servicebus.windows.net:5671": "both", "shop.bus.example": "both", "shop": "both",
		"contoso.servicebus.windows.net": "own", // by --allow-host
		"":                               "", "*": "", "orders": "", "evil.example": "", "shop.evil.example": "", "localhost.evil.example": "", "till.localhost": "", "till.servicebus.windows.net": "", "till.bus.example": "", "192.0.2.8": "",
		"localhost:x": "", "localhost:": "", "localhost:70000": "", "localhost:-1": "", "user@localhost": "", "localhost#": "", "localhost%2f": "", "[127.0.0.1]": "", "[::1": "", "[localhost]": "", "::1%lo": "", ".": "", ".localhost": "", "*.localhost": "", "a.shop.localhost": "", "x.shop.servicebus.windows.net": "",
		"shop.servicebus.windows.net.evil.example": "", "shopservicebus.windows.net": "", "other.servicebus.windows.net": "", "sho": "", " localhost": "", "localhost ": "",
	} {
		for _, own := range []bool{true, false} {
			n := Names{Namespace: "Shop", Own: own, IsServer: server, IsOther: other}
			if got, want := n.Has(host), want == "both" || own && want == "own"; got != want {
				t.Errorf("%q, own %t: %t", host, own, got)
			}
		}
	}
	if n := (Names{Namespace: "shop", Own: true, Forwarded: true}); !n.Has("192.0.2.8") || n.Has("evil.example") {
		t.Error("a forwarding server's addresses are its own, but its unknown names are not")
	}
	if n := (Names{}); n.Has("localhost") || n.Has("") || n.Has(".localhost") || n.Has(serviceDomain) {
		t.Error("empty Names have a host")
	}
}

// TestAudiences checks what audiences of real clients and of hostile ones allow.
func TestAudiences(t *testing.T) {
	all, orders := "all", "orders"
	for audience, want := range map[string]string{
		"sb://localhost": all, "sb://localhost/": all, "sb://localhost:5672/": all, "amqp://127.0.0.1": all, "amqps://shop.servicebus.windows.net/": all, "http://localhost:5300": all, "localhost:5300": all, "localhost": all,
		"https://shop.localhost/": all, "wss://h:443/$servicebus/websocket": all, "SB://LOCALHOST/": all,
		"sb://localhost/orders": orders, "amqp://h/Orders/": orders, "sb://localhost/orders/$management": orders, "http://localhost:5300/orders?api-version=2021-05": orders, "localhost:5300/orders": orders, "sb://h//orders": orders,
		"sb://localhost/orders/$deadletterqueue": "orders/$deadletterqueue", "sb://h/prices/Subscriptions/EU": "prices/subscriptions/eu",
		"sb://localhost/$cbs": "$cbs", "sb://localhost/$management": "$management",

		"orders": "", "*": "", "/": "", "/orders": "", "//localhost/": "", "?": "", "sb://": "", "sb:///": "", "sb:///orders": "", "sb://*": "", "sb://*/": "", "sb://*/orders": "", "sb://evil.example/": "", "sb://evil.example/orders": "",
		"evil.example": "", "evil.example/orders": "", "till.localhost/orders": "", "sb://other.servicebus.windows.net/": "", "sb://localhost@evil.example/": "", "sb://evil.example#@localhost/": "", "sb://evil.example\\@localhost/": "",
		"javascript://localhost/": "", "file://localhost/orders": "", "://localhost/": "", "sb:localhost/": "", "sb:/localhost/orders": "", "sb://sb://localhost/": "", "sb://localhost\x00/": "", " sb://localhost/": "", "sb://local%68ost/": "",
	} {
		c := token(t, audience, "root", "key", now.Add(time.Hour))
		rules := Rules{Namespace: []engine.AccessRule{rule("root", engine.ManageRight, "key")}}
		for _, path := range []string{"", "orders", "orders/$deadletterqueue", "orders1", "prices", "prices/subscriptions/eu", "prices/subscriptions/eu2", "$cbs", "$management", "*"} {
			may := want == all || want != "" && (path == want || strings.HasPrefix(path, want+"/"))
			if _, err := c.Rights(path, rules, now); (err == nil) != may || err != nil && !IsRefused(err) {
				t.Errorf("a token for %q at %q: %v", audience, path, err)
			}
		}
	}
	_, err := token(t, "sb://"+strings.Repeat("é", 200)+"/q", "root", "key", now.Add(time.Hour)).Rights("q", Rules{Namespace: []engine.AccessRule{rule("root", engine.ManageRight, "key")}}, now)
	if err == nil || !strings.HasPrefix(err.Error(), "InvalidAudience: ") || !strings.Contains(err.Error(), "--allow-host") || len(err.Error()) > 500 {
		t.Errorf("the error is %v", err)
	}
}

// FuzzAudience checks that a token allows only paths that its audience names by whole
// segments, and none if the host does not name the namespace.
func FuzzAudience(f *testing.F) {
	for _, seed := range []string{"sb://localhost/orders", "orders", "*", "sb://h/a%2Fb", "sb://localhost/$management", "localhost:1/q?x", "sb://h/%2F", "wss://h/$servicebus/websocket/q"} {
		f.Add(seed, "orders/x")
	}
	f.Fuzz(func(t *testing.T, audience, path string) {
		parsed, err := Parse(Sign(audience, "n", "k", time.Unix(1, 0)))
		if err != nil {
			return
		}
		c := TokenCredential(parsed, ours)
		path = PathTo(path)
		if !c.Covers(path) {
			return
		}
		text := strings.ToLower(audience)
		if _, rest, ok := strings.Cut(text, "://"); ok {
			text = rest
		}
		text, _, _ = strings.Cut(text, "?")
		host, named, _ := strings.Cut(text, "/")
		if !strings.HasPrefix(host, "localhost") && !strings.HasPrefix(host, "shop.") && host != "h" && !strings.HasPrefix(host, "h:") && !strings.HasPrefix(host, "h.") && !strings.HasPrefix(host, "127.") && !strings.HasPrefix(host, "[") && !strings.Contains(host, "::") {
			t.Fatalf("%q covers %q", audience, path)
		}
		if plain, err := url.PathUnescape(named); err == nil {
			named = strings.ToLower(plain)
		}
		of := strings.Split(path, "/")
		for segment := range strings.SplitSeq(strings.Trim(named, "/"), "/") {
			if segment == "$servicebus" || segment == "websocket" || segment == management || segment == "" {
				continue // WebSocket endpoints, which are no entities
			}
			if len(of) == 0 || of[0] != segment {
				t.Fatalf("%q covers %q", audience, path)
			}
			of = of[1:]
		}
	})
}

// TestAudienceAtRandom checks the same as FuzzAudience for random paths of a fixed set: a
// token for a path covers that path and those below it.
func TestAudienceAtRandom(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	word := func() string {
		return []string{"orders", "orders1", "a", "b", "subscriptions", "$deadletterqueue", "ordersx"}[random.IntN(7)]
	}
	for range 5000 {
		at, to := word(), word()
		for range random.IntN(3) {
			at += "/" + word()
		}
		for range random.IntN(4) {
			to += "/" + word()
		}
		parsed, err := Parse(Sign([]string{"sb", "amqp", "https"}[random.IntN(3)]+"://localhost/"+at, "n", "k", now))
		if err != nil {
			t.Fatal(err)
		}
		if got, want := TokenCredential(parsed, ours).Covers(to), strings.HasPrefix(to+"/", at+"/"); got != want {
			t.Fatalf("a token for %s at %s: %t", at, to, got)
		}
	}
}
