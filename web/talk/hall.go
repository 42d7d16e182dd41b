// Package talk knows who shows the dashboard to whom. Somebody who presents has a
// key, and their browser says by it which page they are on; whoever follows knows
// the talk's id, and is told. Only places of pages are told, nothing that is typed
// or pointed at, and only where the presenter is now: who comes late, or missed
// something, is where all others are.
//
// An id follows from its key, and not the other way round. So a presenter's browser
// brings the talk back after the server was restarted, and nobody else can.
package talk

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
)

// Why somebody cannot present.
var (
	ErrKey  = errors.New("that is not the key of a presentation")
	ErrFull = errors.New("there are as many presentations already as there may be")
)

// Limits of what is kept.
const (
	mostTalks = 64
	longest   = 60 // characters of a presenter's name
	mostLed   = 32 // namespaces that a talk has been in, the latest
)

// Following is in the address of a page for those who follow a talk, with its id.
const Following = "follow"

// How long a talk outlives its presenter's last page.
const (
	grace = 5 * time.Second // a page gives way to the next: nobody has left yet
	stay  = 12 * time.Hour  // then it is over
)

// A Hall has the talks of a server, in memory. The zero Hall is ready, and safe for
// concurrent use.
type Hall struct {
	mu    sync.Mutex
	talks map[string]*talk              // by id; guarded by mu, as what they point to
	seats map[string]map[*Seat]struct{} // who follows, by the talk's id, whether there is one or not; guarded by mu
}

type talk struct {
	name  string
	link  Link
	place Place
	apart bool               // the presenter has gone on from place to where nobody can follow
	led   []string           // the namespaces of its places so far, in lower case, the latest last
	desks map[*Seat]struct{} // of the presenter
	gone  time.Time          // when the last of them went; zero: one is there
	here  bool               // the presenter is, as far as anybody is told
	then  *time.Timer        // says that the presenter has left, then ends the talk
}

// A Link is what a talk's audience was given.
type Link struct {
	ID    string // by which it is taken back; empty: it need not be
	URL   string
	Until time.Time // zero: nobody knows
}

// A Place is where a presenter is: addresses without the base path.
type Place struct {
	Page   string `json:"page,omitempty"`
	Beside string `json:"beside,omitempty"` // what is open beside it; empty: nothing is
}

// Namespace is that which a page is of, by its address without the base path, in lower
// case; empty: it is of none.
func Namespace(page string) string {
	rest, ok := strings.CutPrefix(page, "/n/")
	if end := strings.IndexAny(rest, "/?"); end >= 0 {
		rest = rest[:end]
	}
	name, err := url.PathUnescape(rest)
	if !ok || err != nil {
		return ""
	}
	return strings.ToLower(name)
}

// A State is how a talk is now.
type State struct {
	ID string `json:"id"`
	Place
	Name      string `json:"name,omitempty"`
	Begun     bool   `json:"begun,omitempty"`     // there is such a talk
	Here      bool   `json:"here,omitempty"`      // its presenter is there
	Elsewhere bool   `json:"elsewhere,omitempty"` // its presenter is where the one who is told may not look, or nobody can follow; Place is where both could be last, or empty
	Followers int    `json:"followers,omitempty"`
}

// NewKey makes a key for a talk.
func NewKey() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails, by its contract
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// ID is what a talk is followed by. It is ErrKey for what is no key.
func ID(key string) (string, error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(key)
	if err != nil || len(b) != 32 {
		return "", ErrKey
	}
	sum := sha256.Sum256(b)
	return base64.RawURLEncoding.EncodeToString(sum[:12]), nil
}

// Name is text as the name of somebody: short, on one line, with nothing invisible
// in it.
func Name(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	name := []rune(strings.Join(strings.Fields(text), " "))
	return strings.TrimSpace(string(name[:min(len(name), longest)]))
}

// A Seat is one page of somebody who presents or follows. Leave it.
type Seat struct {
	hall    *Hall
	id      string
	speaks  bool
	changed func()
	left    bool // guarded by hall.mu
}

// Speak takes the presenter's seat of the talk that a key is of, and begins the talk
// if there is none. Changed is called, from any goroutine, when State may be another.
func (h *Hall) Speak(key, name string, changed func()) (*Seat, error) {
	id, err := ID(key)
	if err != nil {
		return nil, err
	}
	s := &Seat{hall: h, id: id, speaks: true, changed: changed}
	h.mu.Lock()
	t := h.begin(id)
	if t == nil {
		h.mu.Unlock()
		return nil, ErrFull
	}
	if t.then != nil {
		t.then.Stop()
	}
	t.desks[s] = struct{}{}
	t.gone, t.then, t.name = time.Time{}, nil, Name(name)
	t.here = true
	all := h.all(id)
	h.mu.Unlock()
	tell(all)
	return s, nil
}

// begin is the talk with an id, which is made if there is none; nil: there are too
// many. The caller holds mu.
func (h *Hall) begin(id string) *talk {
	if t := h.talks[id]; t != nil {
		return t
	}
	if len(h.talks) >= mostTalks && !h.forgetOne() {
		return nil
	}
	if h.talks == nil {
		h.talks = map[string]*talk{}
	}
	t := &talk{desks: map[*Seat]struct{}{}}
	h.talks[id] = t
	return t
}

// Open begins the talk of a key before its presenter is there, and remembers what
// its audience was given.
func (h *Hall) Open(key, name string, l Link) error {
	id, err := ID(key)
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.begin(id)
	if t == nil {
		return ErrFull
	}
	t.name, t.link = Name(name), l
	h.wait(id, t)
	return nil
}

