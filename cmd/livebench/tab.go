package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gorilla/websocket"
)

// A tab simulates a page that is open in a browser: it loads the page, then sends on a socket what
// the page's script would send, and records the updates that it receives.
type tab struct {
	topic   string
	conn    *websocket.Conn
	reading sync.WaitGroup
	release func() // stops closing the socket when the context ends

	mu      sync.Mutex
	updates []pageUpdate // frames that changed the page, in order
	bytes   int64
	err     error // why it ended
}

// A pageUpdate is the time at which a page showed all events up to n.
type pageUpdate struct {
	event uint64
	at    time.Time
}

// A readSpeed describes how a tab reads its socket.
type readSpeed struct {
	buffer int           // of the kernel, in bytes; zero means the default
	pace   time.Duration // between pieces of 1 KiB; zero means as fast as they arrive
	frozen bool          // it reads nothing until drain is called
}

var (
	liveAttribute   = regexp.MustCompile(`<body[^>]* data-live="([^"]*)"`)
	numberAttribute = regexp.MustCompile(`<body[^>]* data-n="(\d+)"`)
)

var errNotLive = errors.New("the page is not live")

// parsePage returns the topic of a page to subscribe to, and the last event in it.
func parsePage(body []byte) (topic string, n uint64, err error) {
	live, number := liveAttribute.FindSubmatch(body), numberAttribute.FindSubmatch(body)
	if live == nil || number == nil {
		return "", 0, errNotLive
	}
	n, err = strconv.ParseUint(string(number[1]), 10, 64)
	return html.UnescapeString(string(live[1])), n, err
}

// open opens the page at a path in a new tab, which reads its socket as `how` specifies.
func open(ctx context.Context, s *server, path string, how readSpeed) (*tab, error) {
	_, _, body, _, err := s.get(ctx, path)
	if err != nil {
		return nil, err
	}
	topic, n, err := parsePage(body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	d := websocket.Dialer{NetDialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		return (&net.Dialer{Control: func(_, _ string, c syscall.RawConn) error {
			if how.buffer == 0 {
				return nil
			}
			var err error
			if e := c.Control(func(fd uintptr) {
				err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, how.buffer)
			}); e != nil {
				return e
			}
			return err
		}}).DialContext(ctx, network, address)
	}}
	conn, answer, err := d.DialContext(ctx, "ws"+strings.TrimPrefix(s.Dashboard, "http")+home+"/live?lang=en", http.Header{"Origin": {s.Dashboard}}) //nolint:bodyclose // the dialer has read it
	if err != nil {
		if answer != nil {
			err = fmt.Errorf("%s: %w", answer.Status, err)
		}
		return nil, fmt.Errorf("open a socket: %w", err)
	}
	t := &tab{topic: topic, conn: conn}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	t.release = func() { stop() }
	if err := conn.WriteJSON(map[string]any{"op": "sub", "topic": topic, "n": n}); err != nil {
		t.close()
		return nil, fmt.Errorf("subscribe to %s: %w", topic, err)
	}
	if !how.frozen {
		t.reading.Go(func() { t.read(how.pace) })
	}
	return t, nil
}

// read reads frames until the socket ends, and records why it ended. pace is the pause between
// pieces of 1 KiB; zero means none.
func (t *tab) read(pace time.Duration) {
	head := make([]byte, 512)
	for {
		err := t.frame(head, pace)
		if err != nil {
			t.mu.Lock()
			t.err = err
			t.mu.Unlock()
			return
		}
	}
}

func (t *tab) frame(head []byte, pace time.Duration) error {
	_, r, err := t.conn.NextReader()
	if err != nil {
		return err
	}
	n, err := io.ReadFull(r, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return err
	}
	all := int64(n)
	if pace > 0 {
		r = &slowReader{r: r, tick: time.NewTicker(pace)}
	}
	more, err := io.Copy(io.Discard, r)
	if err != nil {
		return err
	}
	at, ok := frameEvent(head[:n])
	t.mu.Lock()
	defer t.mu.Unlock()
	t.bytes += all + more
	if ok {
		t.updates = append(t.updates, pageUpdate{at, time.Now()})
	}
	return nil
}

// slowReader is a reader that reads slowly, in small pieces.
type slowReader struct {
	r    io.Reader
	tick *time.Ticker
}

func (s *slowReader) Read(b []byte) (int, error) {
	<-s.tick.C
	n, err := s.r.Read(b[:min(len(b), 1024)])
	if err != nil {
		s.tick.Stop()
	}
	return n, err
}

// frameEvent returns the event up to which a frame updates the page. It returns false if the frame
// does not update it.
func frameEvent(head []byte) (uint64, bool) {
	rest, ok := bytes.CutPrefix(head, []byte(`{"t":"parts","topic":`))
	_, rest, more := bytes.Cut(rest, []byte(`,"n":`))
	end := bytes.IndexByte(rest, ',')
	if !ok || !more || end < 0 {
		return 0, false
	}
	n, err := strconv.ParseUint(string(rest[:end]), 10, 64)
	return n, err == nil
}

// takeUpdates returns the updates since the last call.
func (t *tab) takeUpdates() []pageUpdate {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := t.updates
	t.updates = nil
	return all
}

// endError returns why the tab's socket ended, or nil if it is open.
func (t *tab) endError() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

func (t *tab) close() {
	t.release()
	t.conn.Close()
	t.reading.Wait()
}

// latencies returns how long each mark took to appear in all, which is in order. It omits marks
// that have not appeared yet.
func latencies(marks []probe, all []pageUpdate) (took []time.Duration) {
	for _, m := range marks {
		if i, _ := slices.BinarySearchFunc(all, m.event, func(s pageUpdate, n uint64) int {
			if s.event < n {
				return -1
			}
			return 1
		}); i < len(all) {
			took = append(took, all[i].at.Sub(m.at))
		}
	}
	return took
}

// tabs are open tabs.
type tabs []*tab

func openAll(ctx context.Context, s *server, n int, pages []string) (all tabs, err error) {
	for i := range n {
		t, err := open(ctx, s, pages[i%len(pages)], readSpeed{})
		if err != nil {
			all.close()
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

func (all tabs) close() {
	for _, t := range all {
		t.close()
	}
}

// discardUpdates drops all updates so far.
func (all tabs) discardUpdates() {
	for _, t := range all {
		t.takeUpdates()
	}
}

// latencies returns how long marks took to reach each tab. A tab that has ended is an error.
func (all tabs) latencies(marks []probe) (took []time.Duration, err error) {
	for _, t := range all {
		if err := t.endError(); err != nil {
			return nil, fmt.Errorf("a tab on %s ended: %w", t.topic, err)
		}
		took = append(took, latencies(marks, t.takeUpdates())...)
	}
	return took, nil
}

func queue(name string) string { return home + "/q/" + url.PathEscape(name) }
