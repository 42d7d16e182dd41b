package proxy

import (
	"bufio"
	"errors"
	"fmt"
	"net"

	"github.com/pires/go-proxyproto"
)

// ReadHeader reads a header of the PROXY protocol, version 1 or 2, at the start of a
// connection, and returns the client's address. It returns nil if there is no header, or
// if the header names no client, as for a health check by the proxy itself. The bytes
// behind the header stay in r.
func ReadHeader(r *bufio.Reader) (net.Addr, error) {
	h, err := proxyproto.Read(r)
	switch {
	case errors.Is(err, proxyproto.ErrNoProxyProtocol):
		return nil, nil // nil is "no client", as documented
	case err != nil:
		return nil, fmt.Errorf("read the PROXY header: %w", err)
	case h.Command.IsLocal():
		return nil, nil // nil is "no client", as documented
	}
	if at, ok := h.SourceAddr.(*net.TCPAddr); ok {
		return at, nil
	}
	return nil, nil // the client came by a Unix socket
}