// Link is what the audience of the talk that a key is of was given; not ok if there
// is no such talk, or nothing was.
func (h *Hall) Link(key string) (l Link, ok bool) {
	id, err := ID(key)
	if err != nil {
		return l, false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if t := h.talks[id]; t != nil {
		l = t.link
	}
	return l, l.URL != ""
}

// Follow takes a seat among those who follow. There need be no such talk yet.
func (h *Hall) Follow(id string, changed func()) *Seat {
	s := &Seat{hall: h, id: id, changed: changed}
	h.mu.Lock()
	if h.seats == nil {
		h.seats = map[string]map[*Seat]struct{}{}
	}
	if h.seats[id] == nil {
		h.seats[id] = map[*Seat]struct{}{}
	}
	h.seats[id][s] = struct{}{}
	desks := h.desks(id)
	h.mu.Unlock()
	tell(desks)
	return s
}

// At says where the presenter is. It does nothing at any other seat.
func (s *Seat) At(p Place) {
	s.move(func(t *talk) {
		t.place, t.apart = p, false
		t.lead(Namespace(p.Page), Namespace(p.Beside))
	})
}

// Apart says that the presenter is where nobody can follow, such as at a form: others are
// left where they are. It does nothing at any other seat.
func (s *Seat) Apart() { s.move(func(t *talk) { t.apart = true }) }

// move has the presenter be elsewhere, and tells everybody if that is news.
func (s *Seat) move(to func(*talk)) {
	h := s.hall
	h.mu.Lock()
	t := h.talks[s.id]
	if !s.speaks || s.left || t == nil {
		h.mu.Unlock()
		return
	}
	place, apart := t.place, t.apart
	to(t)
	if t.place == place && t.apart == apart {
		h.mu.Unlock()
		return
	}
	all := h.all(s.id)
	h.mu.Unlock()
	tell(all)
}

// lead remembers where the talk is. The caller holds the hall's mu.
func (t *talk) lead(namespaces ...string) {
	for _, name := range namespaces {
		if name != "" {
			t.led = append(slices.DeleteFunc(t.led, func(was string) bool { return was == name }), name)
		}
	}
	t.led = t.led[max(0, len(t.led)-mostLed):]
}

// Led tells whether the presenter of a talk, by its id, has led its audience to a
// namespace.
func (h *Hall) Led(id, namespace string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.talks[id]
	return t != nil && slices.Contains(t.led, strings.ToLower(namespace))
}

// State is how the talk is now.
func (s *Seat) State() State { return s.hall.State(s.id) }

// State is how a talk is now, by its id.
func (h *Hall) State(id string) State {
	h.mu.Lock()
	defer h.mu.Unlock()
	is := State{ID: id, Followers: len(h.seats[id])}
	if t := h.talks[id]; t != nil {
		is.Begun, is.Here, is.Name, is.Place, is.Elsewhere = true, t.here, t.name, t.place, t.apart
	}
	return is
}

// Leave gives the seat back. Leaving twice is leaving once.
func (s *Seat) Leave() {
	h := s.hall
	h.mu.Lock()
	if s.left {
		h.mu.Unlock()
		return
	}
	s.left = true
	var who []*Seat
	if s.speaks {
		if t := h.talks[s.id]; t != nil {
			delete(t.desks, s)
			h.wait(s.id, t)
		}
	} else {
		if delete(h.seats[s.id], s); len(h.seats[s.id]) == 0 {
			delete(h.seats, s.id)
		}
		who = h.desks(s.id)
	}
	h.mu.Unlock()
	tell(who)
}

// Stop ends the talk that a key is of, if there is one.
func (h *Hall) Stop(key string) {
	id, err := ID(key)
	if err != nil {
		return
	}
	h.mu.Lock()
	all := h.end(id)
	h.mu.Unlock()
	tell(all)
}

// wait has everybody told after a while that the presenter has left, unless one of
// their pages is still there. The caller holds mu.
func (h *Hall) wait(id string, t *talk) {
	if len(t.desks) > 0 {
		return
	}
	gone := time.Now()
	t.gone = gone
	t.then = time.AfterFunc(grace, func() {
		h.mu.Lock()
		if h.talks[id] != t || t.gone != gone {
			h.mu.Unlock()
			return
		}
		t.here = false
		t.then = time.AfterFunc(stay, func() {
			h.mu.Lock()
			var all []*Seat
			if h.talks[id] == t && t.gone == gone {
				all = h.end(id)
			}
			h.mu.Unlock()
			tell(all)
		})
		all := h.all(id)
		h.mu.Unlock()
		tell(all)
	})
}

// end forgets a talk, and says whom to tell. The caller holds mu.
func (h *Hall) end(id string) []*Seat {
	all := h.all(id)
	if t := h.talks[id]; t != nil && t.then != nil {
		t.then.Stop()
	}
	delete(h.talks, id)
	return all
}

// forgetOne forgets the talk whose presenter has been away longest. The caller holds
// mu.
func (h *Hall) forgetOne() bool {
	oldest := ""
	for id, t := range h.talks {
		if !t.gone.IsZero() && (oldest == "" || t.gone.Before(h.talks[oldest].gone)) {
			oldest = id
		}
	}
	if oldest != "" {
		h.end(oldest) // those who follow it learn of it when they ask the next time
	}
	return oldest != ""
}

// all are the seats of a talk, desks those of its presenter. The caller holds mu.
func (h *Hall) all(id string) []*Seat {
	all := h.desks(id)
	for s := range h.seats[id] {
		all = append(all, s)
	}
	return all
}

func (h *Hall) desks(id string) []*Seat {
	var desks []*Seat
	if t := h.talks[id]; t != nil {
		for s := range t.desks {
			desks = append(desks, s)
		}
	}
	return desks
}

// tell is called without mu: who is told may ask for the state.
func tell(seats []*Seat) {
	for _, s := range seats {
		s.changed()
	}
}
