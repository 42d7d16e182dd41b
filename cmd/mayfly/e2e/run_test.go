package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mayfly/cmd/mayfly/cli"
	"mayfly/cmd/mayfly/client"
	"mayfly/cmd/mayfly/server"
	"mayfly/engine"
	"mayfly/web/api"
)

// A Server is the program, running in this process on free ports.
type Server struct {
	server.Ready
	Out  *bytes.Buffer
	Stop func() error // stops the server and waits
}

// Start starts the program until the test ends; c needs a store.
func Start(t *testing.T, c server.Config) *Server {
	t.Helper()
	c.HTTP, c.Admin, c.AMQP = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	s := &Server{Out: &bytes.Buffer{}}
	ctx, cancel := context.WithCancelCause(context.Background())
	ready, ended := make(chan server.Ready, 1), make(chan error, 1)
	c.Ready = func(r server.Ready) { ready <- r }
	go func() { ended <- server.Run(ctx, c, s.Out) }()
	stopped, result := false, error(nil)
	s.Stop = func() error {
		if cancel(cli.ErrStopped); !stopped {
			stopped, result = true, <-ended
		}
		return result
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	select {
	case s.Ready = <-ready:
	case err := <-ended:
		stopped = true
		t.Fatal(err)
	}
	return s
}

func Get(t *testing.T, url string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	w, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Body.Close()
	text, err := io.ReadAll(w.Body)
	if err != nil || w.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %s %v", url, w.Status, text, err)
	}
	return string(text)
}

func Entity(t *testing.T, s *Server, name string) (e api.Entity) {
	t.Helper()
	if err := json.Unmarshal([]byte(Get(t, s.Dashboard+client.APIPath("entities", name))), &e); err != nil {
		t.Fatal(err)
	}
	return e
}

// TestPrintedLineSendsAMessage runs the printed command in a shell: in an empty namespace, and in
// one with a queue.
func TestPrintedLineSendsAMessage(t *testing.T) {
	RequirePrograms(t, "sh", "curl")
	store := "sqlite:" + filepath.Join(t.TempDir(), "new", "mayfly.db")
	for round := range 2 {
		s := Start(t, server.Config{Store: store})
		if !strings.Contains(s.Out.String(), s.Curl) || !strings.Contains(s.Out.String(), s.Dashboard) || strings.Count(s.Out.String(), "\n") > 9 {
			t.Errorf("printed %q", s.Out)
		}
		cmd := exec.CommandContext(t.Context(), "sh", "-c", s.Curl+" -sS --fail-with-body")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v %s", s.Curl, err, out)
		}
		if got := Entity(t, s, "hello").Counts.Active; got != int64(round+1) {
			t.Errorf("in round %d got %d messages", round, got)
		}
		if !strings.Contains(Get(t, s.Dashboard+"/"), "<!doctype html>") || !strings.Contains(Get(t, s.Admin+"/health"), "healthy") {
			t.Error("a port does not answer")
		}
		if err := s.Stop(); err != nil {
			t.Fatal(err)
		}
		if _, err := net.Dial("tcp", strings.TrimPrefix(s.Admin, "http://")); err == nil {
			t.Error("the port still accepts connections")
		}
	}
}

func TestReadyJSON(t *testing.T) {
	s := Start(t, server.Config{Store: "memory:", ReadyJSON: true, Namespace: "shop"})
	var got server.Ready
	if err := json.Unmarshal(s.Out.Bytes(), &got); err != nil || strings.Count(s.Out.String(), "\n") != 1 {
		t.Fatalf("%v in %q", err, s.Out)
	}
	if d := cmp.Diff(s.Ready, got); d != "" {
		t.Error(d)
	}
	if got.Namespace != "shop" || strings.Contains(got.Dashboard, ":0") || !strings.Contains(got.Curl, got.Dashboard) || !strings.Contains(got.Data, "memory") {
		t.Errorf("got %+v", got)
	}
}

