package authority

import (
	"crypto/tls"
	"fmt"
	"os"
)

// given is the operator's own certificate.
func (a *Authority) given(from fingerprint) (*served, error) {
	var pair [2][]byte
	for i, name := range []string{fileCert, fileKey} {
		raw, err := os.ReadFile(a.path(name))
		if err != nil {
			return nil, fmt.Errorf("%s cannot be read, and %s goes with %s: %w", a.path(name), fileKey, fileCert, reason(err))
		}
		pair[i] = raw
	}
	cert, err := tls.X509KeyPair(pair[0], pair[1])
	if err != nil {
		return nil, fmt.Errorf("%s and %s are not a certificate and its key in PEM: %w", a.path(fileCert), fileKey, err)
	}
	for _, n := range a.asked {
		if err := cert.Leaf.VerifyHostname(n); err != nil {
			return nil, fmt.Errorf("%s is not for %s, which it was asked to be: %w", a.path(fileCert), n, err)
		}
	}
	s := &served{cert: cert, names: named(cert.Leaf), from: from, looked: a.now()}
	if end := cert.Leaf.NotAfter; !s.looked.Before(end) {
		a.log.Warn("the certificate for TLS has run out; clients will refuse it", "file", a.path(fileCert), "since", end)
	}
	return s, nil
}
