package e2e

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

	"mayfly/cmd/mayfly/server"
	"mayfly/engine"
	"mayfly/web/auth/sas"
)

// TestServerThatAsksForTokens checks that a server with --sas enforce accepts tokens of the rules
// that --sas-key gives, by every protocol, and no others.
func TestServerThatAsksForTokens(t *testing.T) {
	c := server.Config{Store: "memory:"}
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
