// Package presentation keeps presentations of the dashboard. A presenter holds a key, and their
// browser uses it to report the page that is open; followers know the presentation's id and
// are notified. Only addresses of pages are shared, nothing typed or pointed at, and only the
// presenter's current page: followers who come late or miss a change end up where all others
// are.
//
// An id is derived from its key, and the key cannot be derived from the id. So a presenter's
// browser can start the presentation again after the server restarted, and no other browser
// can.
package presentation

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

// The errors of presenting.
var (
	ErrKey  = errors.New("the key is not one of a presentation")
	ErrFull = errors.New("the server has reached its limit of presentations")
)

// The limits.
const (
	maxPresentations = 64
	maxName          = 60 // characters of a presenter's name
	maxVisited       = 32 // latest namespaces kept that a presentation has visited
)

// FollowParam is the query parameter with a presentation's id in the addresses of its followers'
// pages.
const FollowParam = "follow"

// How long a presentation continues after its presenter's last page closed.
const (
	presenterGrace = 5 * time.Second // the next page may be loading: the presenter has not left yet
	absentLifetime = 12 * time.Hour  // then the presentation ends
)

// A Registry holds the presentations of a server, in memory. The zero Registry is ready to use. Its
// methods are safe for concurrent use.
type Registry struct {
	mu            sync.Mutex
	presentations map[string]*presentation             // by id; guarded by mu, like what they point to
	participants  map[string]map[*Participant]struct{} // followers by the presentation's id, whether the presentation exists or not; guarded by mu
}

type presentation struct {
	name         string
	link         Link
	location     Location
	unfollowable bool                      // the presenter has moved from location to a page that cannot be followed
	visited      []string                  // namespaces visited so far, in lower case, latest last
	presenters   map[*Participant]struct{} // the presenter's open pages
	leftAt       time.Time                 // when the last of them closed; zero while one is open
	present      bool                      // the presenter is shown as present
	timer        *time.Timer               // reports that the presenter has left, then ends the presentation
}

// A Link is the link given to a presentation's audience.
type Link struct {
	ID    string // of the access link, for revoking it; empty if there is nothing to revoke
	URL   string
	Until time.Time // zero if unknown
}

// A Location is the page where a presenter is. Addresses are without the base path.
type Location struct {
	Page      string `json:"page,omitempty"`
	SidePanel string `json:"beside,omitempty"` // the page open in the side panel; empty means none
}

// Namespace returns the namespace, in lower case, of a page's address without the base path, or
// "" if the page belongs to none.
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

// A State is the current state of a presentation.
type State struct {
	ID string `json:"id"`
	Location
	Name          string `json:"name,omitempty"`
	Started       bool   `json:"begun,omitempty"` // the presentation exists
	PresenterHere bool   `json:"here,omitempty"`  // its presenter is present
	// Elsewhere means that the presenter is on a page that the follower may not see, or that
	// cannot be followed. Page is then the last page both could see, or empty.
	Elsewhere bool `json:"elsewhere,omitempty"`
	Followers int  `json:"followers,omitempty"`
}

// NewKey makes a key for a presentation.
func NewKey() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails, by its contract
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// ID returns the id of the presentation with this key, or ErrKey if key is not a valid key.
func ID(key string) (string, error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(key)
	if err != nil || len(b) != 32 {
		return "", ErrKey
	}
	sum := sha256.Sum256(b)
	return base64.RawURLEncoding.EncodeToString(sum[:12]), nil
}

// Name cleans up a presenter's name: short, on one line, without invisible characters.
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
	return strings.TrimSpace(string(name[:min(len(name), maxName)]))
}

// A Participant is one open page of a presenter or a follower. Call Leave when it closes.
type Participant struct {
	registry *Registry
	id       string
	presents bool
	changed  func()
	left     bool // guarded by Registry.mu
}

