package live

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gorilla/websocket"

	"mayfly/views/locale"
	"mayfly/views/view"
	"mayfly/web/auth"
	"mayfly/web/presentation"
	"mayfly/web/proxy"
)

// errOtherNamespace is the error for a page that the client may not watch, or may no longer watch.
const errOtherNamespace = "This page belongs to a namespace that you may not see."

// Codes of RFC 6455 for closing a socket.
const (
	closeGoingAway = websocket.CloseGoingAway
	closePolicy    = websocket.ClosePolicyViolation
	closeTryAgain  = websocket.CloseTryAgainLater
)

const (
	maxCommand  = 4 << 10 // bytes of a command from a browser
	maxControls = 128     // queued answers, for a browser that sends commands without reading
)

// A client is one socket. Reading happens in the handler's goroutine, writing in one of its
// own.
type client struct {
	conn             *websocket.Conn
	address          string
	lang             string
	safeMode         view.SafeMode
	caller           auth.Caller   // the user who opened it
	presentingDenied bool          // it may not present
	presentationOnly bool          // it may not see the hub's namespace, and only gets the state of a presentation
	presents         string        // the id of the presentation that it leads; owned by the reader
	wake             chan struct{} // holds one token while there is a frame to write
	done             chan struct{} // closed by end

	// Guarded by Hub.mu.
	views           map[string]*pageViewer // by URL
	controls        []control
	ping            *websocket.PreparedMessage
	alert           *websocket.PreparedMessage // the latest alert not sent yet
	participant     *presentation.Participant  // of the presentation that it leads or follows; only the reader changes it
	presentationDue bool                       // the presentation's state is to be sent
	queue           []*pageViewer              // viewers with something due, the longest waiting first
	paused          bool
	code            int // the close code; zero until the socket is to end
	text            string
}

// A command is a browser's command.
type command struct {
	Op    string `json:"op"`
	Topic string `json:"topic"` // the address of a page, or the id of a presentation
	N     uint64 `json:"n"`

	// For op present:
	Name   string `json:"name"`   // the presenter's name
	Page   string `json:"page"`   // the presenter's page
	Beside string `json:"beside"` // the page open beside it
}

// Handler returns the handler of sockets. It answers 503 if there are too many sockets; the browser
// then polls the page instead.
func (h *Hub) Handler() http.Handler { return http.HandlerFunc(h.serve) }

func (h *Hub) serve(w http.ResponseWriter, r *http.Request) {
	address := proxy.Address(r)
	if why := h.admit(address); why != "" {
		w.Header().Set("Retry-After", "5")
		http.Error(w, why, http.StatusServiceUnavailable)
		return
	}
	defer h.release(address)
	upgrader := websocket.Upgrader{CheckOrigin: SameHost, HandshakeTimeout: h.opts.StallTimeout}
	conn, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return // the upgrader has answered
	}
	caller := auth.FromRequest(r)
	c := &client{
		conn: conn, address: address, caller: caller,
		lang:     locale.Lang(locale.With(r.Context(), languageOf(r))),
		safeMode: h.opts.SafeMode(r), presentingDenied: h.opts.PresentingDenied(r), wake: make(chan struct{}, 1), done: make(chan struct{}),
		views: map[string]*pageViewer{},
	}
	c.presentationOnly = h.opts.HomeURL != "" && !h.maySee(c, h.opts.HomeURL)
	if !h.add(c) {
		_ = conn.Close() // the hub closed in the meantime
		return
	}
	written := make(chan struct{})
	go func() { defer close(written); h.write(c) }() // waited for below
	go h.closeExpired(c, caller.Done)                // ends with c
	h.read(c)
	h.leave(c)
	<-written
	h.remove(c)
}

// closeExpired waits until `over` is closed, because the credential of c's user is no longer valid,
// and then closes the socket. It returns when the socket ends.
func (h *Hub) closeExpired(c *client, over <-chan struct{}) {
	select {
	case <-over:
		h.mu.Lock()
		defer h.mu.Unlock()
		c.end(closePolicy, "signed out")
	case <-c.done:
	}
}

// commands are the commands of a socket, with the role that each requires.
var commands = map[string]auth.Role{
	"sub": auth.Viewer, "unsub": auth.Viewer, "pause": auth.Viewer, "resume": auth.Viewer,
	"follow": auth.Viewer, "unfollow": auth.Viewer, "present": auth.Operator,
}

// languageOf returns the language of the page that opens the socket. The page sends it in the query,
// because the user may have chosen another language in another tab since the page was loaded.
func languageOf(r *http.Request) string {
	if tag := r.URL.Query().Get("lang"); locale.Supported(tag) {
		return tag
	}
	return locale.Requested(r)
}

