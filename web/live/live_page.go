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
	"mayfly/web/auth"
)

// livePageID identifies a live page, by the properties that its viewers share.
type livePageID struct {
	url, lang string
	safety    view.SafeMode
	role      auth.Role
	namespace string // the only namespace that its viewers see; empty means all
}

// A livePage is a page that is pushed to the sockets that view it, whose rendering they share.
type livePage struct {
	id livePageID

	// Guarded by Hub.mu.
	viewers   map[*pageViewer]struct{}
	watches   []string
	dirty     bool
	running   bool        // being rendered
	started   uint64      // number of renderings begun
	notBefore time.Time   // no rendering begins before this time
	clock     *time.Timer // of a Refresher; nil for others
	closed    bool        // it has no viewers any more, or the page cannot be opened
	snapshot  *snapshot   // the latest; nil before the first rendering
}

// A pageViewer is one socket that views a live page. Its fields are guarded by Hub.mu.
type pageViewer struct {
	client *client
	page   *livePage
	n      uint64 // the event number up to which the browser has the page

	// rendering is the number of the first rendering that may serve as the browser's snapshot;
	// zero if the browser has it. An earlier rendering may lack events that the browser's page
	// already includes.
	rendering uint64
	due       due
	frames    []*websocket.PreparedMessage // the frames to send if due is changesDue
}

// due is what a viewer's socket has to send next.
type due uint8

const (
	nothingDue  due = iota
	changesDue      // frames
	snapshotDue     // the page's snapshot, as it is when the socket takes it
)

// addViewer makes c a viewer of the page at url: it gets a snapshot no older than event n, then
// changes. Doing it again requests another snapshot.
func (h *Hub) addViewer(c *client, url string, n uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c.ended() {
		return
	}
	s := c.views[url]
	if s == nil {
		if len(c.views) >= h.opts.MaxPagesPerSocket {
			c.sendControl(control{T: "error", Topic: url, Text: fmt.Sprintf("A socket may watch at most %d pages.", h.opts.MaxPagesPerSocket)})
			return
		}
		id := livePageID{url, c.lang, c.safeMode, c.caller.Role, c.caller.Namespace}
		t := h.pages[id]
		if t == nil && len(h.pages) >= h.opts.MaxPages {
			c.sendControl(control{T: "error", Topic: url, Text: fmt.Sprintf("The server is already updating %d pages.", len(h.pages))})
			return
		}
		if t == nil {
			t = &livePage{id: id, viewers: map[*pageViewer]struct{}{}}
			h.pages[t.id] = t
		}
		s = &pageViewer{client: c, page: t}
		c.views[url], t.viewers[s] = s, struct{}{}
	}
	s.n = n
	h.restart(s)
}

// restart drops the frames that are due to s, and makes s wait for a new snapshot. The caller holds
// mu.
func (h *Hub) restart(s *pageViewer) {
	s.due, s.frames = nothingDue, nil
	s.rendering = s.page.started + 1
	h.markDirty(s.page)
}

func (h *Hub) removeViewer(c *client, url string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s := c.views[url]; s != nil {
		h.endView(s)
	}
}

// endView removes the viewer s, and the page if s was its last viewer. The caller holds mu.
func (h *Hub) endView(s *pageViewer) {
	delete(s.client.views, s.page.id.url)
	delete(s.page.viewers, s)
	s.due, s.frames = nothingDue, nil
	if len(s.page.viewers) == 0 {
		h.dropPage(s.page)
	}
}

// dropPage removes the page t, which is no longer rendered. The caller holds mu.
func (h *Hub) dropPage(t *livePage) {
	t.closed = true
	if t.clock != nil {
		t.clock.Stop()
	}
	h.watch(t, nil)
	delete(h.pages, t.id)
}

// watch sets the paths whose events mark t as dirty. The caller holds mu.
func (h *Hub) watch(t *livePage, paths []string) {
	for _, p := range t.watches {
		delete(h.watched[p], t)
		if len(h.watched[p]) == 0 {
			delete(h.watched, p)
		}
	}
	t.watches = paths
	for _, p := range paths {
		if h.watched[p] == nil {
			h.watched[p] = map[*livePage]struct{}{}
		}
		h.watched[p][t] = struct{}{}
	}
}

