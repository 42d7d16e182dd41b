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
	"mayfly/web/identity"
	"mayfly/web/talk"
)

// notYours is why a page is not watched, or no longer.
const notYours = "This page is of another namespace than yours."

// Why a socket ends, by the numbers of RFC 6455.
const (
	closeGoingAway = websocket.CloseGoingAway
	closePolicy    = websocket.ClosePolicyViolation
	closeTryAgain  = websocket.CloseTryAgainLater
)

const (
	maxCommand  = 4 << 10 // bytes of a command from a browser
	maxControls = 128     // answers waiting for a browser that goes on asking
)

// A client is one socket. Reading happens in the handler's goroutine, writing
// in one of its own.
type client struct {
	conn    *websocket.Conn
	address string
	lang    string
	safety  view.Safety
	who     identity.Who  // that has opened it
	mute    bool          // it may not present
	apart   bool          // it may not see the hub's own, and is here for a talk
	speaks  string        // the id of the talk that it presents; the reader's own
	wake    chan struct{} // holds one token while there is something to write
	gone    chan struct{} // closed by end

	// Guarded by Hub.mu.
	subs     map[string]*subscription // by URL
	controls []control
	ping     *websocket.PreparedMessage
	alert    *websocket.PreparedMessage // the latest that it has not been told of
	seat     *talk.Seat                 // of the talk that it presents or follows; the reader alone changes it
	talk     bool                       // it is to be told how that is
	line     []*subscription            // those with something due, the longest waiting first
	paused   bool
	code     int // why it ends; zero while it does not
	text     string
}

// A command is what a browser asks for.
type command struct {
	Op    string `json:"op"`
	Topic string `json:"topic"`
	N     uint64 `json:"n"`

	// Of op present:
	Name   string `json:"name"`   // of who presents
	Page   string `json:"page"`   // where they are
	Beside string `json:"beside"` // what is open beside that
}

// Handler serves the socket. It answers 503 when there are too many, upon
// which the browser polls the page instead.
func (h *Hub) Handler() http.Handler { return http.HandlerFunc(h.serve) }

func (h *Hub) serve(w http.ResponseWriter, r *http.Request) {
	address, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		address = r.RemoteAddr
	}
	if why := h.admit(address); why != "" {
		w.Header().Set("Retry-After", "5")
		http.Error(w, why, http.StatusServiceUnavailable)
		return
	}
	defer h.release(address)
	upgrader := websocket.Upgrader{CheckOrigin: SameHost, HandshakeTimeout: h.opts.Patience}
	conn, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return // the upgrader has answered
	}
	who := identity.Asking(r)
	c := &client{
		conn: conn, address: address, who: who,
		lang:   locale.Lang(locale.With(r.Context(), tongue(r))),
		safety: h.opts.Safety(r), mute: h.opts.Mute(r), wake: make(chan struct{}, 1), gone: make(chan struct{}),
		subs: map[string]*subscription{},
	}
	c.apart = h.opts.Home != "" && !h.shows(c, h.opts.Home)
	if !h.add(c) {
		_ = conn.Close() // the hub closed meanwhile; there is nothing to say
		return
	}
	written := make(chan struct{})
	go func() { defer close(written); h.write(c) }() // waited for below
	go h.expel(c, who.Over)                          // ends with c
	h.read(c)
	h.rise(c)
	<-written
	h.remove(c)
}

// expel ends a socket when what its opener was known by is no longer good.
func (h *Hub) expel(c *client, over <-chan struct{}) {
	select {
	case <-over:
		h.mu.Lock()
		defer h.mu.Unlock()
		c.end(closePolicy, "signed out")
	case <-c.gone:
	}
}

// Commands are what a socket can be asked to do, with the role that it takes.
func Commands() map[string]identity.Role {
	return map[string]identity.Role{
		"sub": identity.Viewer, "unsub": identity.Viewer, "pause": identity.Viewer, "resume": identity.Viewer,
		"follow": identity.Viewer, "unfollow": identity.Viewer, "present": identity.Operator,
	}
}

// tongue is the language of the page that opens the socket, as it says: another tab
// may have chosen one since.
func tongue(r *http.Request) string {
	if tag := r.URL.Query().Get("lang"); locale.Known(tag) {
		return tag
	}
	return locale.Asked(r)
}

// admit reserves a place for a socket, or says why there is none. A place
// keeps Close waiting.
func (h *Hub) admit(address string) (why string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	sockets := 0
	for _, n := range h.addresses {
		sockets += n
	}
	switch {
	case h.closed:
		return "the server stops"
	case h.opts.MaxSockets < 0:
		return "this server has no live pages"
	case sockets >= h.opts.MaxSockets:
		return fmt.Sprintf("there are %d live pages already", sockets)
	case h.opts.MaxPerAddress > 0 && h.addresses[address] >= h.opts.MaxPerAddress:
		return fmt.Sprintf("there are %d live pages at this address already", h.addresses[address])
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
	hello := h.opts.Hello()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return false
	}
	h.clients[c] = struct{}{}
	m := hello.clock("hello")
	m.Proto, m.Build, m.Epoch = protocol, hello.Build, hello.Epoch
	if !c.apart {
		m.Alert = hello.Alert
	}
	c.tell(m)
	return true
}

func (h *Hub) remove(c *client) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.clients, c)
	for _, s := range c.subs {
		h.drop(s)
	}
}

// end has the socket closed with a word on why. The caller holds Hub.mu, or is
// the first to know of c.
func (c *client) end(code int, text string) {
	if c.ended() {
		return
	}
	c.code, c.text = code, text
	close(c.gone)
	// A writer that is stuck gets a moment for the rest of its frame. The
	// deadline is the connection's own, which may be set from here.
	_ = c.conn.NetConn().SetWriteDeadline(time.Now().Add(time.Second)) //nolint:errcheck // it fails on a closed one only
}

