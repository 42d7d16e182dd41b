package mongo

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo/address"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"
)

func TestTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ours, foreign := newCA(t, dir, "ours"), newCA(t, dir, "foreign")
	speak := func(cert tls.Certificate, client tls.ClientAuthType) string {
		l := listen(t)
		config := &tls.Config{Certificates: []tls.Certificate{cert}, ClientAuth: client, MinVersion: tls.VersionTLS12}
		f := &fake{host: l.Addr().String(), hello: helloAlone()}
		serve(t, l, func(c net.Conn) error { return f.converse(tls.Server(c, config)) })
		return f.host
	}
	now := time.Now()
	good := ours.issue(t, now.Add(time.Hour), "127.0.0.1")
	ca := "&tls=true&tlsCAFile=" + ours.file
	t.Run("trusted", func(t *testing.T) {
		openURL(t, "mongodb://"+speak(good, tls.NoClientCert)+"/?"+quick+ca)
	})
	for name, tc := range map[string]struct {
		at, query, want string
	}{
		"unknown authority": {speak(foreign.issue(t, now.Add(time.Hour), "127.0.0.1"), tls.NoClientCert), ca,
			"the certificate of HOST is signed by an unknown authority: set tlsCAFile to the certificate of the authority"},
		"another name": {speak(ours.issue(t, now.Add(time.Hour), "127.0.0.2"), tls.NoClientCert), ca,
			"the certificate of HOST is for another name: x509: certificate is valid for 127.0.0.2, not 127.0.0.1"},
		"expired": {speak(ours.issue(t, now.Add(-time.Hour), "127.0.0.1"), tls.NoClientCert), ca,
			"the certificate of HOST is not valid: x509: certificate has expired or is not yet valid"},
		"wants the client's": {speak(good, tls.RequireAnyClientCert), ca,
			"the server at HOST refuses the TLS connection; it may need a client certificate (tlsCertificateKeyFile): tls: certificate required"},
		"no TLS asked for": {speak(good, tls.NoClientCert), "",
			"the server at HOST closes the connection: it needs TLS (tls=true in the connection string) or is not a MongoDB"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := sentence(t, "mongodb://u:s3cret@"+tc.at+"/?"+quick+tc.query, "s3cret").Error()
			got, _, _ = strings.Cut(got, ": current time")
			want(t, strings.ReplaceAll(tc.want, "HOST", tc.at), got)
		})
	}
}

// TestCancelledCheck checks that the error names the reason why a server cannot be used, even if
// the driver cancelled its last check; but not a reason from before a successful check.
func TestCancelledCheck(t *testing.T) {
	a, err := parse("mongodb://h:1/?tls=true")
	if err != nil {
		t.Fatal(err)
	}
	cancelled := fmt.Errorf("incomplete read: %w", context.Canceled)
	var known failures
	for _, failure := range []error{errors.New("remote error: tls: certificate required"), cancelled} {
		known.checkFailed(&event.ServerHeartbeatFailedEvent{ConnectionID: "h:1[-3]", Failure: failure})
	}
	known.checkFailed(&event.ServerHeartbeatFailedEvent{ConnectionID: "h:3[-4]", Failure: errors.New("remote error: tls: certificate required")})
	known.checkSucceeded(&event.ServerHeartbeatSucceededEvent{ConnectionID: "h:3[-5]"})
	for server, wants := range map[string]string{
		"h:1": "the server at h:1 refuses the TLS connection; it may need a client certificate (tlsCertificateKeyFile): remote error: tls: certificate required",
		"h:2": "the MongoDB at h:2 cannot be used: incomplete read: context canceled",
		"h:3": "the MongoDB at h:3 cannot be used: incomplete read: context canceled",
	} {
		err := topology.ServerSelectionError{Desc: description.Topology{Servers: []description.Server{{Addr: address.Address(server), LastError: cancelled}}}}
		want(t, wants, a.explain(err, &known).Error())
		want(t, cancelled.Error(), err.Desc.Servers[0].LastError.Error())
	}
}

// A signer issues certificates. Its own certificate is in a file.
type signer struct {
	file string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newCA(t *testing.T, dir, name string) signer {
	t.Helper()
	s := signer{file: filepath.Join(dir, name+".pem")}
	var der []byte
	s.key, der = signed(t, &x509.Certificate{Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour), IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}, nil, nil)
	var err error
	if s.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s signer) issue(t *testing.T, until time.Time, ip string) tls.Certificate {
	t.Helper()
	key, der := signed(t, &x509.Certificate{NotAfter: until, IPAddresses: []net.IP{net.ParseIP(ip)}}, s.cert, s.key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// signed creates a certificate, which is self-signed if by is nil.
func signed(t *testing.T, c, by *x509.Certificate, with *ecdsa.PrivateKey) (*ecdsa.PrivateKey, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if by == nil {
		by, with = c, key
	}
	c.SerialNumber = big.NewInt(1)
	der, err := x509.CreateCertificate(rand.Reader, c, by, key.Public(), with)
	if err != nil {
		t.Fatal(err)
	}
	return key, der
}