// pause stops frames to c; resume starts again with a snapshot of each page.
func (h *Hub) pause(c *client) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c.paused = true
	for _, s := range c.views {
		s.due, s.frames, s.rendering = nothingDue, nil, 0
	}
}

func (h *Hub) resume(c *client) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c.paused = false
	for _, s := range c.views {
		h.restart(s)
	}
}

// renderDirty renders dirty pages, a few at a time, until ctx ends. The first event after a quiet
// time is rendered at once; during a stream of events each page is rendered five times a
// second.
func (h *Hub) renderDirty(ctx context.Context) {
	const gather = 20 * time.Millisecond // one step of the broker often has several events
	const together = 4
	running := make(chan struct{}, together)
	next := time.Now().Add(gather) // when something is due; zero if nothing is
	wait := time.NewTimer(gather)
	defer wait.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.wakeRender:
			if soon := time.Now().Add(gather); next.IsZero() || soon.Before(next) {
				next = soon
				wait.Reset(gather)
			}
			continue
		case <-wait.C:
		}
		var due []*livePage
		due, next = h.takeDirty(time.Now())
		for _, t := range due {
			select {
			case <-ctx.Done():
				return
			case running <- struct{}{}: // a slot becomes free within StallTimeout
			}
			h.wg.Go(func() {
				h.renderLivePage(ctx, t)
				h.finish(t)
				<-running
			})
		}
		if !next.IsZero() {
			wait.Reset(time.Until(next))
		}
	}
}

// takeDirty returns the dirty pages that have a viewer who has not paused and whose interval since the
// last rendering has passed, and marks them as running. Pages whose viewers have all paused stay
// dirty, and so do pages that are still being rendered. `rested` is the earliest time at which the
// interval of another page ends, or zero if no page waits. The intervals vary, so that hundreds of
// pages are not all rendered at the same instant, at the expense of senders.
func (h *Hub) takeDirty(now time.Time) (due []*livePage, rested time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range h.pages {
		switch {
		case !t.dirty || t.running || !t.hasViewers():
		case now.Before(t.notBefore):
			if rested.IsZero() || t.notBefore.Before(rested) {
				rested = t.notBefore
			}
		default:
			t.dirty, t.running = false, true
			t.started++
			t.notBefore = now.Add(h.opts.Interval + rand.N(h.opts.Interval/8))
			due = append(due, t)
		}
	}
	return due, rested
}

func (h *Hub) finish(t *livePage) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t.running = false
	if t.dirty {
		h.markDirty(t)
	}
}

func (t *livePage) hasViewers() bool {
	for s := range t.viewers {
		if !s.client.paused {
			return true
		}
	}
	return false
}

// renderLivePage renders t and gives its viewers the differences from the previous rendering. Only one
// rendering of a page runs at a time.
func (h *Hub) renderLivePage(ctx context.Context, t *livePage) {
	h.endForbidden(t)
	rendering, cancel := context.WithTimeout(ctx, h.opts.StallTimeout)
	defer cancel()
	page, next, err := h.renderPage(rendering, t.id)
	if err != nil {
		if ctx.Err() == nil {
			h.fail(t, err)
		}
		return
	}
	h.mu.Lock()
	before, started := t.snapshot, t.started // only renderLivePage writes snapshot
	h.mu.Unlock()
	var frames []*websocket.PreparedMessage
	if before != nil {
		if next.lacksRows(before) {
			h.departures.waitFor(ctx, next.n)
		}
		if frames, err = next.changes(t.id.url, before, h.departures.reason); err != nil {
			h.fail(t, err)
			return
		}
	}
	h.wakeClients(ctx, h.publish(t, page, next, started, frames))
}

// endForbidden ends the views of clients that may no longer see t, because the presentation
// that led them to it has ended.
func (h *Hub) endForbidden(t *livePage) {
	if t.id.namespace == "" {
		return
	}
	h.mu.Lock()
	viewers := slices.Collect(maps.Keys(t.viewers))
	h.mu.Unlock()
	for _, s := range viewers {
		if h.maySee(s.client, t.id.url) {
			continue
		}
		h.mu.Lock()
		if _, still := t.viewers[s]; still {
			s.client.sendControl(control{T: "error", Topic: t.id.url, Text: errOtherNamespace})
			h.endView(s)
		}
		h.mu.Unlock()
	}
}

