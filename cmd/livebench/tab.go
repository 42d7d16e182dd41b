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

// A tab is a page that somebody has open, as the server sees it: it loads the page
// and then says on a socket what the script of the page says.
type tab struct {
	topic   string
	conn    *websocket.Conn
	reading sync.WaitGroup
	release func() // forgets to close the socket with the context

	mu     sync.Mutex
	frames []sighting // that changed the page, in order
	bytes  int64
	err    error // why it ended
}

// A sighting is an instant at which a page showed all up to an event.
type sighting struct {
	n  uint64
	at time.Time
}

// A reader says how a tab reads its socket.
type reader struct {
	buffer int           // of the kernel, in bytes; zero: as it likes
	pace   time.Duration // between two pieces of 1 KiB; zero: as fast as they come
	never  bool          // it reads nothing until it is told to
}

var (
	liveAttribute   = regexp.MustCompile(`<body[^>]* data-live="([^"]*)"`)
	numberAttribute = regexp.MustCompile(`<body[^>]* data-n="(\d+)"`)
)

var errNotLive = errors.New("the page is not live")

// loaded is what a page says of itself: what to subscribe to, and how much of the
// log is in it.
func loaded(body []byte) (topic string, n uint64, err error) {
	live, number := liveAttribute.FindSubmatch(body), numberAttribute.FindSubmatch(body)
	if live == nil || number == nil {
		return "", 0, errNotLive
	}
	n, err = strconv.ParseUint(string(number[1]), 10, 64)
	return html.UnescapeString(string(live[1])), n, err
}

// open opens a page in a tab.
func open(ctx context.Context, s *server, path string, how reader) (*tab, error) {
	_, _, body, _, err := s.get(ctx, path)
	if err != nil {
		return nil, err
	}
	topic, n, err := loaded(body)
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
				return e //nolint:wrapcheck // the dialer says where
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
	if !how.never {
		t.reading.Go(func() { t.read(how.pace) })
	}
	return t, nil
}

// read takes frames until the socket ends.
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
		return err //nolint:wrapcheck // whoever asks why it ended wants this
	}
	n, err := io.ReadFull(r, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return err //nolint:wrapcheck // likewise
	}
	all := int64(n)
	if pace > 0 {
		r = &slow{r: r, tick: time.NewTicker(pace)}
	}
	more, err := io.Copy(io.Discard, r)
	if err != nil {
		return err //nolint:wrapcheck // likewise
	}
	at, ok := numbered(head[:n])
	t.mu.Lock()
	defer t.mu.Unlock()
	t.bytes += all + more
	if ok {
		t.frames = append(t.frames, sighting{at, time.Now()})
	}
	return nil
}

// slow is a reader that takes little at a time.
type slow struct {
	r    io.Reader
	tick *time.Ticker
}

func (s *slow) Read(b []byte) (int, error) {
	<-s.tick.C
	n, err := s.r.Read(b[:min(len(b), 1024)])
	if err != nil {
		s.tick.Stop()
	}
	return n, err //nolint:wrapcheck // it is another reader's
}

// numbered is the event up to which a frame brings the page, of frames that do.
func numbered(head []byte) (uint64, bool) {
	rest, ok := bytes.CutPrefix(head, []byte(`{"t":"parts","topic":`))
	_, rest, more := bytes.Cut(rest, []byte(`,"n":`))
	end := bytes.IndexByte(rest, ',')
	if !ok || !more || end < 0 {
		return 0, false
	}
	n, err := strconv.ParseUint(string(rest[:end]), 10, 64)
	return n, err == nil
}

// seen are the sightings until now, and forgets them.
func (t *tab) seen() []sighting {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := t.frames
	t.frames = nil
	return all
}

// end is why the tab ended, nil while it has not.
func (t *tab) end() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

func (t *tab) close() {
	t.release()
	t.conn.Close()
	t.reading.Wait()
}

// since is how long each of marks took until it was among all, which are in order;
// the later ones of what has not come yet are left out, as nobody knows.
func since(marks []mark, all []sighting) (took []time.Duration) {
	for _, m := range marks {
		if i, _ := slices.BinarySearchFunc(all, m.n, func(s sighting, n uint64) int {
			if s.n < n {
				return -1
			}
			return 1
		}); i < len(all) {
			took = append(took, all[i].at.Sub(m.at))
		}
	}
	return took
}

// tabs are many, on several pages in turn.
type tabs []*tab

func openAll(ctx context.Context, s *server, n int, pages []string) (all tabs, err error) {
	for i := range n {
		t, err := open(ctx, s, pages[i%len(pages)], reader{})
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

// forget drops what was seen until now.
func (all tabs) forget() {
	for _, t := range all {
		t.seen()
	}
}

// took is how long marks took until each tab had them. A tab that has ended is an
// error.
func (all tabs) took(marks []mark) (took []time.Duration, err error) {
	for _, t := range all {
		if err := t.end(); err != nil {
			return nil, fmt.Errorf("a tab on %s ended: %w", t.topic, err)
		}
		took = append(took, since(marks, t.seen())...)
	}
	return took, nil
}

func queue(name string) string { return home + "/q/" + url.PathEscape(name) }
