package e2e

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/Azure/go-amqp"

	"mayfly/cmd/mayfly/server"
)

// TestStrictHosts checks that a host name that belongs to no namespace selects the server's own
// namespace, at HTTP and AMQP ports, and is refused with --strict-hosts. The server's own names are
// never refused.
func TestStrictHosts(t *testing.T) {
	const stray = "other.servicebus.windows.net"
	for _, strict := range []bool{false, true} {
		s := Start(t, server.Config{Store: "memory:", StrictHosts: strict, AllowHosts: []string{"broker.example"}, HTTPS: "127.0.0.1:0", TLSDir: filepath.Join(t.TempDir(), "tls")})
		client := http.Client{Transport: &http.Transport{TLSClientConfig: TrustingTLS(t, s.Ready)}}
		t.Cleanup(client.CloseIdleConnections)
		for host, known := range map[string]bool{stray: false, "localhost": true, "": true, "broker.example": true, "default.servicebus.windows.net": true} {
			c, err := amqp.Dial(t.Context(), "amqp://"+s.AMQP, &amqp.ConnOptions{SASLType: amqp.SASLTypeAnonymous(), HostName: host})
			if err == nil {
				_, err = c.NewSession(t.Context(), nil)
				_ = c.Close()
			}
			if refused := err != nil && strings.Contains(err.Error(), "The namespace 'other' does not exist."); refused != (strict && !known) || err != nil && !refused {
				t.Errorf("strict %t, AMQP for %q: %v", strict, host, err)
			}
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.HTTPS+"/$Resources/Queues?api-version=2021-05", nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Host = host
			answer, err := client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
			if refused := answer.StatusCode == http.StatusGone; refused != (strict && !known) || !refused && answer.StatusCode != http.StatusOK {
				t.Errorf("strict %t, administration for %q: %s", strict, host, answer.Status)
			}
		}
	}
}