func (c *client) ended() bool { return c.code != 0 }

// cut ends the socket without a word. The caller holds Hub.mu.
func (c *client) cut() {
	_ = c.conn.NetConn().Close() // what we want is that it is closed
}

// tell has a control frame sent. The caller holds Hub.mu.
func (c *client) tell(m control) {
	if len(c.controls) == maxControls {
		c.end(closePolicy, "too many commands")
		return
	}
	c.controls = append(c.controls, m)
	c.nudge()
}

// enqueue puts s in line. The caller holds Hub.mu, and nudges c then.
func (c *client) enqueue(s *subscription) {
	if !slices.Contains(c.line, s) {
		c.line = append(c.line, s)
	}
}

func (c *client) nudge() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// read carries out the browser's commands until the socket ends. A browser
// answers every heartbeat; one that has not for long reads nothing either.
func (h *Hub) read(c *client) {
	silence := h.opts.Heartbeat + h.opts.Patience
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
		if !h.do(c, cmd) {
			code, why = closePolicy, "unknown command"
			break
		}
	}
	h.mu.Lock()
	c.end(code, why)
	h.mu.Unlock()
}

func (h *Hub) refuse(c *client, topic, why string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c.tell(control{T: "error", Topic: topic, Text: why})
}

func (h *Hub) do(c *client, cmd command) bool {
	needs, ok := Commands()[cmd.Op]
	switch {
	case !ok:
		return false
	case !c.who.Role.May(needs):
		h.refuse(c, cmd.Topic, (&identity.RoleError{Has: c.who.Role, Needs: needs}).Error())
		return true
	}
	switch cmd.Op {
	case "sub":
		u, err := url.Parse(cmd.Topic)
		if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(cmd.Topic, "/") {
			h.refuse(c, cmd.Topic, "That is not the address of a page.")
			return true
		}
		topic, err := h.opts.Topic(cmd.Topic)
		if err != nil {
			h.refuse(c, cmd.Topic, err.Error())
			return true
		}
		if !h.opts.May(c.who.Role)(http.MethodGet, h.opts.Base+topic) {
			h.refuse(c, cmd.Topic, "This page is for another role than yours.")
			return true
		}
		if !h.shows(c, topic) { // who follows is here to be told of the talk alone
			h.refuse(c, cmd.Topic, notYours)
			return true
		}
		h.subscribe(c, topic, cmd.N)
	case "unsub":
		if topic, err := h.opts.Topic(cmd.Topic); err == nil { // nothing is watched else
			h.unsubscribe(c, topic)
		}
	case "pause":
		h.pause(c)
	case "resume":
		h.resume(c)
	case "present":
		h.present(c, cmd)
	case "follow":
		h.listen(c, cmd.Topic)
	case "unfollow":
		h.rise(c)
	}
	return true
}

// write sends what is due until the socket ends, and closes it.
func (h *Hub) write(c *client) {
	defer func() { _ = c.conn.Close() }() // ends the reader too
	for {
		select {
		case <-c.gone:
			h.mu.Lock()
			code, text := c.code, c.text
			h.mu.Unlock()
			bye := websocket.FormatCloseMessage(code, text)
			_ = c.conn.WriteControl(websocket.CloseMessage, bye, time.Now().Add(time.Second)) //nolint:errcheck // the other side may be gone or stuck
			return
		case <-c.wake:
		}
		if err := h.drain(c); err != nil {
			h.opts.Logger.Debug("a live page was cut off", "address", c.address, "error", err)
			h.mu.Lock()
			c.end(closeTryAgain, "too slow")
			h.mu.Unlock()
		}
	}
}

// drain writes until nothing is due. No frame waits longer than Patience.
func (h *Hub) drain(c *client) error {
	for {
		ms, pinged, err := h.pick(c)
		if err != nil || len(ms) == 0 {
			return err
		}
		for _, m := range ms {
			if err := c.conn.SetWriteDeadline(time.Now().Add(h.opts.Patience)); err != nil {
				return err
			}
			if err := c.conn.WritePreparedMessage(m); err != nil {
				return err
			}
		}
		if pinged {
			if err := c.conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(h.opts.Patience)); err != nil {
				return err
			}
		}
	}
}

// pick takes what is due next: answers, then the heartbeat, then that there are
// alerts, then how a talk is, then each page in its turn. After a heartbeat's frame a ping is due, which the browser answers
// without its script.
func (h *Hub) pick(c *client) (ms []*websocket.PreparedMessage, ping bool, err error) {
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
	if seat := c.seat; c.talk {
		c.talk = false
		h.mu.Unlock()
		if seat == nil {
			return h.pick(c) // it was given back meanwhile
		}
		m, err := prepare(control{T: "talk", Talk: new(h.sees(c, seat.State()))})
		return []*websocket.PreparedMessage{m}, false, err
	}
	for len(c.line) > 0 {
		s := c.line[0]
		c.line = c.line[1:]
		due, frames, n, next := s.due, s.frames, s.n, s.topic.snapshot
		s.due, s.frames = nothing, nil
		if due == nothing {
			continue
		}
		s.n = next.n
		h.mu.Unlock()
		if due == changes {
			return frames, false, nil
		}
		if gone := h.left.since(n); n > 0 && gone != nil {
			ms, err = next.since(s.topic.id.url, gone)
		} else {
			ms, err = next.messages(s.topic.id.url)
		}
		return ms, false, err
	}
	h.mu.Unlock()
	return nil, false, nil
}

// SameHost tells whether a request may open a socket: browsers say where the
// page that asks comes from, and it must come from here. A request without an
// Origin is no browser's.
func SameHost(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && strings.EqualFold(u.Host, r.Host)
}
