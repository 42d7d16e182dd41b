package password

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"mayfly/web/auth"
	"mayfly/web/auth/users"
)

// Browsers and addresses that a user has signed in from are familiar. That grants no
// rights, but their tries are counted separately, so that tries of other clients do not
// make the user wait.
//
// A browser gets a cookie with a mark for each of the last few names. The key of the
// signature derives from the user's line in the file, which includes the salted hash of the
// password. So a mark outlives restarts, is valid at all servers with that file, and ends
// with the password. It contains no name. A stolen mark gives a thief one more burst of ten
// tries.

// marksCookie is the name of the cookie with a browser's marks.
const marksCookie = "mayfly_familiar"

const (
	markLifetime        = 180 * 24 * time.Hour // since the last sign-in
	maxMarks            = 4                    // of one browser
	maxMarkLength       = 100                  // bytes
	maxAddressesPerUser = 64                   // addresses of one user
)

// A mark records that a browser has signed in: a random id, the time and a signature.
type mark struct {
	id, at, signature string
}

func (m mark) String() string { return m.id + "." + m.at + "." + m.signature }

// sign returns the signature of m for a name.
func (m mark) sign(key []byte, name string) string {
	h := hmac.New(sha256.New, key)
	h.Write([]byte("mayfly: a browser that has signed in\x00" + strings.ToLower(name) + "\x00" + m.id + "\x00" + m.at))
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

// isValid reports whether m was signed with `key` for `name`, at most markLifetime ago.
func (m mark) isValid(key []byte, name string, now time.Time) bool {
	signed := hmac.Equal([]byte(m.signature), []byte(m.sign(key, name)))
	at, err := strconv.ParseInt(m.at, 10, 64)
	return signed && err == nil && now.Before(time.Unix(at, 0).Add(markLifetime))
}

// readMarks returns the marks in r's cookie, the newest first, without checking them.
func readMarks(r *http.Request) (all []mark) {
	c, err := r.Cookie(auth.CookieName(r, marksCookie))
	if err != nil {
		return nil
	}
	for text := range strings.SplitSeq(c.Value, "~") {
		parts := strings.Split(text, ".")
		if len(text) <= maxMarkLength && len(parts) == 3 {
			all = append(all, mark{parts[0], parts[1], parts[2]})
		}
		if len(all) == maxMarks {
			break
		}
	}
	return all
}

// markBrowser gives the browser a mark for the user name `name`, signed with `key`. If the browser has
// a valid one, markBrowser renews it: the mark keeps its id, under which tries are counted.
func (d *Handler) markBrowser(w http.ResponseWriter, r *http.Request, key []byte, name string) {
	now, kept := time.Now(), readMarks(r)
	is := mark{id: rand.Text()[:16]}
	if i := slices.IndexFunc(kept, func(m mark) bool { return m.isValid(key, name, now) }); i >= 0 {
		is.id = kept[i].id
		kept = slices.Delete(kept, i, i+1)
	}
	is.at = strconv.FormatInt(now.Unix(), 10)
	is.signature = is.sign(key, name)
	texts := []string{is.String()}
	for _, m := range kept[:min(len(kept), maxMarks-1)] {
		texts = append(texts, m.String())
	}
	auth.SetCookie(w, r, &http.Cookie{
		Name: auth.CookieName(r, marksCookie), Value: strings.Join(texts, "~"), Path: d.o.Base + SignInPath, MaxAge: int(markLifetime / time.Second),
		HttpOnly: true, SameSite: http.SameSiteLaxMode, // an OpenID provider sends the browser back from another site
	})
}

// browserID returns the id of the browser's valid mark for the user name `name`, or "" if it has none.
// It checks all marks, so the time it takes does not depend on which are valid.
func browserID(r *http.Request, key []byte, name string) (line string) {
	now := time.Now()
	for _, m := range readMarks(r) {
		if m.isValid(key, name, now) && line == "" {
			line = m.id
		}
	}
	return line
}

// userMarkKey returns the key that signs a user's marks, and whether the user exists. Marks
// of unknown users are never valid: otherwise a client could sign one itself and learn from
// it that the name does not exist.
func userMarkKey(u users.User) (key []byte, known bool) {
	h := sha256.Sum256(append([]byte("mayfly: marks of browsers\x00"), u.Stamp[:]...))
	return h[:], u.Name != ""
}

// knownAddresses remembers the addresses that users have signed in from, until the process ends. It
// keeps maxAddressesPerUser of one user and maxKeys in all, and forgets the oldest first.
type knownAddresses struct {
	mu   sync.Mutex
	seen map[userAddress]time.Time // guarded by mu
}

// A userAddress is an address that a user has signed in from with one password.
type userAddress struct {
	name    string // as nameKey returns it
	network string
	stamp   [sha256.Size]byte
}

func (s *knownAddresses) has(at userAddress) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.seen[at]
	return ok
}

func (s *knownAddresses) add(at userAddress, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil {
		s.seen = map[userAddress]time.Time{}
	}
	if _, again := s.seen[at]; !again {
		s.evictOldest(at.name)
	}
	s.seen[at] = now
}

// evictOldest forgets the user's oldest address if the user has too many, or else the oldest
// of all if there are too many. The caller holds mu.
func (s *knownAddresses) evictOldest(name string) {
	var own, last userAddress
	var ownSince, lastSince time.Time
	n := 0
	for at, seen := range s.seen {
		if lastSince.IsZero() || seen.Before(lastSince) {
			last, lastSince = at, seen
		}
		if at.name != name {
			continue
		}
		if n++; n == 1 || seen.Before(ownSince) {
			own, ownSince = at, seen
		}
	}
	switch {
	case n >= maxAddressesPerUser:
		delete(s.seen, own)
	case len(s.seen) >= maxKeys:
		delete(s.seen, last)
	}
}