// Present adds an open page of the presenter with this key, and starts the presentation if it does not
// exist. The Registry calls `changed`, from any goroutine, when State may have changed. The error is
// ErrKey or ErrFull.
func (h *Registry) Present(key, name string, changed func()) (*Participant, error) {
	id, err := ID(key)
	if err != nil {
		return nil, err
	}
	s := &Participant{registry: h, id: id, presents: true, changed: changed}
	h.mu.Lock()
	t := h.begin(id)
	if t == nil {
		h.mu.Unlock()
		return nil, ErrFull
	}
	if t.timer != nil {
		t.timer.Stop()
	}
	t.presenters[s] = struct{}{}
	t.leftAt, t.timer, t.name = time.Time{}, nil, Name(name)
	t.present = true
	all := h.participantsOf(id)
	h.mu.Unlock()
	notify(all)
	return s, nil
}

// begin returns the presentation with this id, creating it if needed, or nil if there are too many.
// The caller holds mu.
func (h *Registry) begin(id string) *presentation {
	if t := h.presentations[id]; t != nil {
		return t
	}
	if len(h.presentations) >= maxPresentations && !h.dropOldest() {
		return nil
	}
	if h.presentations == nil {
		h.presentations = map[string]*presentation{}
	}
	t := &presentation{presenters: map[*Participant]struct{}{}}
	h.presentations[id] = t
	return t
}

// Start starts the presentation of a key before its presenter opens a page, and records the link
// given to its audience.
func (h *Registry) Start(key, name string, l Link) error {
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
	h.awaitPresenter(id, t)
	return nil
}

