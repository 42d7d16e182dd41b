package keys

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"mayfly/engine"
	"mayfly/web/identity"
	"mayfly/web/talk"
)

// A Kind is what a key is for.
type Kind uint8

// The kinds.
const (
	Token Kind = iota // a bearer token, for programs
	Link              // a read-only link, for people
)

func (k Kind) String() string {
	if k == Link {
		return "link"
	}
	return "token"
}

// A Key is what is known of a token or link. Its secret is known to nobody.
type Key struct {
	ID   string // by which it is revoked
	Kind Kind
	Name string
	Role identity.Role
	// Namespace is the only one that it is good for. Empty: for all, and for what is of
	// none.
	Namespace string
	Page      string // of a link: the address that it leads to, without the base path

	By     string // the name of the user who made it; empty: the server was open
	Way    identity.Way
	Of     string    // what a provider knows the maker by; empty: By says it
	Parent string    // the ID of the token that it was made with, if it was
	Made   time.Time // in UTC, as all of them
	Until  time.Time // from then on it is not good; zero: never
	Used   time.Time // when it was good the last time, to the minute, and not before Made; zero: never, or nobody knows
}

// talk is the id of the one whose audience was given the link; empty: none.
func (k Key) talk() string {
	at, err := url.Parse(k.Page)
	if err != nil {
		return ""
	}
	return at.Query().Get(talk.Following)
}

// madeBy tells whether somebody has made the key, or one that it was made with.
func (k Key) madeBy(who identity.Who) bool {
	return k.Way == who.Way && cmp.Or(k.Of, k.By) == cmp.Or(who.Subject, who.Name)
}

// Ended tells whether the key is over by itself.
func (k Key) Ended(now time.Time) bool { return !k.Until.IsZero() && !now.Before(k.Until) }

// State is whether the key is over by itself at a moment.
func (k Key) State(now time.Time) string {
	if k.Ended(now) {
		return "expired"
	}
	return "active"
}

// Bounds of what is asked for.
const (
	MostKeys    = 1000                      // of a server, together
	MostOfOne   = 100                       // of one maker, with what their tokens have made
	mostName    = 100                       // characters
	mostPage    = 2000                      // bytes
	LeastFor    = time.Minute               // how long one is good
	MostFor     = 10 * 365 * 24 * time.Hour // a token
	MostLinkFor = 30 * 24 * time.Hour       // a link
	LinkFor     = 8 * time.Hour             // a link of which nothing else is said
)

// How secrets look: people and scanners of sources know by the first letters what
// they have found.
const (
	tokenMark = "mft_"
	linkMark  = "mfl_"
	idLength  = 10
	mostText  = 64 // bytes of a secret that is worth looking at
)

func (k Kind) mark() string {
	if k == Link {
		return linkMark
	}
	return tokenMark
}

// A hash is what is kept of a secret.
type hash [sha256.Size]byte

func hashOf(secret string) hash { return sha256.Sum256([]byte(secret)) }

// idOf is the ID that is in a secret of that kind; not ok if it does not look like one.
func (k Kind) idOf(secret string) (id string, ok bool) {
	rest, ok := strings.CutPrefix(secret, k.mark())
	if !ok || len(secret) > mostText {
		return "", false
	}
	id, _, ok = strings.Cut(rest, "_")
	return id, ok && len(id) == idLength
}

// prefix is before the IDs in the keys of settings.
const prefix = "key/"

// stored is a key as it is kept.
type stored struct {
	Kind      string    `json:"kind"`
	Name      string    `json:"name"`
	Role      string    `json:"role"`
	Namespace string    `json:"namespace,omitempty"`
	Page      string    `json:"page,omitempty"`
	By        string    `json:"by,omitempty"`
	Way       string    `json:"way"`
	Of        string    `json:"of,omitempty"`
	Parent    string    `json:"parent,omitempty"`
	Made      time.Time `json:"made"`
	Until     time.Time `json:"until,omitzero"`
	Used      time.Time `json:"used,omitzero"`
	Hash      string    `json:"sha256"`
}

// setting is the key as it is kept.
func (k Key) setting(h hash) engine.Setting {
	raw, err := json.Marshal(stored{
		Kind: k.Kind.String(), Name: k.Name, Role: k.Role.String(), Namespace: k.Namespace, Page: k.Page, By: k.By, Way: k.Way.String(), Of: k.Of,
		Parent: k.Parent, Made: k.Made, Until: k.Until, Used: k.Used, Hash: base64.RawURLEncoding.EncodeToString(h[:]),
	})
	if err != nil {
		panic(err) // texts and times
	}
	return engine.Setting{Key: prefix + k.ID, Value: string(raw)}
}

// decode reads a key. One that cannot be read is good for nothing: it is an error.
func decode(s engine.Setting) (k Key, h hash, err error) {
	id, ok := strings.CutPrefix(s.Key, prefix)
	if !ok || len(id) != idLength {
		return k, h, fmt.Errorf("%q is no key's", s.Key)
	}
	var in stored
	if err := json.Unmarshal([]byte(s.Value), &in); err != nil {
		return k, h, fmt.Errorf("read the key %s: %w", id, err)
	}
	k = Key{ID: id, Name: in.Name, Namespace: in.Namespace, Page: in.Page, By: in.By, Of: in.Of, Parent: in.Parent, Made: in.Made, Until: in.Until, Used: in.Used}
	switch in.Kind {
	case Token.String():
	case Link.String():
		k.Kind = Link
	default:
		return k, h, fmt.Errorf("the key %s is of a kind that this version does not know", id)
	}
	if k.Role, err = identity.ParseRole(in.Role); err != nil {
		return k, h, fmt.Errorf("the key %s: %w", id, err)
	}
	if k.Way, ok = wayNamed(in.Way); !ok {
		return k, h, fmt.Errorf("the key %s was made in a way that this version does not know", id)
	}
	sum, err := base64.RawURLEncoding.DecodeString(in.Hash)
	if err != nil || len(sum) != len(h) {
		return k, h, errors.Join(fmt.Errorf("the key %s has no hash", id), err)
	}
	copy(h[:], sum)
	return k, h, nil
}

// wayNamed is the way, among those in which somebody makes keys, that is called so.
func wayNamed(name string) (identity.Way, bool) {
	for _, w := range []identity.Way{identity.Open, identity.Password, identity.OIDC} {
		if w.String() == name {
			return w, true
		}
	}
	return identity.Open, false
}
