package e2e

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/gorilla/websocket"

	"mayfly/cmd/mayfly/server"
	"mayfly/engine/longtest"
)

// Official SDKs select a namespace by the first label of the host in their connection string,
// NAME.localhost: a message in a queue of one namespace does not appear in a queue of that name
// in another, and an unknown namespace is an error. The scripts in testdata/sdk/space resolve
// these names themselves, because not every system does.
func TestSDKsFindTheirNamespace(t *testing.T) {
	longtest.Require(t, "the SDKs in several namespaces")
	t.Parallel()
	for _, l := range languages() {
		if l.name == "go" || l.name == "java" {
			continue // Go is tested below; a program cannot set Java's resolver
		}
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			l.installed(t)
			program, err := os.ReadFile(filepath.Join("testdata", "sdk", "space", l.file))
			if err != nil {
				t.Fatal(err)
			}
			s := start(t, "--store", "memory:", "--config", OrdersConfig(t))
			FillNamespaces(t, s.at.Dashboard+"/api/v1")
			out := strings.NewReplacer("'", "", `"`, "", "True", "true").Replace(l.run(t, s, string(program)))
			want := "till.localhost []\nlocalhost []\nSHOP.localhost [theirs]"
			if l.name != "javascript" { // it waits for a minute, and does not report the error
				want += "\nnone.localhost refused: true"
			}
			if strings.TrimSpace(out) != want {
				t.Errorf("the program printed\n%s\nwant\n%s", out, want)
			}
		})
	}
}

// FillNamespaces creates two namespaces with a queue named like that of the server's own.
func FillNamespaces(t *testing.T, api string) {
	t.Helper()
	for _, name := range []string{"shop", "till"} {
		if code, text := Request(t, "POST", api+"/namespaces", `{"name":"`+name+`"}`); code != 201 {
			t.Fatal(code, text)
		}
		if code, text := Request(t, "POST", api+"/n/"+name+"/entities", `{"kind":"queue","path":"orders"}`); code != 201 {
			t.Fatal(code, text)
		}
	}
}

// The Go SDK also selects its namespace in a WebSocket.
func TestGoSDKFindsItsNamespace(t *testing.T) {
	longtest.Require(t, "the SDK for Go")
	s := Start(t, server.Config{Store: "memory:", ConfigFile: OrdersConfig(t)})
	FillNamespaces(t, s.API)
	client := func(host string) *azservicebus.Client {
		c, err := azservicebus.NewClientFromConnectionString(strings.Replace(s.ConnectionString, "sb://localhost", "sb://"+host, 1), &azservicebus.ClientOptions{
			RetryOptions: azservicebus.RetryOptions{MaxRetries: -1},
			NewWebSocketConn: func(context.Context, azservicebus.NewWebSocketConnArgs) (net.Conn, error) {
				return DialWebSocket(t, s.Admin, websocket.Dialer{Subprotocols: []string{"AMQPWSB10"}}) // connects to the server, as if the host name had been resolved
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close(context.Background()) })
		return c
	}
	shop, err := client("shop.localhost").NewSender("orders", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := shop.SendMessage(t.Context(), &azservicebus.Message{Body: []byte("theirs")}, nil); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ host, want string }{
		{"till.localhost", "nothing"}, {"localhost", "nothing"}, {"SHOP.localhost", "theirs"}, {"none.localhost", "The namespace 'none' does not exist."},
	} {
		wait := 2 * time.Second // no message arrives, however long the wait
		if tc.want != "nothing" {
			wait = time.Minute
		}
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		r, err := client(tc.host).NewReceiverForQueue("orders", nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.ReceiveMessages(ctx, 1, nil)
		cancel()
		is := fmt.Sprint(err)
		switch {
		case len(got) == 1:
			is = string(got[0].Body)
		case errors.Is(err, context.DeadlineExceeded):
			is = "nothing"
		}
		if !strings.Contains(is, tc.want) {
			t.Errorf("%s: %s; want %s", tc.host, is, tc.want)
		}
	}
}
