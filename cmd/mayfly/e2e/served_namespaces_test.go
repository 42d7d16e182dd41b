package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mayfly/cmd/mayfly/server"
	"mayfly/web/api"
	"mayfly/web/auth/sas"
)

// RequestHost sends a request to a server, with a host name unless it is empty.
func (s *Server) RequestHost(t *testing.T, method, url, host, body string, headers ...string) (int, string) {
	t.Helper()
	code, text, err := s.TryRequestHost(t, method, url, host, body, headers...)
	if err != nil {
		t.Fatal(err)
	}
	return code, text
}

// TryRequestHost is [Server.RequestHost] with the error of a response that ended early.
func (s *Server) TryRequestHost(t *testing.T, method, url, host, body string, headers ...string) (int, string, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Host = host
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer w.Body.Close()
	text, err := io.ReadAll(w.Body)
	return w.StatusCode, string(text), err
}

func (s *Server) MustRequest(t *testing.T, want int, method, url, host, body string, headers ...string) string {
	t.Helper()
	got, text := s.RequestHost(t, method, url, host, body, headers...)
	if got != want {
		t.Fatalf("%s %s at %q: %d %s; want %d", method, url, host, got, text, want)
	}
	return text
}

func (s *Server) Namespaces(t *testing.T) (out string) {
	t.Helper()
	var all api.Namespaces
	if err := json.Unmarshal([]byte(s.MustRequest(t, 200, "GET", s.API+"/namespaces", "", "")), &all); err != nil {
		t.Fatal(err)
	}
	for _, n := range all.Namespaces {
		out += fmt.Sprintf("%s %s %s %d;", n.Name, n.State, n.Profile, n.Messages)
	}
	return out
}

// Namespaces besides the server's own are created, used, reopened after a restart and deleted.
// Each has its own file, and their data is separate.
func TestNamespaces(t *testing.T) {
	store := filepath.Join(t.TempDir(), "m.db")
	s := Start(t, server.Config{Store: "sqlite:" + store})
	s.MustRequest(t, 201, "POST", s.API+"/namespaces", "", `{"name":"Shop","profile":"premium"}`)
	s.MustRequest(t, 201, "POST", s.API+"/namespaces", "", `{"name":"demo","temporary":true}`)
	s.MustRequest(t, 201, "POST", s.API+"/send/orders?create=queue", "", `[{"body":"ours"}]`)
	s.MustRequest(t, 201, "POST", s.API+"/n/shop/send/orders?create=queue", "", `[{"body":"theirs"},{"body":"theirs too"}]`)
	want := "default serving standard 1;demo serving standard 0;shop serving premium 2;"
	if got := s.Namespaces(t); got != want {
		t.Errorf("got %s; want %s", got, want)
	}
	if text := s.MustRequest(t, 200, "DELETE", s.Admin+"/orders/messages/head?timeout=1", "shop.localhost", ""); text != "theirs" {
		t.Errorf("from shop got %q", text)
	}
	if text := s.MustRequest(t, 200, "DELETE", s.Admin+"/orders/messages/head?timeout=1", "", ""); text != "ours" {
		t.Errorf("from the server's own namespace got %q", text)
	}
	if page := s.MustRequest(t, 200, "GET", s.Dashboard+"/n/SHOP", "", ""); !strings.Contains(page, "Endpoint=sb://shop.localhost") || !strings.Contains(page, `href="/n/demo"`) {
		t.Error("shop's overview lacks its own connection string, or the menu")
	}
	if out, complaint, code := RunCommand(t, "", "namespaces", "update", "shop", "--profile", "emulator", "--server", s.Dashboard); code != 0 || out != "The namespace shop has the limits of emulator: serving.\n" {
		t.Errorf("%d %q %q", code, out, complaint)
	}
	if got, want := s.Namespaces(t), "default serving standard 0;demo serving standard 0;shop serving emulator 1;"; got != want {
		t.Errorf("after the change got %s; want %s", got, want)
	}
	s.MustRequest(t, 200, "GET", s.Dashboard+"/n/shop", "", "")
	s.MustRequest(t, 200, "GET", s.Admin+"/orders", "shop.localhost", "")
	if err := s.Stop(); err != nil {
		t.Error(err)
	}

	s = Start(t, server.Config{Store: "sqlite:" + store})
	for strings.Contains(s.Namespaces(t), "opening") { // namespaces besides the server's own
		continue
	}
	if got, want := s.Namespaces(t), "default serving standard 0;shop serving emulator 1;"; got != want {
		t.Errorf("after a restart got %s; want %s", got, want)
	}
	var gone api.RemovedNamespace
	if err := json.Unmarshal([]byte(s.MustRequest(t, 200, "DELETE", s.API+"/namespaces/shop?confirm=shop", "", "")), &gone); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(gone.MovedTo, "store.db")); err != nil || info.Size() == 0 {
		t.Errorf("the store of the removed namespace is not in %q: %v", gone.MovedTo, err)
	}
	s.MustRequest(t, 404, "GET", s.API+"/n/shop/entities", "", "")
	s.MustRequest(t, 404, "GET", s.Dashboard+"/n/shop", "", "")
	s.MustRequest(t, 201, "POST", s.API+"/namespaces", "", `{"name":"shop"}`)
	if got, want := s.Namespaces(t), "default serving standard 0;shop serving standard 0;"; got != want {
		t.Errorf("created again, got %s; want %s", got, want)
	}
}

