package certificate_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mayfly/web/certificate"
)

// start is when tests begin: in the past, so that certificates are not checked against the
// machine's clock.
var start = time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)

// A clock is set by the test.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// A world is a folder, a clock, and a log.
type world struct {
	*testing.T
	dir string
	clock
	log bytes.Buffer
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return &world{T: t, dir: filepath.Join(t.TempDir(), "tls"), clock: clock{at: start}}
}

func (w *world) open(names ...string) *certificate.Manager {
	w.Helper()
	a, err := w.try(names...)
	if err != nil {
		w.Fatal(err)
	}
	return a
}

func (w *world) try(names ...string) (*certificate.Manager, error) {
	return certificate.Open(certificate.Options{Dir: w.dir, Names: names, Now: w.now, Logger: slog.New(slog.NewTextHandler(&w.log, nil))})
}

func (w *world) path(name string) string { return filepath.Join(w.dir, name) }

func (w *world) read(name string) []byte {
	w.Helper()
	raw, err := os.ReadFile(w.path(name))
	if err != nil {
		w.Fatal(err)
	}
	return raw
}

// trusting connects as a client that trusts the PEM certificates in `ca` and calls the server
// `name`, and returns the server's certificate.
func (w *world) trusting(a *certificate.Manager, ca []byte, name string) (*x509.Certificate, error) {
	w.Helper()
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		w.Fatalf("%s is not a certificate", ca)
	}
	return w.shake(a, &tls.Config{RootCAs: pool, ServerName: name, Time: w.now})
}

func (w *world) shake(a *certificate.Manager, c *tls.Config) (*x509.Certificate, error) {
	w.Helper()
	near, far := net.Pipe()
	defer near.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		s := tls.Server(far, a.Config())
		_ = s.Handshake() //nolint:errcheck // the client reports it
		_ = far.Close()
	}()
	client := tls.Client(near, c)
	err := client.Handshake()
	near.Close()
	<-done
	if err != nil {
		return nil, err
	}
	return client.ConnectionState().PeerCertificates[0], nil
}

func (w *world) served(a *certificate.Manager, name string) *x509.Certificate {
	w.Helper()
	if _, err := w.shake(a, &tls.Config{InsecureSkipVerify: true}); err != nil {
		w.Fatal(err)
	}
	c, err := w.trusting(a, w.read("ca.pem"), name)
	if err != nil {
		w.Fatalf("%s: %v", name, err)
	}
	return c
}

func TestFirstStart(t *testing.T) {
	w := newWorld(t)
	a := w.open("mayfly.example", "10.1.2.3", "*.Queues.example.", "broker")
	for _, name := range []string{
		"localhost", "127.0.0.1", "::1", "shop.servicebus.windows.net", "mayfly.example", "10.1.2.3", "a.queues.example", "broker",
	} {
		c := w.served(a, name)
		if key, ok := c.PublicKey.(*ecdsa.PublicKey); !ok || key.Curve != elliptic.P256() {
			t.Errorf("the key is %T", c.PublicKey)
		}
	}
	for _, name := range []string{"evil.example", "127.0.0.2", "a.b.servicebus.windows.net", "servicebus.windows.net.evil.example"} {
		if _, err := w.trusting(a, w.read("ca.pem"), name); err == nil {
			t.Errorf("the certificate is valid for %s", name)
		}
	}
	if a.CA() != w.path("ca.pem") || !slices.Contains(a.Names(), "*.queues.example") || !slices.Contains(a.Names(), "10.1.2.3") {
		t.Errorf("got %s, %v", a.CA(), a.Names())
	}
	if runtime.GOOS == "windows" {
		return
	}
	for name, want := range map[string]os.FileMode{"ca.pem": 0o644, "issuer.pem": 0o600} {
		if about, err := os.Stat(w.path(name)); err != nil || about.Mode().Perm() != want {
			t.Errorf("%s: got %v %v", name, about.Mode(), err)
		}
	}
	if left, err := os.ReadDir(w.dir); err != nil || len(left) != 2 {
		t.Errorf("the folder has %v %v", left, err)
	}
}

// TestNothingWeak: clients can connect with TLS 1.2, and not with TLS 1.1.
func TestNothingWeak(t *testing.T) {
	w := newWorld(t)
	a := w.open()
	if _, err := w.shake(a, &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS11}); err == nil {
		t.Error("the server accepts TLS 1.1")
	}
	if _, err := w.shake(a, &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12}); err != nil {
		t.Errorf("the server does not accept TLS 1.2: %v", err)
	}
}

