// Package live keeps open pages up to date. A browser opens one WebSocket and names the page
// it shows. The hub follows the broker's log, renders again each page that an event may have
// changed, and sends the differences from the previous rendering.
//
// The viewers of one address share its rendering and its frames, if
// they have the same language, role and Safe mode, and see the same namespaces. Rendering
// happens outside the broker's loop, at most five times a second for a page, and not at all
// while no browser watches. Clocks are rendered standing still and run in the browser, so the
// passing of time needs no frame.
//
// Nothing waits for a browser. Changes that it could not take yet are not queued but replaced
// by one snapshot, and a browser that reads nothing for ten seconds is cut off.
//
// Every frame is absolute: it contains the new state, never a difference from an older one, so a
// frame that arrives twice or after a gap does no harm. A ticker's lines are sent as an ordinary
// list; there is no frame of single events.
package live

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"mayfly/engine"
	"mayfly/views/view"
	"mayfly/web/auth"
	"mayfly/web/presentation"
)

// Greeting is the broker's state that a browser gets when it connects.
type Greeting struct {
	Build string
	Epoch uint64     // changes when the broker was reopened; event numbers may restart
	N     uint64     // the latest event
	Now   time.Time  // the broker's clock
	Clock ClockState // how the clock runs; zero for a real one
	Alert uint64     // the number of the latest alert; zero if there is none
}

// A ClockState is how the broker's clock runs if it is a manual one. The zero ClockState is that of a real
// clock.
type ClockState struct {
	Manual bool      // it is not a real clock
	Rate   int       // seconds of it in a second, if Manual; zero if it is stopped
	Until  time.Time // the time at which it stops by itself; zero if there is none
}

func (p ClockState) rate() int {
	if !p.Manual {
		return 1
	}
	return p.Rate
}

// A Refresher is a page that changes with time in a way that the browser cannot render itself,
// such as a chart of future expiries. It is rendered again after each Refresh; zero means only
// after events.
type Refresher interface {
	Refresh() time.Duration
}

// Options are the sources of pages and events, and the limits. Open, Follow and Greeting are
// required; every other zero value is a sensible default.
type Options struct {
	// Open builds the page at url, an address without the base path. The page contains every
	// event up to n. It is called by several goroutines.
	Open func(ctx context.Context, url string) (page view.Page, n uint64, err error)
	// Follow waits for events after the number `after` and returns them in order, and how many events
	// after that number are lost. It may store the events in `into`.
	Follow func(ctx context.Context, after uint64, into []engine.Event) (events []engine.Event, lost uint64, err error)
	// Greeting must not block.
	Greeting func() Greeting
	// PageURL returns the canonical address of the page at url, by which frames name it, or an
	// error for the browser if that cannot be the address of a page. It must not block. Nil means
	// that every address is canonical.
	PageURL func(url string) (string, error)

	// Allowed reports what a role may open, by method and address: a browser cannot watch pages
	// that it may not open, and the pages that it watches offer only what its role may do. Nil
	// means everything.
	Allowed func(auth.Role) func(method, href string) bool

	// SafeMode returns the Safe mode of a socket's browser. Nil means that it is off for all.
	SafeMode func(*http.Request) view.SafeMode

	// Presentations has the presentations that browsers lead and follow. Nil means none.
	Presentations *presentation.Registry
	// Followable returns the canonical address of a page that a presenter can lead others to, or an
	// error for other pages, such as forms. It must not block. Nil means that every address is
	// canonical.
	Followable func(url string) (string, error)
	// HomeURL is the address of the first page of the hub's namespace. Clients that may not see that
	// page only get the state of presentations. Empty means that every client may see it.
	HomeURL string
	// SceneVisible reports whether a visitor who is limited to another namespace may view the named
	// namespace of a scene. Nil means never.
	SceneVisible func(caller auth.Caller, name string) bool
	// PresentingDenied reports whether a browser may not present. Nil means that all may.
	PresentingDenied func(*http.Request) bool

	Base              string        // the path that the dashboard is served under; empty means the root
	MaxSockets        int           // zero means 500; negative means that every socket is refused
	MaxPerAddress     int           // sockets of one address; zero means no limit, because a team may share an address
	MaxPagesPerSocket int           // zero means 64
	MaxPages          int           // different pages of all sockets; zero means 4096
	Interval          time.Duration // between two renderings of a page; zero means 200 ms
	Heartbeat         time.Duration // between two heartbeats; zero means 15 s
	StallTimeout      time.Duration // without progress before a socket is cut; zero means 10 s
	Logger            *slog.Logger  // zero means that nothing is logged
}