// withBad returns a store that also has a namespace called bad, whose file is no store.
func withBad(t *testing.T) string {
	t.Helper()
	store := filepath.Join(t.TempDir(), "m.db")
	at := filepath.Join(store+".namespaces", "bad")
	if err := os.MkdirAll(at, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(at, "store.db"), []byte(strings.Repeat("no store ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	return "sqlite:" + store
}

// TestNamespaceThatFails checks that requests to a namespace whose store cannot be opened get 503
// with the reason, while the server's other namespaces work.
func TestNamespaceThatFails(t *testing.T) {
	s := Start(t, server.Config{Store: withBad(t)})
	for {
		if got := s.Namespaces(t); got == "default serving standard 0;bad failing  0;" {
			break
		} else if !strings.Contains(got, "opening") {
			t.Fatalf("got %s", got)
		}
	}
	for _, at := range []string{s.Dashboard + "/n/bad", s.API + "/n/bad/entities"} {
		if text := s.MustRequest(t, 503, "GET", at, "", ""); !strings.Contains(text, "is not a Mayfly store") {
			t.Errorf("%s does not show the reason: %.300s", at, text)
		}
	}
	s.MustRequest(t, 503, "GET", s.Admin+"/orders", "bad.localhost", "")
	s.MustRequest(t, 200, "GET", s.Dashboard+"/readyz", "", "")
	if text := s.MustRequest(t, 200, "GET", s.Dashboard+"/namespaces", "", ""); !strings.Contains(text, "is not a Mayfly store") {
		t.Error("the page does not show the reason")
	}
}

// A key only works for its own namespace.
func TestKeysOfNamespaces(t *testing.T) {
	s := Start(t, server.Config{Store: "memory:", SAS: sas.Enforce})
	s.MustRequest(t, 201, "POST", s.API+"/namespaces", "", `{"name":"shop"}`)
	key := map[string]string{}
	for ns, at := range map[string]string{"default": s.API, "shop": s.API + "/n/shop"} {
		s.MustRequest(t, 201, "POST", at+"/send/orders?create=queue", "", `{"body":"x"}`)
		var rule api.AccessRule
		if err := json.Unmarshal([]byte(s.MustRequest(t, 200, "POST", at+"/access-rules/RootManageSharedAccessKey/regenerate?key=primary", "", "")), &rule); err != nil || rule.PrimaryKey == "" {
			t.Fatalf("%s: %+v, %v", ns, rule, err)
		}
		key[ns] = rule.PrimaryKey
	}
	for _, of := range []string{"default", "shop"} {
		token := sas.Sign("sb://"+of+".localhost/orders", "RootManageSharedAccessKey", key[of], time.Now().Add(time.Hour))
		for _, at := range []string{"default", "shop"} {
			want := 401
			if of == at {
				want = 200
			}
			s.MustRequest(t, want, "DELETE", s.Admin+"/orders/messages/head?timeout=1", at+".localhost", "", "Authorization", token)
		}
	}
}

// TestNamespaceIsRemovedUnderLoad deletes a namespace while clients send to it: they get 503 and
// then 404, and clients of other namespaces notice nothing.
func TestNamespaceIsRemovedUnderLoad(t *testing.T) {
	s := Start(t, server.Config{Store: "sqlite:" + filepath.Join(t.TempDir(), "m.db")})
	s.MustRequest(t, 201, "POST", s.API+"/namespaces", "", `{"name":"shop"}`)
	s.MustRequest(t, 201, "POST", s.API+"/send/orders?create=queue", "", `{"body":"x"}`)
	s.MustRequest(t, 201, "POST", s.API+"/n/shop/send/orders?create=queue", "", `{"body":"x"}`)
	var all sync.WaitGroup
	var sent atomic.Int64
	enough := make(chan struct{})
	for range 4 {
		all.Go(func() {
			for {
				switch code, text := s.RequestHost(t, "POST", s.API+"/n/shop/send/orders", "", `{"body":"x"}`); code {
				case 201:
					if sent.Add(1) == 50 {
						close(enough)
					}
				case 404:
					return // the namespace is deleted
				case 503: // the namespace is being deleted
				default:
					t.Errorf("sending was answered with %d %s", code, text)
					return
				}
			}
		})
	}
	<-enough
	s.MustRequest(t, 200, "DELETE", s.API+"/namespaces/shop?confirm=shop", "", "")
	all.Wait()
	s.MustRequest(t, 201, "POST", s.API+"/send/orders", "", `{"body":"x"}`)
}

// TestNamespaceLeavesNothing checks that deleting a namespace ends waiting receives, searches,
// exports and jobs there within seconds, and leaves no goroutines.
func TestNamespaceLeavesNothing(t *testing.T) {
	s := Start(t, server.Config{Store: "memory:"})
	round := func() {
		s.MustRequest(t, 201, "POST", s.API+"/namespaces", "", `{"name":"shop"}`)
		api := s.API + "/n/shop"
		s.MustRequest(t, 201, "POST", api+"/send/orders?create=queue", "", "["+strings.Repeat(`{"body":"x"},`, 200)+`{"body":"x"}]`)
		for _, q := range []string{"one", "two"} {
			s.MustRequest(t, 201, "POST", api+"/entities", "", `{"kind":"queue","path":"`+q+`"}`)
		}
		var all sync.WaitGroup
		for _, call := range []struct{ method, at, host, body string }{
			{"POST", s.Admin + "/one/messages/head?timeout=50", "shop.localhost", ""},
			{"POST", api + "/receive/two", "", `{"wait":"50s"}`},
			{"GET", api + "/search?q=x", "", ""},
			{"GET", api + "/export/orders", "", ""},
			{"POST", api + "/jobs", "", `{"kind":"copy","paths":["orders"],"to":"orders"}`},
			{"GET", s.Dashboard + "/n/shop/q/orders", "", ""},
		} {
			all.Go(func() {
				// An incomplete response is cut off, so that it does not look complete.
				_, _, err := s.TryRequestHost(t, call.method, call.at, call.host, call.body)
				begun := strings.Contains(call.at, "/export/") || strings.Contains(call.at, "/search")
				if err != nil && !(begun && (errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF))) {
					t.Error(err)
				}
			})
		}
		Eventually(t, "both receivers wait", func() bool {
			text := s.MustRequest(t, 200, "GET", api+"/entities", "", "")
			return strings.Count(text, `"accessedAt"`) == 3
		})
		began := time.Now()
		s.MustRequest(t, 200, "DELETE", s.API+"/namespaces/shop?confirm=shop", "", "")
		all.Wait()
		if took := time.Since(began); took > 8*time.Second {
			t.Errorf("it took %s until everything in the namespace had ended", took)
		}
	}
	count := func() int {
		http.DefaultClient.CloseIdleConnections()
		return runtime.NumGoroutine()
	}
	round()
	before := count()
	for range 3 {
		round()
	}
	Eventually(t, "the number of goroutines is as before", func() bool { return count() <= before+5 })
}

// TestIdleNamespacesAreCheap checks that an idle namespace takes at most 1 MiB of heap and 30
// goroutines.
func TestIdleNamespacesAreCheap(t *testing.T) {
	s := Start(t, server.Config{Store: "memory:", MaxNamespaces: 60})
	inUse := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before, goroutines := inUse(), runtime.NumGoroutine()
	const n = 50
	for i := range n {
		s.MustRequest(t, 201, "POST", s.API+"/namespaces", "", fmt.Sprintf(`{"name":"n%d"}`, i))
	}
	each, more := (inUse()-before)/n, (runtime.NumGoroutine()-goroutines)/n
	t.Logf("an idle namespace in memory: %d KiB of heap, %d goroutines", each>>10, more)
	if each > 1<<20 || more > 30 {
		t.Errorf("an idle namespace takes %d KiB of heap and %d goroutines", each>>10, more)
	}
}