func TestDefinitionIsApplied(t *testing.T) {
	dir := t.TempDir()
	write := func(text string) string {
		file := filepath.Join(dir, "Config.json")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	store := "sqlite:" + filepath.Join(dir, "mayfly.db")
	file := write(`{"UserConfig":{"Namespaces":[{"Name":"sbemulatorns", // like the emulator's sample
		"Queues":[{"Name":"queue.1","Properties":{"LockDuration":"PT30S","MaxDeliveryCount":3,"RequiresSession":false}}],
		"Topics":[{"Name":"topic.1","Subscriptions":[{"Name":"s1"}]}]}]}}`)
	s := Start(t, server.Config{Store: store, ConfigFile: file})
	if s.Namespace != "sbemulatorns" || !strings.Contains(s.Curl, "/queue.1/messages") {
		t.Errorf("got %+v", s.Ready)
	}
	if got := Entity(t, s, "queue.1").Properties; got["LockDuration"] != "PT30S" || got["MaxDeliveryCount"] != 3.0 {
		t.Errorf("the queue has %v", got)
	}
	Entity(t, s, "topic.1/subscriptions/s1")
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}

	// A changed file updates entities and deletes none. The namespace's name in the flag takes
	// precedence over the file's.
	write(`{"UserConfig":{"Namespaces":[{"Name":"sbemulatorns","Queues":[{"Name":"queue.1","Properties":{"LockDuration":"PT10S"}}]}],"Logging":{"Type":"File","Level":"Debug"}}}`)
	var log Output
	s = Start(t, server.Config{Store: store, ConfigFile: file, Namespace: "mine", Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if said := log.String(); !strings.Contains(said, "level=WARN") || !strings.Contains(said, "at=UserConfig.Logging.Level") {
		t.Errorf("the log does not warn: %s", said)
	}
	if got := Entity(t, s, "queue.1").Properties; s.Namespace != "mine" || got["LockDuration"] != "PT10S" {
		t.Errorf("%s has %v", s.Namespace, got)
	}
	Entity(t, s, "topic.1")
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}

	// Errors are reported with their paths, and nothing of the file is applied.
	write(`{"UserConfig":{"Namespaces":[{"Name":"sbemulatorns","Queues":[
		{"Name":"another"},{"Name":"queue.1","Properties":{"RequiresSession":true}}]}]}}`)
	err := server.Run(t.Context(), server.Config{HTTP: "127.0.0.1:0", Admin: "127.0.0.1:0", AMQP: "127.0.0.1:0", Store: store, ConfigFile: file}, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "Queues[1].Properties.RequiresSession: ") || !strings.Contains(err.Error(), "nothing was started") {
		t.Errorf("got %v", err)
	}
	s = Start(t, server.Config{Store: store})
	if text := Get(t, s.Dashboard+"/api/v1/entities"); strings.Contains(text, "another") {
		t.Errorf("part of an invalid file was applied: %s", text)
	}
}

func TestLimitReachesTheEngine(t *testing.T) {
	limits, err := server.ParseLimits("standard", []string{"min-auto-delete=2s", "message-size=10"})
	if err != nil {
		t.Fatal(err)
	}
	s := Start(t, server.Config{Store: "memory:", Limits: &limits})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.Dashboard+"/api/v1/entities",
		strings.NewReader(`{"kind":"queue","path":"brief","properties":{"AutoDeleteOnIdle":"2s"}}`))
	if err != nil {
		t.Fatal(err)
	}
	w, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	w.Body.Close()
	if w.StatusCode != http.StatusCreated {
		t.Errorf("got %s", w.Status)
	}
}