func (o Options) withDefaults() Options {
	o.MaxSockets = cmp.Or(o.MaxSockets, 500)
	o.MaxPagesPerSocket = cmp.Or(o.MaxPagesPerSocket, 64)
	o.MaxPages = cmp.Or(o.MaxPages, 4096)
	o.Interval = cmp.Or(o.Interval, 200*time.Millisecond)
	if o.PageURL == nil {
		o.PageURL = func(url string) (string, error) { return url, nil }
	}
	if o.Allowed == nil {
		o.Allowed = func(auth.Role) func(method, href string) bool {
			return func(string, string) bool { return true }
		}
	}
	if o.SafeMode == nil {
		o.SafeMode = func(*http.Request) view.SafeMode { return view.SafeModeOff }
	}
	if o.Followable == nil {
		o.Followable = func(url string) (string, error) { return url, nil }
	}
	if o.SceneVisible == nil {
		o.SceneVisible = func(auth.Caller, string) bool { return false }
	}
	if o.PresentingDenied == nil {
		o.PresentingDenied = func(*http.Request) bool { return false }
	}
	o.Heartbeat = cmp.Or(o.Heartbeat, 15*time.Second)
	o.StallTimeout = cmp.Or(o.StallTimeout, 10*time.Second)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return o
}

// A Hub serves sockets until it is closed. Its methods are safe for concurrent use.
type Hub struct {
	opts       Options
	departures departureLog
	wakeRender chan struct{} // holds one token while a page is dirty
	stop       context.CancelFunc
	done       <-chan struct{} // closed by stop
	wg         sync.WaitGroup
	epoch      uint64 // owned by follow

	// mu guards the fields below, and the fields of pages, clients and viewers that say so. No
	// goroutine blocks while it holds mu.
	mu        sync.Mutex
	closed    bool
	clients   map[*client]struct{}
	addresses map[string]int // sockets by remote address
	pages     map[livePageID]*livePage
	watched   map[string]map[*livePage]struct{} // by path; "" for the pages that watch everything
}

// Open starts a hub. Close ends it.
func Open(opts Options) *Hub {
	ctx, stop := context.WithCancel(context.Background())
	h := &Hub{
		opts:       opts.withDefaults(),
		wakeRender: make(chan struct{}, 1),
		stop:       stop,
		done:       ctx.Done(),
		clients:    map[*client]struct{}{},
		addresses:  map[string]int{},
		pages:      map[livePageID]*livePage{},
		watched:    map[string]map[*livePage]struct{}{},
	}
	hello := h.opts.Greeting()
	h.epoch = hello.Epoch
	h.departures.reset(hello.N)
	h.wg.Go(func() { h.follow(ctx, hello.N) })
	h.wg.Go(func() { h.renderDirty(ctx) })
	h.wg.Go(func() { h.heartbeat(ctx) })
	return h
}

// Close closes every socket with the reason that the server is shutting down, and waits for the
// hub's goroutines until ctx ends.
func (h *Hub) Close(ctx context.Context) error {
	h.mu.Lock()
	h.closed = true
	for c := range h.clients {
		c.end(closeGoingAway, "the server is shutting down")
	}
	h.mu.Unlock()
	h.stop()
	ended := make(chan struct{})
	go func() { h.wg.Wait(); close(ended) }() // ends with the last goroutine, at the latest after StallTimeout
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Disconnect closes every socket without a close frame, as a failing network does.
func (h *Hub) Disconnect() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.clients {
		c.cut()
	}
}

