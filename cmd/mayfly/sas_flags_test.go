package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/gorilla/websocket"

	"mayfly/engine"
	"mayfly/web/auth/oidc"
	"mayfly/web/auth/sas"
)

func TestParseKeys(t *testing.T) {
	rules, err := parseSASKeys([]string{"ci=a=b:c==:Send, listen", "root=k:Manage"})
	if err != nil || len(rules) != 2 || rules[0].Name != "ci" || rules[0].PrimaryKey != "a=b:c==" || rules[0].Rights.String() != "Listen,Send" || rules[1].Rights != engine.ManageRight {
		t.Errorf("got %v, %v", rules, err)
	}
	for _, given := range [][]string{{""}, {"secret"}, {"ci=secret"}, {"=secret:Send"}, {"ci=:Send"}, {"ci=secret:"}, {"ci=secret:Write"}, {"ci=secret:Send", "CI=secret:Send"}} {
		if _, err := parseSASKeys(given); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", given, err)
		}
	}
	if p, err := parseSASPolicy("enforce"); p != sas.Enforce || err != nil {
		t.Errorf("got %v, %v", p, err)
	}
	if _, err := parseSASPolicy("maybe"); err == nil {
		t.Error("maybe is a policy")
	}
}

// A port that requires tokens may be beyond loopback, as may a dashboard that requires sign-in.
// One does not replace the other.
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

// A server that requires tokens accepts those of its flag's rules, by every protocol.
func TestServerThatAsksForTokens(t *testing.T) {
	c := Config{Store: "memory:"}
	c.SAS, c.SASKeys = sas.Enforce, []engine.AccessRule{{Name: "ci", Rights: engine.ListenRight | engine.SendRight, PrimaryKey: "hush"}, {Name: "all", Rights: engine.ManageRight, PrimaryKey: "hush"}}
	s := Start(t, c)
	ask := func(method, path, body, token string) int {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, s.Admin+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", token)
		got, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		got.Body.Close()
		return got.StatusCode
	}
	signed := func(rule, key string) string { return sas.Sign(s.Admin, rule, key, time.Now().Add(time.Hour)) }
	const queue = `<entry xmlns="http://www.w3.org/2005/Atom"><content type="application/xml"><QueueDescription xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect"/></content></entry>`
	for _, tc := range []struct {
		method, path, body, token string
		want                      int
	}{
		{"PUT", "/q?api-version=2021-05", queue, "", 401},
		{"PUT", "/q?api-version=2021-05", queue, signed("ci", "hush"), 401},
		{"PUT", "/q?api-version=2021-05", queue, signed("all", "hash"), 401},
		{"PUT", "/q?api-version=2021-05", queue, signed("all", "hush"), 201},
		{"POST", "/q/messages", "x", "", 401},
		{"POST", "/q/messages", "x", signed("ci", "hush"), 201},
	} {
		if got := ask(tc.method, tc.path, tc.body, tc.token); got != tc.want {
			t.Errorf("%s %s: %d; want %d", tc.method, tc.path, got, tc.want)
		}
	}
	once := azservicebus.RetryOptions{MaxRetries: -1}
	send := func(client *azservicebus.Client, err error) error {
		if err != nil {
			return err
		}
		defer client.Close(context.Background())
		sender, err := client.NewSender("q", nil)
		if err != nil {
			return err
		}
		return sender.SendMessage(t.Context(), &azservicebus.Message{Body: []byte("x")}, nil)
	}
	for key, good := range map[string]bool{"hush": true, "hash": false} {
		if err := send(azservicebus.NewClientFromConnectionString(fmt.Sprintf("Endpoint=sb://%s;SharedAccessKeyName=ci;SharedAccessKey=%s;UseDevelopmentEmulator=true;", s.AMQP, key),
			&azservicebus.ClientOptions{RetryOptions: once})); (err == nil) != good {
			t.Errorf("with the key %s: %v", key, err)
		}
		// A credential's token is called a "jwt", whatever it is (sdk-demands 6).
		if err := send(azservicebus.NewClient("localhost", credential(sas.Sign("sb://localhost/", "ci", key, time.Now().Add(time.Hour))), &azservicebus.ClientOptions{
			RetryOptions: once,
			NewWebSocketConn: func(context.Context, azservicebus.NewWebSocketConnArgs) (net.Conn, error) {
				return DialWebSocket(t, s.Admin, websocket.Dialer{Subprotocols: []string{"AMQPWSB10"}})
			},
		})); (err == nil) != good {
			t.Errorf("with a credential whose key is %s: %v", key, err)
		}
	}
}

// A credential returns the same token for every request.
type credential string

// GetToken implements azcore.TokenCredential.
func (c credential) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return azcore.AccessToken{Token: string(c), ExpiresOn: time.Now().Add(time.Hour)}, nil
}
