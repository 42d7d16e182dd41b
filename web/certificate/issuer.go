package certificate

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"slices"
	"strings"
	"time"
)

// The validity of certificates. All begin a little in the past, for clients whose clocks are
// slow.
const (
	caLife    = 5 * 365 * 24 * time.Hour
	leafLife  = 30 * 24 * time.Hour
	leafRenew = leafLife / 3 // before its end
	clockSkew = time.Hour
)

// An issuer signs certificates of servers. Clients trust its root.
type issuer struct {
	root, cert *x509.Certificate
	key        *ecdsa.PrivateKey
}

// newIssuer creates a root and an issuer below it, with the same constraints. The root's key
// is in no file, and is discarded when newIssuer returns.
func newIssuer(c constraints, now time.Time) (*issuer, error) {
	rootKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	mark := rand.Text()[:6] // distinguishes CAs in a client's trust store
	root := template("Mayfly local CA "+mark, now, now.Add(caLife))
	root.IsCA, root.MaxPathLen, root.KeyUsage = true, 1, x509.KeyUsageCertSign|x509.KeyUsageCRLSign
	c.apply(root)
	if root, err = sign(root, root, rootKey, rootKey); err != nil {
		return nil, err
	}
	cert := template("Mayfly local issuer "+mark, now, root.NotAfter)
	cert.IsCA, cert.MaxPathLenZero, cert.KeyUsage = true, true, x509.KeyUsageCertSign
	cert.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	c.apply(cert)
	if cert, err = sign(cert, root, key, rootKey); err != nil {
		return nil, err
	}
	return &issuer{root: root, cert: cert, key: key}, nil
}

// template returns the fields that all certificates have.
func template(name string, now, until time.Time) *x509.Certificate {
	serial := make([]byte, 16)
	_, _ = rand.Read(serial) // never fails, by its contract
	serial[0] &= 0x7f        // keeps it positive
	return &x509.Certificate{
		SerialNumber: new(big.Int).SetBytes(serial), Subject: pkix.Name{CommonName: name},
		NotBefore: now.Add(-clockSkew), NotAfter: until, BasicConstraintsValid: true,
	}
}

func sign(what, by *x509.Certificate, key, with *ecdsa.PrivateKey) (*x509.Certificate, error) {
	raw, err := x509.CreateCertificate(rand.Reader, what, by, &key.PublicKey, with)
	if err != nil {
		return nil, fmt.Errorf("sign a certificate: %w", err)
	}
	return x509.ParseCertificate(raw)
}

// leaf returns a server's certificate for the given names. Its chain includes the issuer's
// certificate, which clients need beside the root.
func (i *issuer) leaf(names []string, now time.Time) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make a key: %w", err)
	}
	cert := template("Mayfly", now, now.Add(leafLife))
	cert.KeyUsage, cert.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	cert.DNSNames, cert.IPAddresses = splitNames(names)
	if cert, err = sign(cert, i.cert, key, i.key); err != nil {
		return tls.Certificate{}, err
	}
	return tls.Certificate{Certificate: [][]byte{cert.Raw, i.cert.Raw}, PrivateKey: key, Leaf: cert}, nil
}

// permits reports whether the constraints allow a name or an address.
func (i *issuer) permits(name string) bool {
	if ip := net.ParseIP(name); ip != nil {
		return slices.ContainsFunc(i.root.PermittedIPRanges, func(r *net.IPNet) bool { return r.Contains(ip) })
	}
	name = strings.TrimPrefix(name, "*.")
	return slices.ContainsFunc(i.root.PermittedDNSDomains, func(d string) bool { return name == d || strings.HasSuffix(name, "."+d) })
}

// verify verifies a certificate as a client that trusts the root does.
func (i *issuer) verify(leaf *x509.Certificate, now time.Time) error {
	roots, between := x509.NewCertPool(), x509.NewCertPool()
	roots.AddCert(i.root)
	between.AddCert(i.cert)
	_, err := leaf.Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, CurrentTime: now})
	return err
}

// encode returns the content of the issuer's file.
func (i *issuer) encode() ([]byte, error) {
	key, err := x509.MarshalPKCS8PrivateKey(i.key)
	if err != nil {
		return nil, fmt.Errorf("encode a key: %w", err)
	}
	var b bytes.Buffer
	for _, p := range []pem.Block{{Type: "PRIVATE KEY", Bytes: key}, {Type: "CERTIFICATE", Bytes: i.cert.Raw}, {Type: "CERTIFICATE", Bytes: i.root.Raw}} {
		if err := pem.Encode(&b, &p); err != nil {
			return nil, fmt.Errorf("encode a certificate: %w", err)
		}
	}
	return b.Bytes(), nil
}

// errUnknownFormat is the error for a file that this program did not write.
var errUnknownFormat = errors.New("the file was not written by Mayfly")

func decodeIssuer(raw []byte) (*issuer, error) {
	pair, err := tls.X509KeyPair(raw, raw)
	if err != nil {
		return nil, err
	}
	key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok || len(pair.Certificate) != 2 || !pair.Leaf.IsCA {
		return nil, errUnknownFormat
	}
	root, err := x509.ParseCertificate(pair.Certificate[1])
	if err != nil {
		return nil, err
	}
	if err := pair.Leaf.CheckSignatureFrom(root); err != nil {
		return nil, err
	}
	return &issuer{root: root, cert: pair.Leaf, key: key}, nil
}

// readIssuer returns the folder's issuer, or nil if there is none.
func (a *Manager) readIssuer() (*issuer, error) {
	raw, err := os.ReadFile(a.path(fileIssuer))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", a.path(fileIssuer), withoutPath(err))
	}
	i, err := decodeIssuer(raw)
	if err != nil {
		return nil, fmt.Errorf("%s is damaged (%w); remove it to get a new CA, which clients must trust in place of the previous one", a.path(fileIssuer), err)
	}
	return i, nil
}
