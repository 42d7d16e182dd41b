package main

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
)

// Official SDKs find the namespace that their connection string names by the first
// label of its host, NAME.localhost: what is sent to a queue of one is in no other's
// of that name, and where there is no such namespace they are told so. The scripts in
// testdata/sdk/space resolve these names themselves, for not every system does.
func TestSDKsFindTheirNamespace(t *testing.T) {
	t.Parallel()
	for _, l := range languages() {
		if l.name == "go" || l.name == "java" {
			continue // Go is below; of Java's resolver a program cannot say
		}
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			l.installed(t)
			program, err := os.ReadFile(filepath.Join("testdata", "sdk", "space", l.file))
			if err != nil {
				t.Fatal(err)
			}
			s := start(t, "--store", "memory:", "--config", ordersOnly(t))
			furnishSpaces(t, s.at.Dashboard+"/api/v1")
			out := strings.NewReplacer("'", "", `"`, "", "True", "true").Replace(l.run(t, s, string(program)))
			want := "till.localhost []\nlocalhost []\nSHOP.localhost [theirs]"
			if l.name != "javascript" { // which waits for a minute, and does not say what it was told
				want += "\nnone.localhost refused: true"
			}
			if strings.TrimSpace(out) != want {
				t.Errorf("it found\n%s\nwant\n%s", out, want)
			}
		})
	}
}

// furnishSpaces makes two namespaces with a queue called as that of the server's own.
func furnishSpaces(t *testing.T, api string) {
	t.Helper()
	for _, name := range []string{"shop", "till"} {
		if code, text := request(t, "POST", api+"/namespaces", `{"name":"`+name+`"}`); code != 201 {
			t.Fatal(code, text)
		}
		if code, text := request(t, "POST", api+"/n/"+name+"/entities", `{"kind":"queue","path":"orders"}`); code != 201 {
			t.Fatal(code, text)
		}
	}
}

// The SDK for Go says in a WebSocket too which namespace it means.
func TestGoSDKFindsItsNamespace(t *testing.T) {
	s := serving(t, Config{Store: "memory:", Definition: ordersOnly(t)})
	furnishSpaces(t, s.API)
	client := func(host string) *azservicebus.Client {
		c, err := azservicebus.NewClientFromConnectionString(strings.Replace(s.ConnectionString, "sb://localhost", "sb://"+host, 1), &azservicebus.ClientOptions{
			RetryOptions: azservicebus.RetryOptions{MaxRetries: -1},
			NewWebSocketConn: func(context.Context, azservicebus.NewWebSocketConnArgs) (net.Conn, error) {
				return dialled(t, s.Admin, websocket.Dialer{Subprotocols: []string{"AMQPWSB10"}}) // where a resolver would have led
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
		{"till.localhost", "nothing"}, {"localhost", "nothing"}, {"SHOP.localhost", "theirs"}, {"none.localhost", "There is no namespace 'none'."},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
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
