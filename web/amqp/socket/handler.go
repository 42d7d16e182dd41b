package socket

import (
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// Path is where SDKs look for AMQP in a WebSocket; some add a slash.
const Path = "/$servicebus/websocket"

// At tells whether a request's path is Path, in any case.
func At(path string) bool { return strings.EqualFold(strings.TrimSuffix(path, "/"), Path) }

// Subprotocols by which AMQP is known: the older one is what SDKs ask for.
const (
	protocolServiceBus = "AMQPWSB10"
	protocolAMQP       = "amqp"
)

// handshakePatience is how long a client has to take the answer to its request.
const handshakePatience = 10 * time.Second

// A Handler upgrades requests. Make it with NewHandler; it is safe for
// concurrent use.
type Handler struct {
	serve    func(net.Conn, *http.Request)
	upgrader websocket.Upgrader
}

// NewHandler upgrades requests for serve, which is told which it was that a connection
// came by, and returns when it is done with that and has closed it.
func NewHandler(serve func(net.Conn, *http.Request)) *Handler {
	return &Handler{serve: serve, upgrader: websocket.Upgrader{
		HandshakeTimeout: handshakePatience,
		CheckOrigin:      sameOrigin,
		WriteBufferPool:  &sync.Pool{}, // an idle connection has no buffer for writing
		Error: func(w http.ResponseWriter, _ *http.Request, status int, reason error) {
			http.Error(w, reason.Error(), status)
		},
	}}
}

// ServeHTTP returns when the connection is over. Whether the request names a
// host that is ours is asked before it comes here.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !websocket.IsWebSocketUpgrade(r) {
		w.Header().Set("Upgrade", "websocket")
		http.Error(w, "AMQP is spoken here inside a WebSocket, and this request asks for none.", http.StatusUpgradeRequired)
		return
	}
	protocol, ok := choose(websocket.Subprotocols(r))
	if !ok {
		http.Error(w, "The WebSocket carries AMQP: its subprotocol is "+protocolServiceBus+" or "+protocolAMQP+".", http.StatusBadRequest)
		return
	}
	answer := http.Header{}
	if protocol != "" {
		answer.Set("Sec-Websocket-Protocol", protocol)
	}
	ws, err := h.upgrader.Upgrade(w, r, answer)
	if err != nil {
		return // the upgrader has answered
	}
	h.serve(NewConn(ws), r)
}

// choose is the first of the offered subprotocols that is AMQP, as it was
// written. Who offers none gets none.
func choose(offered []string) (string, bool) {
	for _, o := range offered {
		if strings.EqualFold(o, protocolServiceBus) || strings.EqualFold(o, protocolAMQP) {
			return o, true
		}
	}
	return "", len(offered) == 0
}

// sameOrigin refuses pages of other sites: the request that opens a WebSocket
// is one that a browser makes for any page, and none of a page's own is made
// here. Programs say nothing of an origin.
func sameOrigin(r *http.Request) bool {
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