// TestStolenKeySignsLittle: with the key that is in the folder, only certificates for the names and
// addresses that the CA permits can be forged, and no further CA. It is not the root's key.
func TestStolenKeySignsLittle(t *testing.T) {
	w := newWorld(t)
	w.open()
	stolen, err := tls.X509KeyPair(w.read("issuer.pem"), w.read("issuer.pem"))
	if err != nil {
		t.Fatal(err)
	}
	roots, between := x509.NewCertPool(), x509.NewCertPool()
	roots.AppendCertsFromPEM(w.read("ca.pem"))
	between.AddCert(stolen.Leaf)
	for name, tc := range map[string]struct {
		forge x509.Certificate
		good  bool
	}{
		"ours":            {x509.Certificate{DNSNames: []string{"localhost"}}, true},
		"another name":    {x509.Certificate{DNSNames: []string{"bank.example"}}, false},
		"another address": {x509.Certificate{IPAddresses: []net.IP{net.IPv4(1, 1, 1, 1)}}, false},
		"another CA":      {x509.Certificate{IsCA: true, BasicConstraintsValid: true, DNSNames: []string{"localhost"}}, false},
	} {
		tc.forge.SerialNumber, tc.forge.NotBefore, tc.forge.NotAfter = big.NewInt(1), start, start.Add(time.Hour)
		raw, err := x509.CreateCertificate(rand.Reader, &tc.forge, stolen.Leaf, stolen.Leaf.PublicKey, stolen.PrivateKey)
		if err != nil {
			t.Fatal(err)
		}
		forged, err := x509.ParseCertificate(raw)
		if err != nil {
			t.Fatal(err)
		}
		chain := between
		if tc.forge.IsCA { // also test a certificate that the forged one signs
			chain = between.Clone()
			chain.AddCert(forged)
			below := x509.Certificate{SerialNumber: big.NewInt(2), NotBefore: start, NotAfter: start.Add(time.Hour), DNSNames: []string{"localhost"}}
			if raw, err = x509.CreateCertificate(rand.Reader, &below, forged, stolen.Leaf.PublicKey, stolen.PrivateKey); err != nil {
				t.Fatal(err)
			}
			if forged, err = x509.ParseCertificate(raw); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := forged.Verify(x509.VerifyOptions{Roots: roots, Intermediates: chain, CurrentTime: start}); (err == nil) != tc.good {
			t.Errorf("%s: got %v", name, err)
		}
	}
	root, _ := pem.Decode(w.read("ca.pem"))
	ca, err := x509.ParseCertificate(root.Bytes)
	if err != nil || !ca.PermittedDNSDomainsCritical || len(ca.PermittedDNSDomains) == 0 || len(ca.PermittedIPRanges) == 0 {
		t.Errorf("the root may sign any name: %v", err)
	}
	if !stolen.Leaf.PermittedDNSDomainsCritical || len(stolen.Leaf.PermittedIPRanges) == 0 {
		t.Error("only the root limits the names, which not every client checks")
	}
	if key := stolen.PrivateKey.(*ecdsa.PrivateKey); key.PublicKey.Equal(ca.PublicKey) {
		t.Error("the key of the root is in the folder")
	}
}

// TestCAStays: the CA is kept as long as it may sign the requested names. Otherwise a new one is
// made, which is logged and may sign the former names too.
func TestCAStays(t *testing.T) {
	w := newWorld(t)
	w.open("a.example")
	first := w.read("ca.pem")
	for _, names := range [][]string{{"a.example"}, nil, {"b.a.example"}} {
		w.served(w.open(names...), "localhost")
		if !bytes.Equal(w.read("ca.pem"), first) {
			t.Errorf("for %v a new CA was made", names)
		}
	}
	if w.log.Len() > 0 {
		t.Errorf("logged %s", &w.log)
	}
	a := w.open("b.example")
	w.served(a, "b.example")
	if bytes.Equal(w.read("ca.pem"), first) {
		t.Error("a new name is signed by the former CA")
	}
	if !strings.Contains(w.log.String(), "new local CA") || !strings.Contains(w.log.String(), "b.example") {
		t.Errorf("logged %s", &w.log)
	}
	second := w.read("ca.pem")
	w.served(w.open("a.example"), "a.example") // the new CA has the names of the former one
	if !bytes.Equal(w.read("ca.pem"), second) {
		t.Error("servers with different names replace each other's CA")
	}
}

// TestRenewal: a server that runs for years always serves a valid certificate.
func TestRenewal(t *testing.T) {
	w := newWorld(t)
	a := w.open()
	first, ca := w.served(a, "localhost"), w.read("ca.pem")
	w.pass(20*24*time.Hour - time.Second)
	if c := w.served(a, "localhost"); !c.Equal(first) {
		t.Error("the certificate was renewed early")
	}
	w.pass(time.Second)
	second := w.served(a, "localhost")
	if second.Equal(first) || !bytes.Equal(w.read("ca.pem"), ca) {
		t.Error("the certificate was not renewed by the same CA")
	}
	for range 70 {
		w.pass(29 * 24 * time.Hour)
		w.served(a, "localhost")
	}
	if bytes.Equal(w.read("ca.pem"), ca) || !strings.Contains(w.log.String(), "new local CA") {
		t.Error("the CA has expired without a new one")
	}
	w.pass(10 * 365 * 24 * time.Hour) // no client connected for long
	w.served(a, "localhost")
}

// TestSharedFolder: servers that start at the same moment share one CA, and a server that
// needs another name keeps the names of the others.
func TestSharedFolder(t *testing.T) {
	w := newWorld(t)
	all := make([]*certificate.Manager, 8)
	var wg sync.WaitGroup
	for i := range all {
		wg.Go(func() {
			a, err := certificate.Open(certificate.Options{Dir: w.dir, Now: w.now, Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Error(err)
			}
			all[i] = a
		})
	}
	wg.Wait()
	for _, a := range all {
		w.served(a, "localhost")
	}
	w.open("b.example")
	for _, a := range all {
		w.pass(2 * time.Second)
		w.served(a, "localhost")
	}
}

// given writes a certificate as an operator would.
func (w *world) given(names ...string) (ca []byte) {
	w.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		w.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(w.now().UnixNano()), NotBefore: w.now(), NotAfter: w.now().Add(time.Hour), DNSNames: names, IsCA: true, BasicConstraintsValid: true}
	raw, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		w.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		w.Fatal(err)
	}
	ca = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})
	w.put("tls.crt", ca)
	w.put("tls.key", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	return ca
}

