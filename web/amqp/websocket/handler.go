package websocket

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// Path is the path at which SDKs open a WebSocket for AMQP. Some SDKs add a slash.
const Path = "/$servicebus/websocket"

// IsPath reports whether path is Path, in any case.
func IsPath(path string) bool { return strings.EqualFold(strings.TrimSuffix(path, "/"), Path) }

// The subprotocols of AMQP. SDKs request the older one.
const (
	protocolServiceBus = "AMQPWSB10"
	protocolAMQP       = "amqp"
)

// handshakeTimeout is how long writing the response to the client's request may take.
const handshakeTimeout = 10 * time.Second

// A Handler upgrades requests to WebSockets. NewHandler returns one. It is safe for concurrent use.
type Handler struct {
	serve    func(net.Conn, *http.Request)
	origins  []string
	upgrader websocket.Upgrader
}

// NewHandler returns a handler that upgrades requests and calls `serve` with the connection and its
// request. `serve` returns when it has closed the connection. Pages of these origins may open a
// WebSocket, as well as pages of the server itself; see CheckOrigin.
func NewHandler(serve func(net.Conn, *http.Request), origins ...string) *Handler {
	return &Handler{serve: serve, origins: origins, upgrader: websocket.Upgrader{
		HandshakeTimeout: handshakeTimeout,
		CheckOrigin:      func(*http.Request) bool { return true }, // ServeHTTP has checked it
		WriteBufferPool:  &sync.Pool{},                             // so that idle connections have no write buffer
		Error: func(w http.ResponseWriter, _ *http.Request, status int, reason error) {
			http.Error(w, reason.Error(), status)
		},
	}}
}

// ServeHTTP upgrades a request to a WebSocket, or refuses it, and returns when the connection has
// ended. The caller has checked that the request names a host of the server.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !websocket.IsWebSocketUpgrade(r) {
		w.Header().Set("Upgrade", "websocket")
		http.Error(w, "This address accepts AMQP over WebSockets only, and the request does not open a WebSocket.", http.StatusUpgradeRequired)
		return
	}
	protocol, ok := chooseSubprotocol(websocket.Subprotocols(r))
	if !ok {
		http.Error(w, "The WebSocket carries AMQP: its subprotocol is "+protocolServiceBus+" or "+protocolAMQP+".", http.StatusBadRequest)
		return
	}
	if !h.isOriginAllowed(r) {
		http.Error(w, refusalText(r), http.StatusForbidden)
		return
	}
	answer := http.Header{}
	if protocol != "" {
		answer.Set("Sec-Websocket-Protocol", protocol)
	}
	ws, err := h.upgrader.Upgrade(w, r, answer)
	if err != nil {
		return // the upgrader has written a response
	}
	h.serve(NewConn(ws), r)
}

// chooseSubprotocol returns the first offered subprotocol that is AMQP, in the client's spelling.
// It returns an empty one if the client offers none, and false if none of the offered ones is AMQP.
func chooseSubprotocol(offered []string) (string, bool) {
	for _, o := range offered {
		if strings.EqualFold(o, protocolServiceBus) || strings.EqualFold(o, protocolAMQP) {
			return o, true
		}
	}
	return "", len(offered) == 0
}

// errOrigin is the error for text that is not an origin.
var errOrigin = errors.New("an origin is http:// or https://, a host and perhaps a port, such as https://shop.example:8443")

// CheckOrigin checks that text is an origin, and returns it as browsers write it: in lower case,
// without a slash at the end and without the default port of its scheme.
func CheckOrigin(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" || strings.Contains(u.Host, "*") {
		return "", errOrigin
	}
	host := strings.ToLower(u.Host)
	if port := u.Port(); u.Scheme == "http" && port == "80" || u.Scheme == "https" && port == "443" || port == "" {
		host = strings.TrimSuffix(host, ":"+port)
	}
	return u.Scheme + "://" + host, nil
}

// isOriginAllowed reports whether a request may open a WebSocket: it comes from a program, or from
// a page of the server or of a permitted origin.
func (h *Handler) isOriginAllowed(r *http.Request) bool {
	return isSameOrigin(r) || slices.Contains(h.origins, strings.ToLower(r.Header.Get("Origin")))
}

// maxOriginLength is the maximum length, in bytes, of an origin that a response quotes.
const maxOriginLength = 200

// refusalText returns the reason why a page is refused, and the option that permits it.
func refusalText(r *http.Request) string {
	origin, err := CheckOrigin(r.Header.Get("Origin"))
	if err != nil || len(origin) > maxOriginLength {
		return "This WebSocket was opened by a page of another origin."
	}
	return fmt.Sprintf("This WebSocket was opened by a page of another origin, %s. To allow that origin, start the server with --allow-origin %s.", origin, origin)
}

// isSameOrigin reports whether a request comes from a page of the server or from a program.
// It refuses pages of other sites, because a browser lets any page open a WebSocket and
// the server's own pages open none. Programs send no origin.
func isSameOrigin(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
	default:
		return false
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && strings.EqualFold(u.Host, r.Host)
}