// publish gives the viewers of t a rendering, and returns the clients that have something to
// write now.
func (h *Hub) publish(t *livePage, page view.Page, next *snapshot, rendering uint64, frames []*websocket.PreparedMessage) (due []*client) {
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
		if rate := time.Duration(h.opts.Greeting().Clock.rate()); rate > 0 {
			h.refreshAfter(t, max(r.Refresh()/rate, h.opts.Interval))
		}
	}
	for s := range t.viewers {
		if h.offerRendering(s, rendering, frames) {
			due = append(due, s.client)
		}
	}
	return due
}

// wakeClients wakes sockets a few at a time: if hundreds woke at once, all of them would run before
// the messages of senders.
func (h *Hub) wakeClients(ctx context.Context, all []*client) {
	together := max(8, len(all)/16)
	for i, c := range all {
		if i > 0 && i%together == 0 {
			h.sleep(ctx, time.Millisecond)
		}
		c.wakeWriter()
	}
}

func (h *Hub) sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// refreshAfter makes t dirty again after d. The caller holds mu.
func (h *Hub) refreshAfter(t *livePage, d time.Duration) {
	if t.clock != nil {
		t.clock.Reset(d)
		return
	}
	t.clock = time.AfterFunc(d, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if !t.closed {
			h.markDirty(t)
		}
	})
}

// offerRendering gives s the result of the rendering with this number, and reports whether its socket
// has something to write now. Changes that the socket has not taken yet are replaced by a
// snapshot. The caller holds mu.
func (h *Hub) offerRendering(s *pageViewer, rendering uint64, frames []*websocket.PreparedMessage) bool {
	switch {
	case s.client.paused || s.rendering > rendering || s.due == snapshotDue:
		return false
	case s.rendering != 0:
		s.rendering, s.due = 0, snapshotDue
	case len(frames) == 0:
		return false
	case s.due == changesDue:
		s.due, s.frames = snapshotDue, nil
	default:
		s.due, s.frames = changesDue, frames
	}
	s.client.enqueue(s)
	return true
}

// fail sends the viewers an error, because the page cannot be shown, and ends it; a browser may
// request it again.
func (h *Hub) fail(t *livePage, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range t.viewers {
		s.client.sendControl(control{T: "error", Topic: t.id.url, Text: err.Error()})
		h.endView(s)
	}
}

// renderPage opens a page and renders its parts. It turns a panic into an error, because a page must
// not end the process.
func (h *Hub) renderPage(ctx context.Context, id livePageID) (page view.Page, next *snapshot, err error) {
	defer func() {
		if r := recover(); r != nil {
			h.opts.Logger.Error("a live page panicked", "page", id.url, "panic", r, "stack", string(debug.Stack()))
			err = fmt.Errorf("render %s: internal error", id.url)
		}
	}()
	ctx = view.WithSafeMode(locale.With(view.WithBase(view.WithFrozenClocks(ctx), h.opts.Base), id.lang), id.safety)
	ctx = view.WithPermissions(ctx, h.opts.Allowed(id.role))
	ctx = auth.WithCaller(ctx, auth.Caller{Role: id.role, Namespace: id.namespace})
	page, n, err := h.opts.Open(ctx, id.url)
	if err != nil {
		return nil, nil, err
	}
	next = &snapshot{n: n}
	for _, p := range page.Parts() {
		if p.Slot != nil {
			html, err := renderPart(ctx, p.Name, p.Slot)
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
			if l.rows[r.Key], err = renderPart(ctx, p.Name, r.Content); err != nil {
				return nil, nil, err
			}
			l.order = append(l.order, r.Key)
		}
		next.lists = append(next.lists, l)
	}
	return page, next, nil
}

// renderPart renders a part. It yields first: rendering is many milliseconds of background work, but
// senders wait for their answers.
func renderPart(ctx context.Context, name string, c templ.Component) (string, error) {
	runtime.Gosched()
	var b strings.Builder
	if err := c.Render(ctx, &b); err != nil {
		return "", fmt.Errorf("render %q: %w", name, err)
	}
	return b.String(), nil
}