func (w *world) put(name string, content []byte) {
	w.Helper()
	if err := os.MkdirAll(w.dir, 0o700); err != nil {
		w.Fatal(err)
	}
	if err := os.WriteFile(w.path(name), content, 0o600); err != nil {
		w.Fatal(err)
	}
	// File systems may not distinguish the times of two writes at the same moment.
	if err := os.Chtimes(w.path(name), w.now(), w.now()); err != nil {
		w.Fatal(err)
	}
}

func TestOperatorsOwn(t *testing.T) {
	w := newWorld(t)
	first := w.given("mine.example")
	a := w.open("mine.example")
	if _, err := w.trusting(a, first, "mine.example"); err != nil {
		t.Error(err)
	}
	if a.CA() != "" || !slices.Equal(a.Names(), []string{"mine.example"}) {
		t.Errorf("got %q %v", a.CA(), a.Names())
	}
	if _, err := os.Stat(w.path("ca.pem")); err == nil {
		t.Error("an unneeded CA was made")
	}

	w.pass(time.Minute)
	second := w.given("mine.example", "other.example")
	if _, err := w.trusting(a, second, "other.example"); err != nil {
		t.Errorf("a replaced certificate is not served: %v", err)
	}

	for range 3 { // a half-written key is not served, and is logged once
		w.pass(time.Minute)
		w.put("tls.key", []byte("not yet"))
		if _, err := w.trusting(a, second, "other.example"); err != nil {
			t.Errorf("while it is being replaced: %v", err)
		}
	}
	if n := strings.Count(w.log.String(), "cannot be renewed"); n != 1 {
		t.Errorf("logged %d times: %s", n, &w.log)
	}
	w.pass(time.Minute)
	third := w.given("mine.example")
	if _, err := w.trusting(a, third, "mine.example"); err != nil {
		t.Errorf("after the key was replaced: %v", err)
	}
	w.pass(2 * time.Hour)
	w.open()
	if !strings.Contains(w.log.String(), "has expired") {
		t.Errorf("logged %s", &w.log)
	}
}

