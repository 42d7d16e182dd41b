package live

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/gorilla/websocket"

	"mayfly/views/locale"
	"mayfly/views/view"
	"mayfly/web/identity"
)

// topicID names a topic: what its subscribers share.
type topicID struct {
	url, lang string
	safety    view.Safety
	role      identity.Role
	within    string // the only namespace that is seen; empty: all
}

// A topic is a page somebody watches.
type topic struct {
	id topicID

	// Guarded by Hub.mu.
	subs     map[*subscription]struct{}
	watches  []string
	dirty    bool
	running  bool        // being rendered
	started  uint64      // renderings begun
	rested   time.Time   // before which no other begins
	clock    *time.Timer // of a Refresher; nil for others
	closed   bool        // nobody watches any longer, or the page cannot be opened
	snapshot *snapshot   // the latest; nil before the first rendering
}

// A subscription is one socket's interest in a topic. Its fields are guarded by
// Hub.mu.
type subscription struct {
	client *client
	topic  *topic
	n      uint64 // the event number up to which the browser knows the page

	// awaits is the rendering from which the browser gets its snapshot; zero
	// when it has it. A rendering begun earlier may be older than the page.
	awaits uint64
	due    due
	frames []*websocket.PreparedMessage // while due is changes
}

// due is what a subscription has waiting for its socket.
type due uint8

const (
	nothing due = iota
	changes     // frames
	whole       // the topic's snapshot, as it is when the socket takes it
)

// subscribe gives c the page at url: first a snapshot no older than event n,
// then its changes. Doing so again asks for another snapshot.
func (h *Hub) subscribe(c *client, url string, n uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c.ended() {
		return
	}
	s := c.subs[url]
	if s == nil {
		if len(c.subs) >= h.opts.MaxSubscriptions {
			c.tell(control{T: "error", Topic: url, Text: fmt.Sprintf("A socket watches %d pages at most.", h.opts.MaxSubscriptions)})
			return
		}
		id := topicID{url, c.lang, c.safety, c.who.Role, c.who.Within}
		t := h.topics[id]
		if t == nil && len(h.topics) >= h.opts.MaxTopics {
			c.tell(control{T: "error", Topic: url, Text: fmt.Sprintf("%d pages are kept up to date already.", len(h.topics))})
			return
		}
		if t == nil {
			t = &topic{id: id, subs: map[*subscription]struct{}{}}
			h.topics[t.id] = t
		}
		s = &subscription{client: c, topic: t}
		c.subs[url], t.subs[s] = s, struct{}{}
	}
	s.n = n
	h.restart(s)
}

// restart drops what is due to s and has it wait for a new snapshot. The
// caller holds mu.
func (h *Hub) restart(s *subscription) {
	s.due, s.frames = nothing, nil
	s.awaits = s.topic.started + 1
	h.dirty(s.topic)
}

func (h *Hub) unsubscribe(c *client, url string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s := c.subs[url]; s != nil {
		h.drop(s)
	}
}

// drop ends s, and its topic with the last subscription. The caller holds mu.
func (h *Hub) drop(s *subscription) {
	delete(s.client.subs, s.topic.id.url)
	delete(s.topic.subs, s)
	s.due, s.frames = nothing, nil
	if len(s.topic.subs) == 0 {
		h.forget(s.topic)
	}
}

// forget ends t. The caller holds mu.
func (h *Hub) forget(t *topic) {
	t.closed = true
	if t.clock != nil {
		t.clock.Stop()
	}
	h.watch(t, nil)
	delete(h.topics, t.id)
}

// watch sets the paths whose events concern t. The caller holds mu.
func (h *Hub) watch(t *topic, paths []string) {
	for _, p := range t.watches {
		delete(h.watched[p], t)
		if len(h.watched[p]) == 0 {
			delete(h.watched, p)
		}
	}
	t.watches = paths
	for _, p := range paths {
		if h.watched[p] == nil {
			h.watched[p] = map[*topic]struct{}{}
		}
		h.watched[p][t] = struct{}{}
	}
}

// pause stops frames to c; resume starts with a snapshot of each page.
func (h *Hub) pause(c *client) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c.paused = true
	for _, s := range c.subs {
		s.due, s.frames, s.awaits = nothing, nil, 0
	}
}

