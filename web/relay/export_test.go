package relay

import "crypto/tls"

// KeysOf is how a server with the secret comes to another by its name.
func KeysOf(s Secret, server string) (*tls.Config, error) {
	keys, err := keysOf(s)
	if err != nil {
		return nil, err
	}
	keys.NextProtos, keys.ServerName = []string{speaksHTTP}, server
	return keys, nil
}
