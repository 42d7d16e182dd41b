// Package live keeps open pages up to date. A browser opens one WebSocket and
// names the page it shows; the hub follows the broker's log, renders again
// what an event can have changed, and sends what differs from the time before.
//
// A page is a topic: the subscribers of one address share its rendering and its
// frames, if they are of one language, one role and one Safe mode, and see the same
// namespaces. Rendering happens beside the broker's loop, at
// most five times a second for a topic, and not at all while nobody watches.
// Clocks are rendered standing still and run in the browser, so the passing of
// time needs no frame.
//
// Nobody waits for a browser. What it could not take yet is not queued up but
// replaced by one snapshot, and one that takes nothing for ten seconds is cut.
//
// Every frame is absolute: it says what is so, never what to add, so one that
// comes twice or after a gap does no harm. Frames with a ticker's lines are
// ordinary lists; there is no frame of single events.
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
	"mayfly/web/identity"
	"mayfly/web/talk"
)

// Hello is what a browser is told about the broker when it connects.
type Hello struct {
	Build string
	Epoch uint64    // changes when the broker was reopened; event numbers may start anew
	N     uint64    // the latest event
	Now   time.Time // the broker's clock
	Pace  Pace      // how that runs; zero: as any clock does
	Alert uint64    // the number of the latest alert; zero: there is none
}

// A Pace is how the broker's clock runs where somebody can turn it. The zero Pace
// is that of any other.
type Pace struct {
	Turned bool      // it is not as any clock's
	Rate   int       // seconds of it in a second, where it is Turned; zero: it stands
	Until  time.Time // where it stops by itself; zero: nowhere
}

func (p Pace) rate() int {
	if !p.Turned {
		return 1
	}
	return p.Rate
}

// A Refresher is a page that changes by the passing of time alone in a way the
// browser cannot see to, such as a chart of what expires when. It is rendered
// again after each Refresh; zero means only after events.
type Refresher interface {
	Refresh() time.Duration
}

// Options say where pages and events come from, and the limits. The three
// functions are needed; every other zero value is a sensible default.
type Options struct {
	// Open builds the page at url, an address without the base path. The page
	// contains every event up to n. It is called by several goroutines.
	Open func(ctx context.Context, url string) (page view.Page, n uint64, err error)
	// Follow waits for events after a number and returns them in order. Lost
	// is how many are gone that should have come first. It may write over into.
	Follow func(ctx context.Context, after uint64, into []engine.Event) (events []engine.Event, lost uint64, err error)
	// Hello must not wait.
	Hello func() Hello
	// Topic is the one address of the page at url, by which frames name it, or
	// an error for the browser if there can be none. It must not wait. Nil: every
	// address is its own.
	Topic func(url string) (string, error)

	// May is what a role may have, by method and address: pages that it may not open it
	// cannot watch, and of others it is sent what it may do there. Nil: everything.
	May func(identity.Role) func(method, href string) bool

	// Safety is that of the browser that a socket is of. Nil: all are unsafe.
	Safety func(*http.Request) view.Safety

	// Hall has the talks that browsers present and follow. Nil: there are none.
	Hall *talk.Hall
	// Shown is the one address of a page that a presenter can lead others to, or an
	// error for what is none, as a form. It must not wait. Nil: every address is its own.
	Shown func(url string) (string, error)
	// Home is the first page of the namespace that is told of; who may not see that hears
	// of talks alone. Empty: nobody is kept from it.
	Home string
	// Stage tells whether a namespace is that of a scene which somebody may see who may see
	// another alone. Nil: none is.
	Stage func(who identity.Who, name string) bool
	// Mute tells whether a browser may not present. Nil: all may.
	Mute func(*http.Request) bool

	Base             string        // the path the dashboard is served under, "" for the root
	MaxSockets       int           // 500; negative: none
	MaxPerAddress    int           // no limit: teams sit behind one address
	MaxSubscriptions int           // 64 for a socket
	MaxTopics        int           // 4096 different ones
	Interval         time.Duration // 200 ms between two renderings of a topic
	Heartbeat        time.Duration // 15 s
	Patience         time.Duration // 10 s without progress before a socket is cut
	Logger           *slog.Logger  // silent
}

func (o Options) withDefaults() Options {
	o.MaxSockets = cmp.Or(o.MaxSockets, 500)
	o.MaxSubscriptions = cmp.Or(o.MaxSubscriptions, 64)
	o.MaxTopics = cmp.Or(o.MaxTopics, 4096)
	o.Interval = cmp.Or(o.Interval, 200*time.Millisecond)
	if o.Topic == nil {
		o.Topic = func(url string) (string, error) { return url, nil }
	}
	if o.May == nil {
		o.May = func(identity.Role) func(method, href string) bool {
			return func(string, string) bool { return true }
		}
	}
	if o.Safety == nil {
		o.Safety = func(*http.Request) view.Safety { return view.Unsafe }
	}
	if o.Shown == nil {
		o.Shown = func(url string) (string, error) { return url, nil }
	}
	if o.Stage == nil {
		o.Stage = func(identity.Who, string) bool { return false }
	}
	if o.Mute == nil {
		o.Mute = func(*http.Request) bool { return false }
	}
	o.Heartbeat = cmp.Or(o.Heartbeat, 15*time.Second)
	o.Patience = cmp.Or(o.Patience, 10*time.Second)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return o
}