// admit reserves a place for a socket, or returns why there is none. Close waits until all
// places are released.
func (h *Hub) admit(address string) (why string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	sockets := 0
	for _, n := range h.addresses {
		sockets += n
	}
	switch {
	case h.closed:
		return "the server is shutting down"
	case h.opts.MaxSockets < 0:
		return "live pages are off on this server"
	case sockets >= h.opts.MaxSockets:
		return fmt.Sprintf("the server has %d live pages already", sockets)
	case h.opts.MaxPerAddress > 0 && h.addresses[address] >= h.opts.MaxPerAddress:
		return fmt.Sprintf("this address has %d live pages already", h.addresses[address])
	}
	h.addresses[address]++
	h.wg.Add(1)
	return ""
}

func (h *Hub) release(address string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.addresses[address]--; h.addresses[address] == 0 {
		delete(h.addresses, address)
	}
	h.wg.Done()
}

func (h *Hub) add(c *client) bool {
	hello := h.opts.Greeting()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return false
	}
	h.clients[c] = struct{}{}
	m := hello.clock("hello")
	m.Proto, m.Build, m.Epoch = protocol, hello.Build, hello.Epoch
	if !c.presentationOnly {
		m.Alert = hello.Alert
	}
	c.sendControl(m)
	return true
}

func (h *Hub) remove(c *client) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.clients, c)
	for _, s := range c.views {
		h.endView(s)
	}
}

// end makes the writer close the socket with a code and a reason. The caller holds Hub.mu, or
// is the only one that has c.
func (c *client) end(code int, text string) {
	if c.ended() {
		return
	}
	c.code, c.text = code, text
	close(c.done)
	// A stuck writer gets a moment for the rest of its frame. The deadline is the connection's
	// own, which may be set from here.
	_ = c.conn.NetConn().SetWriteDeadline(time.Now().Add(time.Second)) //nolint:errcheck // it fails only on a closed connection
}

func (c *client) ended() bool { return c.code != 0 }

// cut closes the socket without a close frame. The caller holds Hub.mu.
func (c *client) cut() {
	_ = c.conn.NetConn().Close() // it is closed either way
}

// sendControl queues a control frame. The caller holds Hub.mu.
func (c *client) sendControl(m control) {
	if len(c.controls) == maxControls {
		c.end(closePolicy, "too many commands")
		return
	}
	c.controls = append(c.controls, m)
	c.wakeWriter()
}

// enqueue adds s to the viewers for which the writer has something to send. The caller holds Hub.mu,
// and calls wakeWriter afterwards.
func (c *client) enqueue(s *pageViewer) {
	if !slices.Contains(c.queue, s) {
		c.queue = append(c.queue, s)
	}
}

func (c *client) wakeWriter() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// read executes the browser's commands until the socket ends. A browser answers every
// heartbeat; one that has been silent for long is cut off.
func (h *Hub) read(c *client) {
	silence := h.opts.Heartbeat + h.opts.StallTimeout
	alive := func() error { return c.conn.SetReadDeadline(time.Now().Add(silence)) }
	c.conn.SetReadLimit(maxCommand)
	c.conn.SetPongHandler(func(string) error { return alive() })
	code, why := websocket.CloseNormalClosure, ""
	for alive() == nil {
		_, b, err := c.conn.ReadMessage()
		if err != nil {
			if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
				code, why = closeTryAgain, "no answer"
			}
			break
		}
		var cmd command
		if err := json.Unmarshal(b, &cmd); err != nil {
			code, why = closePolicy, "not a command"
			break
		}
		if !h.execute(c, cmd) {
			code, why = closePolicy, "unknown command"
			break
		}
	}
	h.mu.Lock()
	c.end(code, why)
	h.mu.Unlock()
}

func (h *Hub) refuse(c *client, page, why string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c.sendControl(control{T: "error", Topic: page, Text: why})
}