// Link returns the link given to the audience of the presentation with this key. ok is false if
// there is no such presentation, or no link was given.
func (h *Registry) Link(key string) (l Link, ok bool) {
	id, err := ID(key)
	if err != nil {
		return l, false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if t := h.presentations[id]; t != nil {
		l = t.link
	}
	return l, l.URL != ""
}

// Follow adds a follower of the presentation with this id, which need not exist yet. The Registry
// calls `changed`, from any goroutine, when State may have changed.
func (h *Registry) Follow(id string, changed func()) *Participant {
	s := &Participant{registry: h, id: id, changed: changed}
	h.mu.Lock()
	if h.participants == nil {
		h.participants = map[string]map[*Participant]struct{}{}
	}
	if h.participants[id] == nil {
		h.participants[id] = map[*Participant]struct{}{}
	}
	h.participants[id][s] = struct{}{}
	presenters := h.presentersOf(id)
	h.mu.Unlock()
	notify(presenters)
	return s
}

// MoveTo reports where the presenter is. It does nothing for a follower.
func (s *Participant) MoveTo(p Location) {
	s.move(func(t *presentation) {
		t.location, t.unfollowable = p, false
		t.recordVisits(Namespace(p.Page), Namespace(p.SidePanel))
	})
}

// MoveAway reports that the presenter is on a page that cannot be followed, such as a form;
// followers stay where they are. It does nothing for a follower.
func (s *Participant) MoveAway() { s.move(func(t *presentation) { t.unfollowable = true }) }

// move changes the presenter's location, and notifies everyone if it differs.
func (s *Participant) move(to func(*presentation)) {
	h := s.registry
	h.mu.Lock()
	t := h.presentations[s.id]
	if !s.presents || s.left || t == nil {
		h.mu.Unlock()
		return
	}
	location, apart := t.location, t.unfollowable
	to(t)
	if t.location == location && t.unfollowable == apart {
		h.mu.Unlock()
		return
	}
	all := h.participantsOf(s.id)
	h.mu.Unlock()
	notify(all)
}

// recordVisits records the namespaces that the presentation visits. The caller holds the
// Registry's mu.
func (t *presentation) recordVisits(namespaces ...string) {
	for _, name := range namespaces {
		if name != "" {
			t.visited = append(slices.DeleteFunc(t.visited, func(was string) bool { return was == name }), name)
		}
	}
	t.visited = t.visited[max(0, len(t.visited)-maxVisited):]
}

// HasVisited reports whether the presenter of the presentation with this id has visited the
// namespace.
func (h *Registry) HasVisited(id, namespace string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.presentations[id]
	return t != nil && slices.Contains(t.visited, strings.ToLower(namespace))
}

// State returns the current state of the participant's presentation.
func (s *Participant) State() State { return s.registry.State(s.id) }

// State returns the current state of the presentation with this id.
func (h *Registry) State(id string) State {
	h.mu.Lock()
	defer h.mu.Unlock()
	is := State{ID: id, Followers: len(h.participants[id])}
	if t := h.presentations[id]; t != nil {
		is.Started, is.PresenterHere, is.Name, is.Location, is.Elsewhere = true, t.present, t.name, t.location, t.unfollowable
	}
	return is
}

// Leave removes the participant. Calling it again has no effect.
func (s *Participant) Leave() {
	h := s.registry
	h.mu.Lock()
	if s.left {
		h.mu.Unlock()
		return
	}
	s.left = true
	var presenters []*Participant
	if s.presents {
		if t := h.presentations[s.id]; t != nil {
			delete(t.presenters, s)
			h.awaitPresenter(s.id, t)
		}
	} else {
		if delete(h.participants[s.id], s); len(h.participants[s.id]) == 0 {
			delete(h.participants, s.id)
		}
		presenters = h.presentersOf(s.id)
	}
	h.mu.Unlock()
	notify(presenters)
}

// Stop ends the presentation with this key, if it exists.
func (h *Registry) Stop(key string) {
	id, err := ID(key)
	if err != nil {
		return
	}
	h.mu.Lock()
	all := h.end(id)
	h.mu.Unlock()
	notify(all)
}

// awaitPresenter reports after the grace period that the presenter has left, unless one of their pages
// is still open. The caller holds mu.
func (h *Registry) awaitPresenter(id string, t *presentation) {
	if len(t.presenters) > 0 {
		return
	}
	gone := time.Now()
	t.leftAt = gone
	t.timer = time.AfterFunc(presenterGrace, func() {
		h.mu.Lock()
		if h.presentations[id] != t || t.leftAt != gone {
			h.mu.Unlock()
			return
		}
		t.present = false
		t.timer = time.AfterFunc(absentLifetime, func() {
			h.mu.Lock()
			var all []*Participant
			if h.presentations[id] == t && t.leftAt == gone {
				all = h.end(id)
			}
			h.mu.Unlock()
			notify(all)
		})
		all := h.participantsOf(id)
		h.mu.Unlock()
		notify(all)
	})
}

// end removes a presentation, and returns the participants to notify. The caller holds mu.
func (h *Registry) end(id string) []*Participant {
	all := h.participantsOf(id)
	if t := h.presentations[id]; t != nil && t.timer != nil {
		t.timer.Stop()
	}
	delete(h.presentations, id)
	return all
}

// dropOldest removes the presentation whose presenter has been away longest. It reports false if all
// presenters are present. The caller holds mu.
func (h *Registry) dropOldest() bool {
	oldest := ""
	for id, t := range h.presentations {
		if !t.leftAt.IsZero() && (oldest == "" || t.leftAt.Before(h.presentations[oldest].leftAt)) {
			oldest = id
		}
	}
	if oldest != "" {
		h.end(oldest) // its followers notice at their next request
	}
	return oldest != ""
}

// participantsOf returns all participants of a presentation, and presentersOf only the open pages of
// its presenter. The caller holds mu.
func (h *Registry) participantsOf(id string) []*Participant {
	all := h.presentersOf(id)
	for s := range h.participants[id] {
		all = append(all, s)
	}
	return all
}

func (h *Registry) presentersOf(id string) []*Participant {
	var presenters []*Participant
	if t := h.presentations[id]; t != nil {
		for s := range t.presenters {
			presenters = append(presenters, s)
		}
	}
	return presenters
}

// notify calls `changed` of each participant. The caller must not hold mu, because `changed` may read
// the state.
func notify(participants []*Participant) {
	for _, s := range participants {
		s.changed()
	}
}
