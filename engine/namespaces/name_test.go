package namespaces_test

import (
	"errors"
	"strings"
	"testing"

	"mayfly/engine"
	"mayfly/engine/namespaces"
)

func TestParseName(t *testing.T) {
	for text, want := range map[string]string{
		"shop": "shop", "Shop": "shop", "a": "a", "0a": "0a", "a-b": "a-b", strings.Repeat("x", 63): strings.Repeat("x", 63),
		"": "", "-a": "", "a-": "", "a.b": "", "a_b": "", "a/b": "", "ä": "", "127": "", "localhost": "", "LOCALHOST": "", strings.Repeat("x", 64): "",
	} {
		got, err := namespaces.ParseName(text)
		if got != want || (want == "") != errors.Is(err, engine.ErrArgument) {
			t.Errorf("%q: %q, %v; want %q", text, got, err, want)
		}
	}
}

func TestLabel(t *testing.T) {
	for host, want := range map[string]string{
		"shop": "shop", "Shop.localhost": "shop", "shop.localhost:5672": "shop", "shop.servicebus.windows.net": "shop",
		"127.0.0.1": "", "127.0.0.1:5672": "", "[::1]:5672": "", "::1": "", "[::1]": "", "": "", "localhost:5672": "localhost",
	} {
		if got := namespaces.HostLabel(host); got != want {
			t.Errorf("%q: %q; want %q", host, got, want)
		}
	}
}
