package e2e

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/gorilla/websocket"

	"mayfly/cmd/mayfly/server"
	tunnel "mayfly/web/amqp/websocket"
)

// NewSDKClient returns a client of the Go SDK for the AMQP port of a server.
func NewSDKClient(t *testing.T, address string, o azservicebus.ClientOptions) *azservicebus.Client {
	t.Helper()
	c, err := azservicebus.NewClientFromConnectionString("Endpoint=sb://"+address+";SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey=SAS_KEY_VALUE;UseDevelopmentEmulator=true;", &o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// The client has to end with the test, even if the server does not answer its close.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Second)
		defer cancel()
		_ = c.Close(ctx)
	})
	return c
}

// DialWebSocket opens AMQP over WebSocket at a server's URL.
func DialWebSocket(t *testing.T, at string, d websocket.Dialer) (net.Conn, error) {
	t.Helper()
	return upgraded(t, "ws"+strings.TrimPrefix(at, "http")+tunnel.Path, d)
}

func upgraded(t *testing.T, url string, d websocket.Dialer) (net.Conn, error) {
	t.Helper()
	ws, answer, err := d.DialContext(t.Context(), url, nil)
	if err != nil {
		return nil, err
	}
	answer.Body.Close()
	if got := ws.Subprotocol(); got != d.Subprotocols[0] {
		t.Errorf("the subprotocol is %q", got)
	}
	return tunnel.NewConn(ws), nil
}

// passes sends and receives a message through a queue with one client.
func passes(t *testing.T, c *azservicebus.Client, queue string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := c.NewSender(queue, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.SendMessage(ctx, &azservicebus.Message{Body: []byte("x")}, nil); err != nil {
		t.Fatal(err)
	}
	r, err := c.NewReceiverForQueue(queue, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.ReceiveMessages(ctx, 1, nil)
	if err != nil || len(got) != 1 || string(got[0].Body) != "x" {
		t.Fatal(got, err)
	}
	if err := r.CompleteMessage(ctx, got[0], nil); err != nil {
		t.Fatal(err)
	}
}

// CreateQueue creates a queue.
func CreateQueue(t *testing.T, r server.Ready, queue string) {
	t.Helper()
	if code, text := Request(t, http.MethodPost, r.Dashboard+"/api/v1/entities", `{"kind":"queue","path":"`+queue+`"}`); code != http.StatusCreated {
		t.Fatal(code, text)
	}
}

// TestSDKInWebSockets tests the Go SDK through the HTTP ports.
func TestSDKInWebSockets(t *testing.T) {
	s := Start(t, server.Config{Store: "memory:"})
	CreateQueue(t, s.Ready, "q")
	for name, at := range map[string]string{"admin": s.Admin, "dashboard": s.Dashboard} {
		t.Run(name, func(t *testing.T) {
			passes(t, NewSDKClient(t, s.AMQP, azservicebus.ClientOptions{
				NewWebSocketConn: func(_ context.Context, args azservicebus.NewWebSocketConnArgs) (net.Conn, error) {
					if !strings.HasSuffix(args.Host, tunnel.Path) {
						t.Errorf("the client uses the address %s", args.Host)
					}
					return DialWebSocket(t, at, websocket.Dialer{Subprotocols: []string{"AMQPWSB10"}})
				},
			}), "q")
		})
	}
}

// TestWebSocketEndsWithTheServer checks that a stopping server closes open WebSockets, and does not
// wait server.ShutdownTimeout for them as it does for running requests.
func TestWebSocketEndsWithTheServer(t *testing.T) {
	s := Start(t, server.Config{Store: "memory:"})
	c, err := DialWebSocket(t, s.Admin, websocket.Dialer{Subprotocols: []string{"amqp"}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	began := time.Now()
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took >= server.ShutdownTimeout {
		t.Errorf("it took %v", took)
	}
	// The server may have sent frames before it closed the connection.
	if err := c.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the connection is still open")
	}
}

// TestForeignPagesReachNoAMQP checks that a page of another site cannot open AMQP over WebSocket:
// neither at this server's address, nor at the site's own host name after it was rebound to this
// machine.
func TestForeignPagesReachNoAMQP(t *testing.T) {
	s := Start(t, server.Config{Store: "memory:"})
	for name, header := range map[string]http.Header{
		"rebound":    {"Host": {"evil.example"}, "Origin": {"http://evil.example"}},
		"cross-site": {"Origin": {"http://evil.example"}},
	} {
		for _, at := range []string{s.Admin, s.Dashboard} {
			d := websocket.Dialer{Subprotocols: []string{"amqp"}}
			ws, answer, err := d.DialContext(t.Context(), "ws"+strings.TrimPrefix(at, "http")+tunnel.Path, header)
			if err == nil {
				ws.Close()
				t.Errorf("%s was accepted", name)
			}
			if answer == nil || answer.StatusCode != http.StatusMisdirectedRequest && answer.StatusCode != http.StatusForbidden {
				t.Errorf("%s: got %v", name, answer)
			}
			if answer != nil {
				answer.Body.Close()
			}
		}
	}
}