func (h *Hub) resume(c *client) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c.paused = false
	for _, s := range c.subs {
		h.restart(s)
	}
}

// render renders dirty topics, a few at a time, until ctx ends. The first event after a
// quiet time is seen at once; of a stream of them each topic is rendered five times a
// second.
func (h *Hub) render(ctx context.Context) {
	const gather = 20 * time.Millisecond // one step of the broker often has several events
	const together = 4
	places := make(chan struct{}, together)
	next := time.Now().Add(gather) // when something is due; zero: nobody knows of anything
	wait := time.NewTimer(gather)
	defer wait.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.stir:
			if soon := time.Now().Add(gather); next.IsZero() || soon.Before(next) {
				next = soon
				wait.Reset(gather)
			}
			continue
		case <-wait.C:
		}
		var due []*topic
		due, next = h.begin(time.Now())
		for _, t := range due {
			select {
			case <-ctx.Done():
				return
			case places <- struct{}{}: // comes free within Patience
			}
			h.wg.Go(func() {
				h.refresh(ctx, t)
				h.finish(t)
				<-places
			})
		}
		if !next.IsZero() {
			wait.Reset(time.Until(next))
		}
	}
}

// begin takes the dirty topics that somebody looks at and that have rested since the
// last time. Those whose watchers all pause stay dirty, and so do those that are being
// rendered still. It returns too when the first of the others will have rested; zero:
// there are none. Topics rest for unlike times, so that hundreds of pages do not all
// come at the same instant, in the way of whoever sends.
func (h *Hub) begin(now time.Time) (due []*topic, rested time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range h.topics {
		switch {
		case !t.dirty || t.running || !t.looked():
		case now.Before(t.rested):
			if rested.IsZero() || t.rested.Before(rested) {
				rested = t.rested
			}
		default:
			t.dirty, t.running = false, true
			t.started++
			t.rested = now.Add(h.opts.Interval + rand.N(h.opts.Interval/8)) //nolint:gosec // nobody is to be kept from guessing it
			due = append(due, t)
		}
	}
	return due, rested
}

func (h *Hub) finish(t *topic) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t.running = false
	if t.dirty {
		h.dirty(t)
	}
}

func (t *topic) looked() bool {
	for s := range t.subs {
		if !s.client.paused {
			return true
		}
	}
	return false
}

// refresh renders t and hands out what differs. Only one refresh of a topic
// runs at a time.
func (h *Hub) refresh(ctx context.Context, t *topic) {
	h.shut(t)
	rendering, cancel := context.WithTimeout(ctx, h.opts.Patience)
	defer cancel()
	page, next, err := h.take(rendering, t.id)
	if err != nil {
		if ctx.Err() == nil {
			h.fail(t, err)
		}
		return
	}
	h.mu.Lock()
	before, started := t.snapshot, t.started // only refresh writes snapshot
	h.mu.Unlock()
	var frames []*websocket.PreparedMessage
	if before != nil {
		if next.lost(before) {
			h.left.reach(ctx, next.n)
		}
		if frames, err = next.changes(t.id.url, before, h.left.reason); err != nil {
			h.fail(t, err)
			return
		}
	}
	h.wake(ctx, h.hand(t, page, next, started, frames))
}

// shut ends the subscriptions of those who may see t no longer: they were led to it, and
// the talk is over.
func (h *Hub) shut(t *topic) {
	if t.id.within == "" {
		return
	}
	h.mu.Lock()
	subs := slices.Collect(maps.Keys(t.subs))
	h.mu.Unlock()
	for _, s := range subs {
		if h.shows(s.client, t.id.url) {
			continue
		}
		h.mu.Lock()
		if _, still := t.subs[s]; still {
			s.client.tell(control{T: "error", Topic: t.id.url, Text: notYours})
			h.drop(s)
		}
		h.mu.Unlock()
	}
}