// A Hub serves sockets until it is closed. Its methods may be called by
// several goroutines.
type Hub struct {
	opts  Options
	left  departures
	stir  chan struct{} // holds one token while a topic is dirty
	stop  context.CancelFunc
	done  <-chan struct{} // closed by stop
	wg    sync.WaitGroup
	epoch uint64 // owned by follow

	// mu guards all below and the fields of topics, clients and subscriptions
	// that say so. Nothing that waits happens under it.
	mu        sync.Mutex
	closed    bool
	clients   map[*client]struct{}
	addresses map[string]int // sockets by remote address
	topics    map[topicID]*topic
	watched   map[string]map[*topic]struct{} // by path; "" for the topics that watch everything
}

// Open starts a hub. Close ends it.
func Open(opts Options) *Hub {
	ctx, stop := context.WithCancel(context.Background())
	h := &Hub{
		opts:      opts.withDefaults(),
		stir:      make(chan struct{}, 1),
		stop:      stop,
		done:      ctx.Done(),
		clients:   map[*client]struct{}{},
		addresses: map[string]int{},
		topics:    map[topicID]*topic{},
		watched:   map[string]map[*topic]struct{}{},
	}
	hello := h.opts.Hello()
	h.epoch = hello.Epoch
	h.left.reset(hello.N)
	h.wg.Go(func() { h.follow(ctx, hello.N) })
	h.wg.Go(func() { h.render(ctx) })
	h.wg.Go(func() { h.beat(ctx) })
	return h
}

// Close tells every browser that the server goes away, and waits for the
// hub's goroutines until ctx ends.
func (h *Hub) Close(ctx context.Context) error {
	h.mu.Lock()
	h.closed = true
	for c := range h.clients {
		c.end(closeGoingAway, "the server stops")
	}
	h.mu.Unlock()
	h.stop()
	ended := make(chan struct{})
	go func() { h.wg.Wait(); close(ended) }() // ends with the last goroutine, at the latest after Patience
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Cut breaks every socket off without a word, as a failing network does.
func (h *Hub) Cut() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.clients {
		c.cut()
	}
}

// follow reads the log and marks what its events can have changed.
func (h *Hub) follow(ctx context.Context, after uint64) {
	var events []engine.Event
	for ctx.Err() == nil {
		clear(events) // what they tell of may be large
		var lost uint64
		var err error
		events, lost, err = h.opts.Follow(ctx, after, events)
		if err != nil {
			if ctx.Err() != nil {
				return
			}
			h.opts.Logger.Warn("live pages lost the log and will try again", "error", err)
			select {
			case <-ctx.Done():
				return
			case <-time.After(time.Second):
			}
		}
		if epoch := h.opts.Hello().Epoch; epoch != h.epoch {
			h.epoch, after = epoch, 0
			h.left.reset(0)
			h.reset()
			continue // the events, if any, may be of the former epoch
		}
		if lost > 0 {
			h.markAll()
		}
		if len(events) > 0 {
			after = events[len(events)-1].N
			h.left.note(events)
			h.mark(events)
			h.turned(events)
		}
	}
}

// turned tells browsers of a clock that was turned, and has every page rendered
// again: what is to come comes at another time.
func (h *Hub) turned(events []engine.Event) {
	for _, e := range events {
		switch e.Kind {
		case engine.EventClockTurned:
			h.tellClock()
		case engine.EventScenePlayed:
			h.markAll()
		}
	}
}

func (h *Hub) tellClock() {
	hello := h.opts.Hello()
	m, err := prepare(hello.clock("clock"))
	if err != nil {
		h.opts.Logger.Error("a clock cannot be encoded", "error", err)
		return
	}
	h.mu.Lock()
	for c := range h.clients {
		c.ping = m
		c.nudge()
	}
	h.mu.Unlock()
	h.markAll()
}

// clock is a frame that says what time it is.
func (hello Hello) clock(t string) control {
	c := control{T: t, Now: stamp(hello.Now), N: hello.N, Rate: new(hello.Pace.rate())}
	if !hello.Pace.Until.IsZero() {
		c.Until = stamp(hello.Pace.Until)
	}
	return c
}

// mark makes dirty the topics that watch where events happened: the entity,
// the topic it is a subscription of, and where a message went.
func (h *Hub) mark(events []engine.Event) {
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
		if e.Path != last { // runs of events of one queue are the rule
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
			h.dirty(t)
		}
	}
}

func (h *Hub) markAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range h.topics {
		h.dirty(t)
	}
}

// dirty asks for t to be rendered. The caller holds mu.
func (h *Hub) dirty(t *topic) {
	t.dirty = true
	select {
	case h.stir <- struct{}{}:
	default:
	}
}

// Alert tells every browser that there are alerts up to a number: it fetches what
// it shows of them. One that has not heard of the last yet hears of this alone.
func (h *Hub) Alert(n uint64) {
	m, err := prepare(control{T: "alert", Alert: n})
	if err != nil {
		h.opts.Logger.Error("an alert cannot be encoded", "error", err)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.clients {
		if !c.apart {
			c.alert = m
			c.nudge()
		}
	}
}

// Again has all pages that somebody looks at rendered again, because something has
// changed in every one of them that is no event of the broker's.
func (h *Hub) Again() { h.markAll() }

// reset tells every browser to subscribe again, because numbers may start anew.
func (h *Hub) reset() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.clients {
		c.tell(control{T: "reset"})
	}
}

// beat sends the clock every so often, by which browsers know that the socket
// is alive.
func (h *Hub) beat(ctx context.Context) {
	every := time.NewTicker(h.opts.Heartbeat)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		hello := h.opts.Hello()
		m, err := prepare(hello.clock("ping"))
		if err != nil {
			h.opts.Logger.Error("a heartbeat cannot be encoded", "error", err)
			return
		}
		h.mu.Lock()
		for c := range h.clients {
			c.ping = m
			c.nudge()
		}
		h.mu.Unlock()
	}
}