// TestRefusals lists all errors of Open: each is a sentence that names the file.
func TestRefusals(t *testing.T) {
	for name, tc := range map[string]struct {
		prepare func(*world)
		names   []string
		want    []string
	}{
		"a certificate without a key": {func(w *world) { w.given("x"); os.Remove(w.path("tls.key")) }, nil, []string{"tls.key cannot be read", "both tls.key and tls.crt are required"}},
		"a key without a certificate": {func(w *world) { w.given("x"); os.Remove(w.path("tls.crt")) }, nil, []string{"tls.crt cannot be read"}},
		"another's key":               {func(w *world) { w.given("x"); k := w.read("tls.key"); w.pass(1); w.given("x"); w.put("tls.key", k) }, nil, []string{"tls.crt and tls.key are not a certificate and its key"}},
		"no certificate at all":       {func(w *world) { w.given("x"); w.put("tls.crt", []byte("hello")) }, nil, []string{"tls.crt and tls.key"}},
		"one for another name":        {func(w *world) { w.given("x.example") }, []string{"y.example"}, []string{"tls.crt does not cover y.example"}},
		"a damaged issuer":            {func(w *world) { w.put("issuer.pem", []byte("-----BEGIN")) }, nil, []string{"issuer.pem is damaged", "new CA"}},
		"an issuer of others": {func(w *world) {
			c := w.given("x")
			w.put("issuer.pem", append(c, w.read("tls.key")...))
			os.Remove(w.path("tls.crt"))
			os.Remove(w.path("tls.key"))
		}, nil, []string{"issuer.pem is damaged"}},
		"a file for a folder": {func(w *world) { w.put("f", nil); w.dir = w.path("f") }, nil, []string{"cannot be created", "not a directory"}},
		"no name":             {func(*world) {}, []string{"http://x"}, []string{`"http://x"`, "DNS name"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			tc.prepare(w)
			_, err := w.try(tc.names...)
			if err == nil {
				t.Fatal("Open succeeded")
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want %q", err, want)
				}
			}
		})
	}
}

func TestCheckName(t *testing.T) {
	for text, want := range map[string]string{
		"Mayfly": "mayfly", "a.example.": "a.example", "*.a.example": "*.a.example", "10.0.0.1": "10.0.0.1", "::1": "::1",
		"::ffff:10.0.0.1": "10.0.0.1", "FE80::A": "fe80::a", "my_host": "my_host", "xn--bcher-kva.example": "xn--bcher-kva.example",
		"": "", "*": "", "*.example": "", "a*.example": "", "a..b": "", "-a": "", "a-": "", "a b": "", "a/b": "", "a:1": "", "fe80::a%eth0": "",
		strings.Repeat("a", 64): "", strings.Repeat("a.", 127) + "ab": "", "bücher.example": "",
	} {
		got, err := certificate.CheckName(text)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: got %q %v", text, got, err)
		}
	}
}

// TestReadableKey: a warning is logged for a key that other users may read.
func TestReadableKey(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // files have no modes on Windows
	}
	w := newWorld(t)
	w.open()
	if err := os.Chmod(w.path("issuer.pem"), 0o644); err != nil {
		t.Fatal(err)
	}
	w.open()
	if !strings.Contains(w.log.String(), "other users may read the key") {
		t.Errorf("logged %s", &w.log)
	}
}

// TestAlso: the certificate has those ExtraNames that the CA may sign. After a move to another
// network, the CA stays, and addresses that it may not sign are left out.
func TestAlso(t *testing.T) {
	dir := t.TempDir()
	open := func(also ...string) (ca []byte, names []string) {
		t.Helper()
		a, err := certificate.Open(certificate.Options{Dir: dir, ExtraNames: also, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		if ca, err = os.ReadFile(a.CA()); err != nil {
			t.Fatal(err)
		}
		return ca, a.Names()
	}
	first, names := open("192.0.2.7", "2001:db8::1", "127.0.0.1", "Broker.lan", "no name")
	if !slices.Contains(names, "192.0.2.7") || !slices.Contains(names, "2001:db8::1") || !slices.Contains(names, "broker.lan") {
		t.Errorf("the names are %q", names)
	}
	again, names := open("192.0.2.7", "192.0.2.8", "eu.broker.lan", "wiki.lan")
	if !bytes.Equal(first, again) || !slices.Contains(names, "192.0.2.7") || slices.Contains(names, "192.0.2.8") || !slices.Contains(names, "eu.broker.lan") || slices.Contains(names, "wiki.lan") {
		t.Errorf("at another address the names are %q, and the CA is the same: %t", names, bytes.Equal(first, again))
	}
}
