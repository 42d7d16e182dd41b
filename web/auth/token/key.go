package token

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
	"mayfly/web/auth"
	"mayfly/web/presentation"
)

// A Kind is the kind of a key.
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

// A Key describes a token or link. Its secret is stored nowhere.
type Key struct {
	ID   string // to revoke it by
	Kind Kind
	Name string
	Role auth.Role
	// Namespace is the only namespace for which the key is valid. Empty means all namespaces, and the
	// server itself.
	Namespace string
	Page      string // of a link: its address, without the base path

	MadeBy       string // the name of the user who made it; empty if the server was open
	Method       auth.Method
	MakerSubject string    // the maker's identity at the OpenID provider; empty if MadeBy identifies the maker
	Parent       string    // the ID of the token that it was made with, if any
	Made         time.Time // in UTC, as all times here
	Expires      time.Time // when it expires; zero if never
	LastUsed     time.Time // when it was last used, to the minute, and not before Made; zero if never or unknown
}

// presentation returns the id of the presentation whose audience was given the link, or "".
func (k Key) presentation() string {
	at, err := url.Parse(k.Page)
	if err != nil {
		return ""
	}
	return at.Query().Get(presentation.FollowParam)
}

// madeBy reports whether caller has made the key, or a token that it was made with.
func (k Key) madeBy(caller auth.Caller) bool {
	return k.Method == caller.Method && cmp.Or(k.MakerSubject, k.MadeBy) == cmp.Or(caller.Subject, caller.Name)
}

// HasExpired reports whether the key has expired.
func (k Key) HasExpired(now time.Time) bool { return !k.Expires.IsZero() && !now.Before(k.Expires) }

// State returns "expired" or "active" at a moment.
func (k Key) State(now time.Time) string {
	if k.HasExpired(now) {
		return "expired"
	}
	return "active"
}

// Bounds of keys.
const (
	MaxKeys             = 1000                      // of a server, together
	MaxKeysPerUser      = 100                       // of one maker, with the keys made by their tokens
	maxName             = 100                       // characters
	maxPage             = 2000                      // bytes
	MinLifetime         = time.Minute               // the shortest validity
	MaxTokenLifetime    = 10 * 365 * 24 * time.Hour // a token
	MaxLinkLifetime     = 30 * 24 * time.Hour       // a link
	DefaultLinkLifetime = 8 * time.Hour             // a link without a validity of its own
)

// The form of secrets. People and secret scanners recognize them by the prefix.
const (
	tokenPrefix = "mft_"
	linkPrefix  = "mfl_"
	idLength    = 10
	maxSecret   = 64 // bytes of a secret that is looked up
)

func (k Kind) prefix() string {
	if k == Link {
		return linkPrefix
	}
	return tokenPrefix
}

// A hash is the stored form of a secret.
type hash [sha256.Size]byte

func hashOf(secret string) hash { return sha256.Sum256([]byte(secret)) }

// idOf returns the ID in a secret of that kind; ok is false if the secret is malformed.
func (k Kind) idOf(secret string) (id string, ok bool) {
	rest, ok := strings.CutPrefix(secret, k.prefix())
	if !ok || len(secret) > maxSecret {
		return "", false
	}
	id, _, ok = strings.Cut(rest, "_")
	return id, ok && len(id) == idLength
}

// settingPrefix precedes the IDs in the keys of settings.
const settingPrefix = "key/"

// storedKey is the stored form of a key.
type storedKey struct {
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

// setting returns the key as a setting to store.
func (k Key) setting(h hash) engine.Setting {
	raw, err := json.Marshal(storedKey{
		Kind: k.Kind.String(), Name: k.Name, Role: k.Role.String(), Namespace: k.Namespace, Page: k.Page, By: k.MadeBy, Way: k.Method.String(), Of: k.MakerSubject,
		Parent: k.Parent, Made: k.Made, Until: k.Expires, Used: k.LastUsed, Hash: base64.RawURLEncoding.EncodeToString(h[:]),
	})
	if err != nil {
		panic(err) // only texts and times
	}
	return engine.Setting{Key: settingPrefix + k.ID, Value: string(raw)}
}

// decode reads a stored key. It returns an error for a key that it cannot read.
func decode(s engine.Setting) (k Key, h hash, err error) {
	id, ok := strings.CutPrefix(s.Key, settingPrefix)
	if !ok || len(id) != idLength {
		return k, h, fmt.Errorf("%q is not the name of a stored token or link", s.Key)
	}
	var in storedKey
	if err := json.Unmarshal([]byte(s.Value), &in); err != nil {
		return k, h, fmt.Errorf("read the token or link %s: %w", id, err)
	}
	k = Key{ID: id, Name: in.Name, Namespace: in.Namespace, Page: in.Page, MadeBy: in.By, MakerSubject: in.Of, Parent: in.Parent, Made: in.Made, Expires: in.Until, LastUsed: in.Used}
	switch in.Kind {
	case Token.String():
	case Link.String():
		k.Kind = Link
	default:
		return k, h, fmt.Errorf("the token or link %s has a kind unknown to this version", id)
	}
	if k.Role, err = auth.ParseRole(in.Role); err != nil {
		return k, h, fmt.Errorf("the token or link %s: %w", id, err)
	}
	if k.Method, ok = parseMethod(in.Way); !ok {
		return k, h, fmt.Errorf("the creator of the token or link %s signed in by a method unknown to this version", id)
	}
	sum, err := base64.RawURLEncoding.DecodeString(in.Hash)
	if err != nil || len(sum) != len(h) {
		return k, h, errors.Join(fmt.Errorf("the token or link %s has no valid hash", id), err)
	}
	copy(h[:], sum)
	return k, h, nil
}

// parseMethod returns the method of that name, if a key's maker can authenticate with it.
func parseMethod(name string) (auth.Method, bool) {
	for _, w := range []auth.Method{auth.Open, auth.Password, auth.OIDC} {
		if w.String() == name {
			return w, true
		}
	}
	return auth.Open, false
}
