package certificate

import (
	"crypto/tls"
	"fmt"
	"os"
)

// loadOperator returns the operator's own certificate.
func (a *Manager) loadOperator(from fingerprint) (*loaded, error) {
	var pair [2][]byte
	for i, name := range []string{fileCert, fileKey} {
		raw, err := os.ReadFile(a.path(name))
		if err != nil {
			return nil, fmt.Errorf("%s cannot be read, and both %s and %s are required: %w", a.path(name), fileKey, fileCert, withoutPath(err))
		}
		pair[i] = raw
	}
	cert, err := tls.X509KeyPair(pair[0], pair[1])
	if err != nil {
		return nil, fmt.Errorf("%s and %s are not a certificate and its key in PEM: %w", a.path(fileCert), fileKey, err)
	}
	for _, n := range a.requestedNames {
		if err := cert.Leaf.VerifyHostname(n); err != nil {
			return nil, fmt.Errorf("%s does not cover %s, a name of --tls-name: %w", a.path(fileCert), n, err)
		}
	}
	s := &loaded{cert: cert, names: namesOf(cert.Leaf), files: from, checked: a.now()}
	if end := cert.Leaf.NotAfter; !s.checked.Before(end) {
		a.log.Warn("the TLS certificate has expired; clients will refuse it", "file", a.path(fileCert), "since", end)
	}
	return s, nil
}