// hand gives the subscribers of t a rendering, and returns whose sockets have something
// to write now.
func (h *Hub) hand(t *topic, page view.Page, next *snapshot, rendering uint64, frames []*websocket.PreparedMessage) (due []*client) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t.closed {
		return nil
	}
	t.snapshot = next
	paths := page.Watches()
	if paths == nil {
		paths = []string{""}
	}
	h.watch(t, paths)
	if r, ok := page.(Refresher); ok && r.Refresh() > 0 {
		if rate := time.Duration(h.opts.Hello().Pace.rate()); rate > 0 {
			h.after(t, max(r.Refresh()/rate, h.opts.Interval))
		}
	}
	for s := range t.subs {
		if h.offer(s, rendering, frames) {
			due = append(due, s.client)
		}
	}
	return due
}

// wake has sockets write, a few at a time: of hundreds that are ready at once each has
// its turn before what senders have sent is so much as looked at.
func (h *Hub) wake(ctx context.Context, all []*client) {
	together := max(8, len(all)/16)
	for i, c := range all {
		if i > 0 && i%together == 0 {
			h.sleep(ctx, time.Millisecond)
		}
		c.nudge()
	}
}

func (h *Hub) sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// after makes t dirty again when d is over. The caller holds mu.
func (h *Hub) after(t *topic, d time.Duration) {
	if t.clock != nil {
		t.clock.Reset(d)
		return
	}
	t.clock = time.AfterFunc(d, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if !t.closed {
			h.dirty(t)
		}
	})
}

// offer gives s what the rendering with this number brought, and tells whether its
// socket has something to write now. What that has not taken yet is replaced by a
// snapshot. The caller holds mu.
func (h *Hub) offer(s *subscription, rendering uint64, frames []*websocket.PreparedMessage) bool {
	switch {
	case s.client.paused || s.awaits > rendering || s.due == whole:
		return false
	case s.awaits != 0:
		s.awaits, s.due = 0, whole
	case len(frames) == 0:
		return false
	case s.due == changes:
		s.due, s.frames = whole, nil
	default:
		s.due, s.frames = changes, frames
	}
	s.client.enqueue(s)
	return true
}

// fail tells the subscribers that the page cannot be shown, and ends the
// topic; a browser may subscribe again.
func (h *Hub) fail(t *topic, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range t.subs {
		s.client.tell(control{T: "error", Topic: t.id.url, Text: err.Error()})
		h.drop(s)
	}
}

// take opens a page and renders its parts. A page that panics is a page that
// fails: it must not end the broker.
func (h *Hub) take(ctx context.Context, id topicID) (page view.Page, next *snapshot, err error) {
	defer func() {
		if r := recover(); r != nil {
			h.opts.Logger.Error("a live page panicked", "page", id.url, "panic", r, "stack", string(debug.Stack()))
			err = fmt.Errorf("render %s: internal error", id.url)
		}
	}()
	ctx = view.WithSafety(locale.With(view.WithBase(view.Still(ctx), h.opts.Base), id.lang), id.safety)
	ctx = view.WithMay(ctx, h.opts.May(id.role))
	ctx = identity.With(ctx, identity.Who{Role: id.role, Within: id.within})
	page, n, err := h.opts.Open(ctx, id.url)
	if err != nil {
		return nil, nil, err
	}
	next = &snapshot{n: n}
	for _, p := range page.Parts() {
		if p.Slot != nil {
			html, err := text(ctx, p.Name, p.Slot)
			if err != nil {
				return nil, nil, err
			}
			next.slots = append(next.slots, slot{p.Name, html})
			continue
		}
		l := list{name: p.Name, rows: make(map[string]string, len(p.Rows))}
		for _, r := range p.Rows {
			if _, twice := l.rows[r.Key]; twice {
				return nil, nil, fmt.Errorf("render %s: key %q is twice in list %q", id.url, r.Key, p.Name)
			}
			if l.rows[r.Key], err = text(ctx, p.Name, r.Content); err != nil {
				return nil, nil, err
			}
			l.order = append(l.order, r.Key)
		}
		next.lists = append(next.lists, l)
	}
	return page, next, nil
}

// text renders a part, and lets others have their turn: a page is many milliseconds of
// work that nobody waits for as whoever sends waits for his answer.
func text(ctx context.Context, name string, c templ.Component) (string, error) {
	runtime.Gosched()
	var b strings.Builder
	if err := c.Render(ctx, &b); err != nil {
		return "", fmt.Errorf("render %q: %w", name, err)
	}
	return b.String(), nil
}
