package e2e

import (
	"net/http"
	"strings"
	"testing"

	"mayfly/cmd/mayfly/server"
)

// TestAllowOrigin checks that pages of the origin that --allow-origin names can open AMQP over
// WebSocket, at every port that serves it, and that pages of other origins cannot.
func TestAllowOrigin(t *testing.T) {
	s := Start(t, server.Config{Store: "memory:", AllowOrigins: []string{"https://Shop.example/"}})
	for _, base := range []string{s.Dashboard, s.Admin} {
		for origin, want := range map[string]int{"https://shop.example": 101, "": 101, base: 101, "https://evil.example": 403} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.TrimSuffix(base, "/")+"/$servicebus/websocket", nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header = http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"}, "Sec-Websocket-Key": {"dGhlIHNhbXBsZSBub25jZQ=="}, "Sec-Websocket-Protocol": {"amqp"}}
			if origin != "" {
				r.Header.Set("Origin", strings.TrimSuffix(origin, "/"))
			}
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
			if answer.StatusCode != want {
				t.Errorf("%s from %q: %d, want %d", base, origin, answer.StatusCode, want)
			}
		}
	}
}