// TestStartIsRefused checks every startup error: it is one sentence, and leaves nothing running.
func TestStartIsRefused(t *testing.T) {
	dir := t.TempDir()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	held := filepath.Join(dir, "held.db")
	Start(t, server.Config{Store: "sqlite:" + held})
	write := func(name, text string, mode os.FileMode) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return file
	}
	noStore := write("notes.txt", "this is no database, and longer than the header of one: "+strings.Repeat("x", 4096), 0o600)
	inTheWay := filepath.Join(write("file", "x", 0o600), "mayfly.db")
	locked := filepath.Join(dir, "locked")
	if err := os.Mkdir(locked, 0); err != nil {
		t.Fatal(err)
	}
	private := "permission denied"
	if runtime.GOOS == "linux" && os.Getuid() == 0 { // modes do not restrict root, but nobody can create files there
		locked, private = "/proc/1", "cannot be opened"
	}
	const wrong = `{"UserConfig":{"Namespaces":[{"Name":"n","Queues":[{"Name":"q","Properties":{"LockDuration":"soon","ForwardTo":"nowhere"}},{"Name":"a*b"}]}]}}`
	for name, tc := range map[string]struct {
		config server.Config
		want   []string
	}{
		"a taken port":            {server.Config{HTTP: taken.Addr().String()}, []string{"--http " + taken.Addr().String(), "in use"}},
		"a taken admin port":      {server.Config{Admin: taken.Addr().String()}, []string{"--admin " + taken.Addr().String(), "in use"}},
		"a taken AMQP port":       {server.Config{AMQP: taken.Addr().String()}, []string{"--amqp " + taken.Addr().String(), "in use", "Service Bus emulator", "or none"}},
		"a taken TLS port":        {server.Config{AMQPS: taken.Addr().String(), TLSDir: filepath.Join(dir, "tls")}, []string{"--amqps " + taken.Addr().String(), "in use"}},
		"a taken HTTPS port":      {server.Config{HTTPS: taken.Addr().String(), TLSDir: filepath.Join(dir, "tls")}, []string{"--https " + taken.Addr().String(), "in use"}},
		"TLS beyond loopback":     {server.Config{HTTPS: "0.0.0.0:0", TLSDir: filepath.Join(dir, "tls")}, []string{"--https 0.0.0.0:0", "--insecure"}},
		"a taken port of one":     {server.Config{Listen: []server.NamespacePort{{Namespace: "shop", Kind: server.KindAMQP, Address: taken.Addr().String()}}}, []string{"cannot listen on --listen shop=amqp:" + taken.Addr().String(), "in use"}},
		"one beyond loopback":     {server.Config{Listen: []server.NamespacePort{{Namespace: "shop", Kind: server.KindAdmin, Address: "0.0.0.0:0"}}}, []string{"--listen shop=admin:0.0.0.0:0 is reachable", "--sas enforce", "--insecure"}},
		"one at no address":       {server.Config{Listen: []server.NamespacePort{{Namespace: "shop", Kind: server.KindAMQP, Address: "5673"}}}, []string{`--listen shop=amqp: must be an address such as 127.0.0.1:5673, not "5673"`}},
		"certificates for nobody": {server.Config{TLSDir: dir}, []string{"--tls-dir", "--amqps ADDRESS"}},
		"names for nobody":        {server.Config{TLSNames: []string{"x"}}, []string{"--tls-name", "--https"}},
		"a bad TLS name":          {server.Config{HTTPS: "127.0.0.1:0", TLSDir: filepath.Join(dir, "tls"), TLSNames: []string{"a b"}}, []string{`--tls-name: `, `"a b"`}},
		"a bad TLS folder":        {server.Config{HTTPS: "127.0.0.1:0", TLSDir: filepath.Join(dir, "file")}, []string{"--tls-dir: ", "cannot be created"}},
		"the same data twice":     {server.Config{Store: "sqlite:" + held}, []string{held, "in use by this process"}},
		"no database":             {server.Config{Store: "sqlite:" + noStore}, []string{noStore, "not a Mayfly store"}},
		"a file for a folder":     {server.Config{Store: "sqlite:" + inTheWay}, []string{inTheWay, "cannot be opened"}},
		"an unreadable folder":    {server.Config{Store: "sqlite:" + filepath.Join(locked, "mayfly.db")}, []string{locked, private}},
		"a store of no kind":      {server.Config{Store: "ftp:x"}, []string{`unknown scheme "ftp"`}},
		"an absent database":      {server.Config{Store: "mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=100"}, []string{"no MongoDB at 127.0.0.1:1: the connection was refused"}},
		"a port alone":            {server.Config{AMQP: "5672"}, []string{`--amqp must be an address such as 127.0.0.1:5672, not "5672"`}},
		"no address":              {server.Config{HTTP: "here"}, []string{`--http must be an address such as 127.0.0.1:8080, not "here"`}},
		"no port":                 {server.Config{HTTP: "127.0.0.1:web-page"}, []string{`"web-page" is not a port`}},
		"beyond loopback":         {server.Config{HTTP: "0.0.0.0:0"}, []string{"--http 0.0.0.0:0", "no authentication", "--insecure"}},
		"every address":           {server.Config{Admin: ":0"}, []string{"--admin :0", "--insecure"}},
		"IPv6's every address":    {server.Config{Admin: "[::]:0"}, []string{"--insecure"}},
		"a name of elsewhere":     {server.Config{HTTP: "example.com:0"}, []string{"--insecure"}},
		"AMQP beyond loopback":    {server.Config{AMQP: "0.0.0.0:5672"}, []string{"--amqp", "--insecure"}},
		"a bad AMQP port":         {server.Config{AMQP: "amqp"}, []string{"--amqp must be an address"}},
		"a bad namespace":         {server.Config{Namespace: "a/b"}, []string{`"a/b"`, "1 to 63 letters"}},
		"a bad host":              {server.Config{AllowHosts: []string{"http://x"}}, []string{"--allow-host", `"http://x"`}},
		"a bad origin":            {server.Config{AllowOrigins: []string{"shop.example"}}, []string{"--allow-origin shop.example: an origin is http:// or https://"}},
		"no definition":           {server.Config{ConfigFile: filepath.Join(dir, "absent.json")}, []string{"absent.json cannot be read: "}},
		"a folder of one":         {server.Config{ConfigFile: dir}, []string{dir}},
		"a wrong definition": {server.Config{ConfigFile: write("wrong.json", wrong, 0o600)}, []string{
			"wrong.json is invalid, so nothing was started", "Queues[0].Properties.LockDuration: ", "Queues[1].Name: ", "Queues[0].Properties.ForwardTo: The queue or topic 'nowhere' is not in the file.",
		}},
		"a definition of nothing": {server.Config{ConfigFile: write("empty.json", "", 0o600)}, []string{"empty.json is invalid"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := tc.config
			if c.HTTP == "" {
				c.HTTP = "127.0.0.1:0"
			}
			if c.Admin == "" {
				c.Admin = "127.0.0.1:0"
			}
			if c.AMQP == "" {
				c.AMQP = "127.0.0.1:0"
			}
			if c.Store == "" {
				c.Store = "sqlite:" + filepath.Join(t.TempDir(), "mayfly.db")
			}
			if name == "an unreadable folder" && runtime.GOOS == "windows" {
				t.Skip("folders have no modes on this system")
			}
			c.Ready = func(server.Ready) { t.Error("the server started") }
			var out bytes.Buffer
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			err := server.Run(ctx, c, &out)
			if err == nil || out.Len() > 0 {
				t.Fatalf("got %v, printed %q", err, &out)
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want %q", err, want)
				}
			}
			if c.ConfigFile == "" && strings.Contains(err.Error(), "\n") {
				t.Errorf("the error is more than one sentence: %v", err)
			}
			if c.ConfigFile != "" {
				return
			}
			// The ports are free again.
			for _, a := range []string{c.HTTP, c.Admin} {
				if l, err := net.Listen("tcp", a); err == nil {
					l.Close()
				} else if a != taken.Addr().String() && strings.HasPrefix(a, "127.") && !strings.Contains(a, "web") {
					t.Errorf("%s is still in use: %v", a, err)
				}
			}
		})
	}
}

