package live

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"mayfly/web/presentation"
)

// protocol is the version of the frames. A browser with another version reloads its page.
const protocol = 1

// frameSize is about how much HTML one frame has. A larger change is sent in several frames,
// each of which is valid by itself.
const frameSize = 60 << 10

// A control is a frame without content.
type control struct {
	T     string `json:"t"` // hello, ping, clock, reset, error, alert or talk
	Proto int    `json:"proto,omitempty"`
	Build string `json:"build,omitempty"`
	Epoch uint64 `json:"epoch,omitempty"`
	N     uint64 `json:"n,omitempty"`
	Now   string `json:"now,omitempty"`
	Rate  *int   `json:"rate,omitempty"`  // with Now: seconds of the clock in a second
	Until string `json:"until,omitempty"` // with Now: the time at which the clock stops; missing if there is none
	Topic string `json:"topic,omitempty"`
	Text  string `json:"text,omitempty"`
	Alert uint64 `json:"alert,omitempty"` // the number of the latest alert

	Presentation *presentation.State `json:"talk,omitempty"` // the state of a presentation; if missing, Text explains why the client cannot present
}

// parts is a frame with a page's changes, or with the whole page.
type parts struct {
	T     string              `json:"t"`
	Topic string              `json:"topic"`
	N     uint64              `json:"n"`
	Full  bool                `json:"full"`
	More  bool                `json:"more,omitempty"` // the next frame continues the same change
	Slots map[string]string   `json:"slots,omitempty"`
	Lists map[string]listPart `json:"lists,omitempty"`
}

type listPart struct {
	Order []string          `json:"order"` // every key that the list shows
	Put   map[string]string `json:"put,omitempty"`
	Gone  map[string]string `json:"gone,omitempty"`
}

func formatTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

// prepare encodes a frame once for all sockets that get it.
func prepare(frame any) (*websocket.PreparedMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // mostly HTML, and never inside a page
	if err := e.Encode(frame); err != nil {
		return nil, fmt.Errorf("encode a frame: %w", err)
	}
	return websocket.NewPreparedMessage(websocket.TextMessage, bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

// A snapshot is a page's parts as HTML. It is immutable.
type snapshot struct {
	n     uint64
	slots []slot
	lists []list

	encode sync.Once
	full   []*websocket.PreparedMessage // set by messages
	err    error                        // set by messages
}

type slot struct{ name, html string }

type list struct {
	name  string
	order []string
	rows  map[string]string
}

// messages returns the snapshot as frames, without reasons why rows left. It encodes them once.
func (s *snapshot) messages(page string) ([]*websocket.PreparedMessage, error) {
	s.encode.Do(func() { s.full, s.err = s.since(page, nil) })
	return s.full, s.err
}

// since returns the snapshot as frames for a browser that may still show rows that have left. `gone`
// has the reasons why rows left, by key.
func (s *snapshot) since(page string, gone map[string]string) ([]*websocket.PreparedMessage, error) {
	c := frameCutter{page: page, n: s.n, full: true}
	for _, sl := range s.slots {
		c.slot(sl)
	}
	for _, l := range s.lists {
		went := maps.Clone(gone)
		maps.DeleteFunc(went, func(key, _ string) bool { _, here := l.rows[key]; return here })
		c.list(l, l.order, went)
	}
	return c.frames()
}

// changes returns the differences of s from the snapshot `before` as frames, or none if they are
// equal. `reason` returns why the row with a key left.
func (s *snapshot) changes(page string, before *snapshot, reason func(key string) string) ([]*websocket.PreparedMessage, error) {
	c := frameCutter{page: page, n: s.n}
	slots := map[string]string{}
	for _, sl := range before.slots {
		slots[sl.name] = sl.html
	}
	for _, sl := range s.slots {
		if html, ok := slots[sl.name]; !ok || html != sl.html {
			c.slot(sl)
		}
	}
	lists := map[string]list{}
	for _, l := range before.lists {
		lists[l.name] = l
	}
	for _, l := range s.lists {
		old, ok := lists[l.name]
		var put []string
		gone := map[string]string{}
		moved := !ok || len(old.order) != len(l.order)
		for i, key := range l.order {
			moved = moved || old.order[i] != key
			if html, ok := old.rows[key]; !ok || html != l.rows[key] {
				put = append(put, key)
			}
		}
		for _, key := range old.order {
			if _, ok := l.rows[key]; !ok {
				gone[key] = reason(key)
			}
		}
		if moved || len(put) > 0 {
			c.list(l, put, gone)
		}
	}
	return c.frames()
}

// lacksRows reports whether s lacks a row of the snapshot `before`.
func (s *snapshot) lacksRows(before *snapshot) bool {
	rows := map[string]map[string]string{}
	for _, l := range s.lists {
		rows[l.name] = l.rows
	}
	for _, l := range before.lists {
		for key := range l.rows {
			if _, ok := rows[l.name][key]; !ok {
				return true
			}
		}
	}
	return false
}

// A frameCutter collects a change and cuts it into frames. The first frame lists the rows that
// left, and is full if the change is; further frames add rows and slots.
type frameCutter struct {
	page string
	n    uint64
	full bool
	done []parts
	size int // of the last of done
}

// ensureRoom ensures that the last frame has room for another piece of this size.
func (c *frameCutter) ensureRoom(size int) {
	if len(c.done) == 0 || c.size > 0 && c.size+size > frameSize {
		c.done = append(c.done, parts{T: "parts", Topic: c.page, N: c.n, Full: c.full && len(c.done) == 0})
		c.size = 0
	}
	c.size += size
}

func (c *frameCutter) slot(s slot) {
	c.ensureRoom(len(s.html))
	p := &c.done[len(c.done)-1]
	if p.Slots == nil {
		p.Slots = map[string]string{}
	}
	p.Slots[s.name] = s.html
}

func (c *frameCutter) list(l list, put []string, gone map[string]string) {
	keys := 0
	for _, key := range l.order {
		keys += len(key) + 3
	}
	c.ensureRoom(keys)
	part := listPart{Order: l.order, Put: map[string]string{}, Gone: gone}
	if part.Order == nil {
		part.Order = []string{} // the browser iterates over it
	}
	for _, key := range put {
		before := len(c.done)
		c.ensureRoom(len(l.rows[key]))
		if len(c.done) > before && len(part.Put) > 0 {
			c.set(before-1, l.name, part)
			part.Put, part.Gone = map[string]string{}, nil
			c.size += keys
		}
		part.Put[key] = l.rows[key]
	}
	c.set(len(c.done)-1, l.name, part)
}

func (c *frameCutter) set(i int, name string, part listPart) {
	if c.done[i].Lists == nil {
		c.done[i].Lists = map[string]listPart{}
	}
	c.done[i].Lists[name] = part
}

func (c *frameCutter) frames() ([]*websocket.PreparedMessage, error) {
	if c.full && len(c.done) == 0 {
		c.ensureRoom(0) // a page without parts has a snapshot too
	}
	var out []*websocket.PreparedMessage
	for i, p := range c.done {
		p.More = i < len(c.done)-1
		m, err := prepare(p)
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}
