package relay

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/big"
	"time"
)

// A Secret is what servers on one store know, and nobody else.
type Secret [32]byte

// For is a key that is made of the secret for one purpose.
func (s Secret) For(purpose string) (key [32]byte) {
	m := hmac.New(sha256.New, s[:])
	m.Write([]byte(purpose))
	copy(key[:], m.Sum(nil))
	return key
}

// What is spoken on a connection between servers, as TLS negotiates it.
const (
	speaksHTTP = "http/1.1"
	speaksAMQP = "mayfly-amqp"
)

var errStranger = errors.New("the other end does not know the secret of this store's servers")

// keysOf is how either end of a connection proves that it knows the secret: with a
// certificate of a key that is made of it. Nothing else of the certificate counts.
func keysOf(s Secret) (*tls.Config, error) {
	seed := s.For("passing on")
	key := ed25519.NewKeyFromSeed(seed[:])
	public, ok := key.Public().(ed25519.PublicKey)
	if !ok {
		return nil, errors.New("a key without its other half") // never, by its contract
	}
	form := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Unix(0, 0), NotAfter: time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)}
	raw, err := x509.CreateCertificate(rand.Reader, form, form, public, key)
	if err != nil {
		return nil, fmt.Errorf("make the certificate for other servers: %w", err)
	}
	return &tls.Config{
		Certificates:           []tls.Certificate{{Certificate: [][]byte{raw}, PrivateKey: key}},
		ClientAuth:             tls.RequireAnyClientCert,
		InsecureSkipVerify:     true, //nolint:gosec // VerifyConnection is stricter: one key is good
		MinVersion:             tls.VersionTLS13,
		SessionTicketsDisabled: true,
		VerifyConnection: func(c tls.ConnectionState) error {
			if len(c.PeerCertificates) == 0 || !public.Equal(c.PeerCertificates[0].PublicKey) {
				return errStranger
			}
			return nil
		},
	}, nil
}