func (h *Hub) execute(c *client, cmd command) bool {
	needs, ok := commands[cmd.Op]
	switch {
	case !ok:
		return false
	case !c.caller.Role.Includes(needs):
		h.refuse(c, cmd.Topic, (&auth.RoleError{Has: c.caller.Role, Needs: needs}).Error())
		return true
	}
	switch cmd.Op {
	case "sub":
		u, err := url.Parse(cmd.Topic)
		if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(cmd.Topic, "/") {
			h.refuse(c, cmd.Topic, "The topic must be the address of a page.")
			return true
		}
		page, err := h.opts.PageURL(cmd.Topic)
		if err != nil {
			h.refuse(c, cmd.Topic, err.Error())
			return true
		}
		if !h.opts.Allowed(c.caller.Role)(http.MethodGet, h.opts.Base+page) {
			h.refuse(c, cmd.Topic, "This page requires another role than yours.")
			return true
		}
		if !h.maySee(c, page) { // a follower of a presentation may be here only for its state
			h.refuse(c, cmd.Topic, errOtherNamespace)
			return true
		}
		h.addViewer(c, page, cmd.N)
	case "unsub":
		if page, err := h.opts.PageURL(cmd.Topic); err == nil { // otherwise nothing is watched
			h.removeViewer(c, page)
		}
	case "pause":
		h.pause(c)
	case "resume":
		h.resume(c)
	case "present":
		h.present(c, cmd)
	case "follow":
		h.followPresentation(c, cmd.Topic)
	case "unfollow":
		h.leave(c)
	}
	return true
}

// write sends frames as they become due until the socket ends, and closes it.
func (h *Hub) write(c *client) {
	defer func() { _ = c.conn.Close() }() // ends the reader too
	for {
		select {
		case <-c.done:
			h.mu.Lock()
			code, text := c.code, c.text
			h.mu.Unlock()
			bye := websocket.FormatCloseMessage(code, text)
			_ = c.conn.WriteControl(websocket.CloseMessage, bye, time.Now().Add(time.Second)) //nolint:errcheck // the client may be gone or stuck
			return
		case <-c.wake:
		}
		if err := h.drain(c); err != nil {
			h.opts.Logger.Debug("a live page was cut off", "address", c.address, "err", err)
			h.mu.Lock()
			c.end(closeTryAgain, "too slow")
			h.mu.Unlock()
		}
	}
}

// drain writes frames until none is due. It returns an error if writing a frame takes longer than
// StallTimeout.
func (h *Hub) drain(c *client) error {
	for {
		ms, pinged, err := h.nextFrames(c)
		if err != nil || len(ms) == 0 {
			return err
		}
		for _, m := range ms {
			if err := c.conn.SetWriteDeadline(time.Now().Add(h.opts.StallTimeout)); err != nil {
				return err
			}
			if err := c.conn.WritePreparedMessage(m); err != nil {
				return err
			}
		}
		if pinged {
			if err := c.conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(h.opts.StallTimeout)); err != nil {
				return err
			}
		}
	}
}

// nextFrames takes the frames that are due next: answers, then the heartbeat, then the latest alert,
// then the state of a presentation, then each page in turn. A heartbeat is followed by a ping,
// which the browser answers without its script.
func (h *Hub) nextFrames(c *client) (ms []*websocket.PreparedMessage, ping bool, err error) {
	h.mu.Lock()
	if c.ended() {
		h.mu.Unlock()
		return nil, false, nil
	}
	if controls := c.controls; len(controls) > 0 {
		c.controls = nil
		h.mu.Unlock()
		for _, control := range controls {
			m, err := prepare(control)
			if err != nil {
				return nil, false, err
			}
			ms = append(ms, m)
		}
		return ms, false, nil
	}
	if c.ping != nil {
		ms, c.ping = append(ms, c.ping), nil
		h.mu.Unlock()
		return ms, true, nil
	}
	if c.alert != nil {
		ms, c.alert = append(ms, c.alert), nil
		h.mu.Unlock()
		return ms, false, nil
	}
	if participant := c.participant; c.presentationDue {
		c.presentationDue = false
		h.mu.Unlock()
		if participant == nil {
			return h.nextFrames(c) // the client left the presentation in the meantime
		}
		m, err := prepare(control{T: "talk", Presentation: new(h.visibleState(c, participant.State()))})
		return []*websocket.PreparedMessage{m}, false, err
	}
	for len(c.queue) > 0 {
		s := c.queue[0]
		c.queue = c.queue[1:]
		due, frames, n, next := s.due, s.frames, s.n, s.page.snapshot
		s.due, s.frames = nothingDue, nil
		if due == nothingDue {
			continue
		}
		s.n = next.n
		h.mu.Unlock()
		if due == changesDue {
			return frames, false, nil
		}
		if gone := h.departures.since(n); n > 0 && gone != nil {
			ms, err = next.since(s.page.id.url, gone)
		} else {
			ms, err = next.messages(s.page.id.url)
		}
		return ms, false, err
	}
	h.mu.Unlock()
	return nil, false, nil
}

// SameHost reports whether a request may open a socket: a browser's Origin must have the
// request's host. A request without an Origin is not a browser's.
func SameHost(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && strings.EqualFold(u.Host, r.Host)
}
