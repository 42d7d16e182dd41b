package cluster

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

// A Secret is shared by the servers on one store.
type Secret [32]byte

// Key returns a key derived from the secret for one purpose.
func (s Secret) Key(purpose string) (key [32]byte) {
	m := hmac.New(sha256.New, s[:])
	m.Write([]byte(purpose))
	copy(key[:], m.Sum(nil))
	return key
}

// The protocols on a connection between servers, as TLS negotiates them.
const (
	protocolHTTP = "http/1.1"
	protocolAMQP = "mayfly-amqp"
)

var errWrongSecret = errors.New("the other server does not have the shared secret of this store's servers")

// tlsConfigOf returns the TLS configuration of either end of a connection. An end proves that
// it knows the secret by a certificate whose key is derived from it. Nothing else in the
// certificate counts.
func tlsConfigOf(s Secret) (*tls.Config, error) {
	seed := s.Key("passing on")
	key := ed25519.NewKeyFromSeed(seed[:])
	public, ok := key.Public().(ed25519.PublicKey)
	if !ok {
		return nil, errors.New("the key has no public key") // never, by the contract of ed25519
	}
	form := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Unix(0, 0), NotAfter: time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)}
	raw, err := x509.CreateCertificate(rand.Reader, form, form, public, key)
	if err != nil {
		return nil, fmt.Errorf("make the certificate for other servers: %w", err)
	}
	return &tls.Config{
		Certificates:           []tls.Certificate{{Certificate: [][]byte{raw}, PrivateKey: key}},
		ClientAuth:             tls.RequireAnyClientCert,
		InsecureSkipVerify:     true,
		MinVersion:             tls.VersionTLS13,
		SessionTicketsDisabled: true,
		VerifyConnection: func(c tls.ConnectionState) error {
			if len(c.PeerCertificates) == 0 || !public.Equal(c.PeerCertificates[0].PublicKey) {
				return errWrongSecret
			}
			return nil
		},
	}, nil
}
