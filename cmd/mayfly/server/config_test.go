package server

import (
	"strings"
	"testing"

	"mayfly/web/auth/oidc"
	"mayfly/web/auth/sas"
)

func TestAdvertisedBasePath(t *testing.T) {
	for given, want := range map[string]string{
		"": "", "https://bus.example": "https://bus.example/mayfly", "https://bus.example/": "https://bus.example/mayfly", "https://bus.example/mayfly/": "https://bus.example/mayfly", "https://mayfly": "https://mayfly/mayfly",
	} {
		c := Config{Store: "memory:", BasePath: "/mayfly", Advertise: given}
		if err := c.complete(); err != nil || c.Advertise != want {
			t.Errorf("%q was read as %q, %v; want %q", given, c.Advertise, err, want)
		}
	}
}

// TestAddressesWithTokens checks which ports may listen beyond loopback: those of messages with
// --sas enforce, and the dashboard if it requires sign-in. Neither condition replaces the other.
func TestAddressesWithTokens(t *testing.T) {
	for _, tc := range []struct {
		c    Config
		flag string
	}{
		{Config{Admin: "0.0.0.0:0"}, "--admin"},
		{Config{AMQP: "0.0.0.0:0"}, "--amqp"},
		{Config{HTTP: "0.0.0.0:0", SAS: sas.Enforce}, "--http"},
		{Config{Listen: []NamespacePort{{"shop", KindAMQP, "0.0.0.0:0"}}}, "--listen"},
		{Config{Admin: "0.0.0.0:0", AMQP: "0.0.0.0:0", Listen: []NamespacePort{{"shop", KindAMQP, "0.0.0.0:0"}}, SAS: sas.Enforce}, ""},
		{Config{HTTP: "0.0.0.0:0", Auth: "file:users"}, ""},
		{Config{HTTP: "0.0.0.0:0", OIDC: &oidc.Config{}}, ""},
		{Config{HTTPS: "0.0.0.0:0", Auth: "file:users"}, "--https"},
		{Config{Admin: "0.0.0.0:0", Auth: "file:users", OIDC: &oidc.Config{}}, "--admin"},
		{Config{AMQP: "0.0.0.0:0", Auth: "file:users", OIDC: &oidc.Config{}}, "--amqp"},
	} {
		tc.c.Store = "memory:"
		if err := tc.c.complete(); (err == nil) != (tc.flag == "") || err != nil && (!strings.HasPrefix(err.Error(), tc.flag+" ") || strings.Contains(err.Error(), "--sas enforce") != (tc.flag != "--http")) {
			t.Errorf("%+v: %v", tc.c, err)
		}
	}
}
