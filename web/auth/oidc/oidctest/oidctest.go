// Package oidctest starts OpenID providers for tests: the program of web/auth/oidc/testprovider,
// with one process for each provider.
//
//	MAYFLY_LONG=1                  without it, tests are skipped
//	MAYFLY_OPENID_PROVIDER=path    the program, built already; without it, it is downloaded and built once for a test binary
//	MAYFLY_OPENID=require          no provider is a failure instead of a skip
package oidctest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"mayfly/engine/longtest"
)

const (
	builtVar   = "MAYFLY_OPENID_PROVIDER"
	requireVar = "MAYFLY_OPENID"
)

// The client's ID and secret at the provider.
const (
	Client = "mayfly"
	Secret = "a secret for tests"
)

// A Trouble is a change of the provider's behaviour, sent as JSON to the program, whose source
// documents the fields.
type Trouble struct {
	Claims map[string]any `json:",omitempty"`
	Info   map[string]any `json:",omitempty"`
	Rotate bool
	Stray  bool
	Down   bool
	Huge   bool
	Issuer string
	Basic  bool
	NoEnd  bool
}

// A Provider runs until its test ends.
type Provider struct {
	testing.TB
	Issuer string
}

// Start starts a provider whose client has the given redirect URIs, and stops it at the end of the
// test. If the provider cannot be built, the test is skipped, or fails if requireVar is "require".
func Start(t testing.TB, redirects ...string) *Provider {
	t.Helper()
	longtest.Require(t, "signing in with an OpenID provider")
	program, err := built()
	if err != nil {
		if os.Getenv(requireVar) == "require" {
			t.Fatalf("no OpenID provider to test with, and %s=require: %v", requireVar, err)
		}
		t.Skipf("no OpenID provider to test with: %s", strings.Join(strings.Fields(err.Error()), " "))
	}
	cmd := exec.Command(program, redirects...) //nolint:noctx // the end of its input ends it
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
			t.Errorf("the provider has ended: %v: %s", err, stderr.String())
		}
	})
	p := &Provider{TB: t}
	if err := json.NewDecoder(out).Decode(&p); err != nil {
		t.Fatalf("the provider says nothing: %v", err)
	}
	p.TB = t
	return p
}

// Is sets the provider's behaviour. The zero Trouble is a provider without faults.
func (p *Provider) Is(what Trouble) {
	p.Helper()
	raw, err := json.Marshal(what)
	if err != nil {
		p.Fatal(err)
	}
	p.do(http.MethodPost, p.Issuer+"/test", "application/json", bytes.NewReader(raw))
}

// SignIn signs `user` in at the provider's address `at`, to which a browser was redirected, and
// returns the address to which the provider redirects it back. The provider never refuses.
func (p *Provider) SignIn(at, user string) string {
	p.Helper()
	back := p.do(http.MethodPost, at, "application/x-www-form-urlencoded", strings.NewReader(url.Values{"user": {user}}.Encode()))
	if back == "" {
		p.Fatal("the provider sends nobody back from", at)
	}
	return back
}

// do sends a request with a body of the media type `kind`, and returns the Location of the
// response. An error, or a status of 400 or more, fails the test.
func (p *Provider) do(method, at, kind string, body io.Reader) string {
	p.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, at, body)
	if err != nil {
		p.Fatal(err)
	}
	r.Header.Set("Content-Type", kind)
	c := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	w, err := c.Do(r)
	if err != nil {
		p.Fatal(err)
	}
	defer w.Body.Close()
	if text, err := io.ReadAll(w.Body); err != nil || w.StatusCode >= http.StatusBadRequest {
		p.Fatalf("%s %s: %s %s %v", method, at, w.Status, text, err)
	}
	return w.Header.Get("Location")
}

// one is the provider's program for this test binary.
var one struct { //nolint:gochecknoglobals // shared by all tests of the binary
	once sync.Once
	path string
	err  error
}

func built() (string, error) {
	one.once.Do(func() {
		if one.path = os.Getenv(builtVar); one.path != "" {
			return
		}
		one.path, one.err = build()
	})
	return one.path, one.err
}

// build builds the program in the user's cache. The Go tool's own cache makes a second build
// quick; other processes never see an unfinished one.
func build() (string, error) {
	dir, err := source()
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	at := filepath.Join(cache, "mayfly")
	if err := os.MkdirAll(at, 0o755); err != nil {
		return "", err
	}
	partial := filepath.Join(at, fmt.Sprintf("testprovider-%d", os.Getpid()))
	cmd := exec.Command("go", "build", "-o", partial, ".") //nolint:noctx // go test's time-out ends it with the test binary
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		return "", fmt.Errorf("build the provider: %w: %s", err, lines[len(lines)-1])
	}
	path := filepath.Join(at, "testprovider")
	return path, os.Rename(partial, path)
}

// source returns the folder of the program's source: tests run somewhere in its tree.
func source() (string, error) {
	at, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		dir := filepath.Join(at, "web", "auth", "oidc", "testprovider")
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(at)
		if up == at {
			return "", errors.New("the provider's source is not above the working directory")
		}
		at = up
	}
}
