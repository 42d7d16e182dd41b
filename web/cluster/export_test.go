package cluster

import (
	"crypto/tls"
	"net/http"
)

// KeysOf returns the TLS configuration with which a server that has the secret connects
// to another one by its name.
func KeysOf(s Secret, server string) (*tls.Config, error) {
	keys, err := tlsConfigOf(s)
	if err != nil {
		return nil, err
	}
	keys.NextProtos, keys.ServerName = []string{protocolHTTP}, server
	return keys, nil
}

// Finally returns the writer of forwarded answers.
func Finally(w http.ResponseWriter) http.ResponseWriter { return &finalWriter{w} }
