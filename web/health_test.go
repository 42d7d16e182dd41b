package web

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"mayfly/engine/broker"
	"mayfly/engine/brokertest"
	"mayfly/web/auth"
)

// TestHealthPaths: each of healthPaths is answered without a role at some port, and a GET or HEAD
// of it counts as a health check, with and without a base path. Requests to other addresses do not.
func TestHealthPaths(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	b := brokertest.Open(t, broker.Options{}).Broker
	for _, base := range []string{"", "/mayfly"} {
		s := New(Options{Logger: log, Base: base, Auth: auth.Sources{nobody{}}})
		s.Open(Services{Broker: b})
		answered := func(path string) bool {
			for _, port := range []http.Handler{s.Dashboard(), s.Admin()} {
				w := httptest.NewRecorder()
				port.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost"+path, http.NoBody))
				if w.Code == http.StatusOK {
					return true
				}
			}
			return false
		}
		for _, path := range healthPaths {
			for _, method := range []string{http.MethodGet, http.MethodHead} {
				if r := httptest.NewRequestWithContext(t.Context(), method, base+path, http.NoBody); !s.isHealthCheck(r) {
					t.Errorf("%s %s is not a check", method, base+path)
				}
			}
			if r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, base+path, http.NoBody); s.isHealthCheck(r) {
				t.Errorf("POST %s is a check", base+path)
			}
			if !answered(base+path) && !answered(path) {
				t.Errorf("%s got no response", base+path)
			}
		}
		for _, path := range []string{"/livez", "/healthz", "/readyz", "/health"} {
			if r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, base+path, http.NoBody); !s.isHealthCheck(r) {
				t.Errorf("%s is not a check", base+path)
			}
		}
		for _, path := range []string{"/", "/metrics", "/live", "/livez/x", "/q/messages", "/api/v1/health"} {
			if r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, base+path, http.NoBody); s.isHealthCheck(r) {
				t.Errorf("%s is a check", base+path)
			}
		}
	}
}

// nobody is a Source that identifies no caller.
type nobody struct{}

func (nobody) Identify(*http.Request) (auth.Caller, error) {
	return auth.Caller{}, auth.ErrNoCredential
}