func TestInsecureListensEverywhere(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var got server.Ready
	err := server.Run(ctx, server.Config{HTTP: "0.0.0.0:0", Admin: "0.0.0.0:0", Store: "memory:", Insecure: true, Ready: func(r server.Ready) {
		got = r
		Get(t, r.Dashboard+"/healthz")
		cancel()
	}}, io.Discard)
	if err != nil || !strings.HasPrefix(got.Dashboard, "http://127.0.0.1:") {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestStopWaitsForNobodyWhoWaits(t *testing.T) {
	s := Start(t, server.Config{Store: "memory:"})
	for _, body := range []string{`{"kind":"queue","path":"q"}`} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.Dashboard+"/api/v1/entities", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		w, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		w.Body.Close()
	}
	polled := make(chan error, 1)
	go func() {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.Admin+"/q/messages/head?timeout=60", http.NoBody)
		if err != nil {
			panic(err)
		}
		w, err := http.DefaultClient.Do(r)
		if err == nil {
			w.Body.Close()
			if w.StatusCode != http.StatusServiceUnavailable {
				err = errors.New(w.Status)
			}
		}
		polled <- err
	}()
	for Entity(t, s, "q").AccessedAt == nil { // until the receiver waits
		if t.Context().Err() != nil {
			t.Fatal("the receiver never waited")
		}
	}
	began := time.Now()
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	if err := <-polled; err != nil {
		t.Errorf("the waiting receiver got %v", err)
	}
	if took := time.Since(began); took >= server.ShutdownTimeout {
		t.Errorf("it took %v", took)
	}
}

func FuzzLimits(f *testing.F) {
	for _, s := range []string{"min-auto-delete=2s", "message-size=10", "x", "=", "max-ttl=never", "entities=-1", "min-lock=PT5S", "receives=1e3", "batch-size=99999999999999999999", "without=topics,sessions"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		l, err := server.ParseLimits("emulator", []string{s})
		if err != nil {
			if strings.Contains(err.Error(), engine.ErrArgument.Error()) {
				t.Errorf("%v is not an error for users", err)
			}
			return
		}
		name, _, _ := strings.Cut(s, "=")
		if name = strings.TrimSpace(name); !strings.Contains(fmt.Sprint(engine.LimitNames()), name) {
			t.Errorf("%q was accepted, but names no limit", s)
		}
		if again, err := server.ParseLimits("emulator", []string{s, s}); err != nil || !cmp.Equal(again, l) {
			t.Errorf("the second time got %v, %v", again, err)
		}
	})
}