// follow reads the log and marks the pages that its events may have changed.
func (h *Hub) follow(ctx context.Context, after uint64) {
	var events []engine.Event
	for ctx.Err() == nil {
		clear(events) // they may refer to large messages
		var lost uint64
		var err error
		events, lost, err = h.opts.Follow(ctx, after, events)
		if err != nil {
			if ctx.Err() != nil {
				return
			}
			h.opts.Logger.Warn("live pages cannot follow events; retrying", "err", err)
			select {
			case <-ctx.Done():
				return
			case <-time.After(time.Second):
			}
		}
		if epoch := h.opts.Greeting().Epoch; epoch != h.epoch {
			h.epoch, after = epoch, 0
			h.departures.reset(0)
			h.reset()
			continue // the events, if any, may be of the former epoch
		}
		if lost > 0 {
			h.markAll()
		}
		if len(events) > 0 {
			after = events[len(events)-1].N
			h.departures.note(events)
			h.markEvents(events)
			h.clockChanged(events)
		}
	}
}

// clockChanged sends browsers the time of a clock that was turned, and marks every page, because
// future times have changed.
func (h *Hub) clockChanged(events []engine.Event) {
	for _, e := range events {
		switch e.Kind {
		case engine.EventClockTurned:
			h.sendClock()
		case engine.EventScenePlayed:
			h.markAll()
		}
	}
}

func (h *Hub) sendClock() {
	hello := h.opts.Greeting()
	m, err := prepare(hello.clock("clock"))
	if err != nil {
		h.opts.Logger.Error("the clock cannot be encoded", "err", err)
		return
	}
	h.mu.Lock()
	for c := range h.clients {
		c.ping = m
		c.wakeWriter()
	}
	h.mu.Unlock()
	h.markAll()
}

// clock returns a frame of type t with the broker's time and how its clock runs.
func (hello Greeting) clock(t string) control {
	c := control{T: t, Now: formatTime(hello.Now), N: hello.N, Rate: new(hello.Clock.rate())}
	if !hello.Clock.Until.IsZero() {
		c.Until = formatTime(hello.Clock.Until)
	}
	return c
}

// markEvents marks as dirty the pages that watch where events happened: the entity, the topic of a
// subscription, and the destination of a message.
func (h *Hub) markEvents(events []engine.Event) {
	touched := map[string]struct{}{"": {}}
	touch := func(p engine.Path) {
		p = p.Entity()
		if topic, _, ok := p.Subscription(); ok {
			touched[strings.ToLower(topic)] = struct{}{}
		}
		touched[p.Fold()] = struct{}{}
	}
	last := engine.Path("")
	for _, e := range events {
		if e.Path != last { // consecutive events usually are of one queue
			touch(e.Path)
			last = e.Path
		}
		if e.To != "" {
			touch(e.To)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for p := range touched {
		for t := range h.watched[p] {
			h.markDirty(t)
		}
	}
}

func (h *Hub) markAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range h.pages {
		h.markDirty(t)
	}
}

// markDirty schedules t for rendering. The caller holds mu.
func (h *Hub) markDirty(t *livePage) {
	t.dirty = true
	select {
	case h.wakeRender <- struct{}{}:
	default:
	}
}

// Alert sends every browser the number of the latest alert; the browser fetches the alerts that it
// shows. An older number that was not sent yet is replaced.
func (h *Hub) Alert(n uint64) {
	m, err := prepare(control{T: "alert", Alert: n})
	if err != nil {
		h.opts.Logger.Error("an alert cannot be encoded", "err", err)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.clients {
		if !c.presentationOnly {
			c.alert = m
			c.wakeWriter()
		}
	}
}

// RenderAll renders all watched pages again. Call it after a change that causes no event of the broker.
func (h *Hub) RenderAll() { h.markAll() }

// reset makes every browser subscribe again, because event numbers may restart.
func (h *Hub) reset() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.clients {
		c.sendControl(control{T: "reset"})
	}
}

// heartbeat sends the clock at intervals, which shows browsers that the socket is alive.
func (h *Hub) heartbeat(ctx context.Context) {
	every := time.NewTicker(h.opts.Heartbeat)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		hello := h.opts.Greeting()
		m, err := prepare(hello.clock("ping"))
		if err != nil {
			h.opts.Logger.Error("a heartbeat cannot be encoded", "err", err)
			return
		}
		h.mu.Lock()
		for c := range h.clients {
			c.ping = m
			c.wakeWriter()
		}
		h.mu.Unlock()
	}
}
