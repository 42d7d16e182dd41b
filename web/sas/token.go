package sas

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// scheme begins every token.
const scheme = "SharedAccessSignature"

// mostToken is how long a token may be, in bytes.
const mostToken = 16 << 10

// ErrMalformed says that something is no token.
var ErrMalformed = errors.New("MalformedToken: The token is not a shared access signature of the form 'SharedAccessSignature sr=…&sig=…&se=…&skn=…'.") //nolint:revive,staticcheck // as clients read it

// A Token is a shared access signature as it was sent.
type Token struct {
	resource  string // sr, still encoded: it is signed so
	expiry    string // se as it stands, which is signed too
	at        int64  // expiry, in seconds since 1970
	signature []byte
	name      string // of the rule whose key has signed
}

// Is tells whether text is meant to be a token, whatever somebody has called its
// type: some clients send one as type "jwt".
func Is(text string) bool {
	text = strings.TrimLeft(text, " ")
	return len(text) > len(scheme) && strings.EqualFold(text[:len(scheme)], scheme) && text[len(scheme)] == ' '
}

// Parse reads a token. It says nothing of whether it is good. The error is
// ErrMalformed.
func Parse(text string) (t Token, err error) {
	if !Is(text) || len(text) > mostToken {
		return Token{}, ErrMalformed
	}
	_, fields, _ := strings.Cut(strings.TrimSpace(text), " ")
	seen := map[string]string{}
	for field := range strings.SplitSeq(strings.TrimSpace(fields), "&") {
		key, value, ok := strings.Cut(field, "=")
		key = strings.ToLower(strings.TrimSpace(key))
		if _, twice := seen[key]; !ok || twice {
			return Token{}, ErrMalformed
		}
		seen[key] = value
	}
	t = Token{resource: seen["sr"], expiry: seen["se"]}
	sig, badSig := url.PathUnescape(seen["sig"]) // a plus is a plus
	name, badName := url.PathUnescape(seen["skn"])
	at, badTime := strconv.ParseInt(t.expiry, 10, 64)
	signature, badBase := base64.StdEncoding.DecodeString(sig)
	if _, err := url.PathUnescape(t.resource); errors.Join(err, badSig, badName, badTime, badBase) != nil || t.resource == "" || name == "" || at < 0 {
		return Token{}, ErrMalformed
	}
	t.at, t.name, t.signature = at, name, signature
	return t, nil
}

// Sign makes a token. resource is what it is for, a URL that is encoded here.
func Sign(resource, name, key string, expires time.Time) string {
	sr, se := escape(resource), strconv.FormatInt(expires.Unix(), 10)
	sig := base64.StdEncoding.EncodeToString(sign(sr, se, key))
	return fmt.Sprintf("%s sr=%s&sig=%s&se=%s&skn=%s", scheme, sr, escape(sig), se, escape(name))
}

// escape has no plus signs: whether they are spaces is read in two ways.
func escape(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

func sign(resource, expiry, key string) []byte {
	h := hmac.New(sha256.New, []byte(key))
	_, _ = h.Write([]byte(resource + "\n" + expiry)) // a hash takes everything
	return h.Sum(nil)
}

// SignedWith tells whether key has signed t, in a time that does not tell how
// nearly it did. An empty key signs nothing.
func (t Token) SignedWith(key string) bool {
	return key != "" && hmac.Equal(t.signature, sign(t.resource, t.expiry, key))
}

// Rule is the name of the rule that t is of.
func (t Token) Rule() string { return t.name }

// Expires is when t is no good any more; the zero time for one beyond all dates.
func (t Token) Expires() time.Time {
	if t.at > latest {
		return time.Time{}
	}
	return time.Unix(t.at, 0)
}

// latest is the end of the year 9999, in seconds since 1970.
const latest = 253402300799

// Expired tells whether t's time has passed: at its expiry it has.
func (t Token) Expired(now time.Time) bool { return now.Unix() >= t.at }

// Audience is the path that t is for; empty: everything.
func (t Token) Audience() string {
	decoded, err := url.PathUnescape(t.resource)
	if err != nil {
		return t.resource // it was parsed, so this does not come
	}
	return PathOf(decoded)
}

// Host is the host that t is for, in lower case and perhaps with a port; it may be
// empty.
func (t Token) Host() string {
	decoded, err := url.PathUnescape(t.resource)
	if err != nil {
		return ""
	}
	if _, rest, ok := strings.Cut(decoded, "://"); ok {
		decoded = rest
	}
	host, _, _ := strings.Cut(decoded, "/")
	return strings.ToLower(host)
}

// PathOf is the path in an audience: a URL of any scheme, or one without, which
// begins with the host. It is in lower case, without slashes around it, without
// the query, and without what names a part of an entity that has no rules of its
// own: $management, and the door through which a WebSocket came.
func PathOf(audience string) string {
	if _, rest, ok := strings.Cut(audience, "://"); ok {
		audience = rest
	}
	audience, _, _ = strings.Cut(audience, "?")
	_, path, _ := strings.Cut(audience, "/")
	return clean(path)
}

// PathTo is the path that PathOf has for the address of an entity, or of something
// below one, in this namespace: nothing is decoded or left out, for it is what a
// request is about.
func PathTo(address string) string { return strings.ToLower(strings.Trim(address, "/")) }

func clean(path string) string {
	if decoded, err := url.PathUnescape(path); err == nil { // it may have been encoded twice
		path = decoded
	}
	path = strings.ToLower(strings.Trim(path, "/"))
	path = strings.Trim(cutSegments(path, socketPath), "/")
	path = strings.TrimSuffix("/"+path, "/"+management)
	return strings.Trim(path, "/")
}

const (
	management = "$management"
	socketPath = "$servicebus/websocket"
)

// cutSegments is path without a prefix of whole segments.
func cutSegments(path, prefix string) string {
	if rest, ok := strings.CutPrefix(path, prefix); ok && (rest == "" || rest[0] == '/') {
		return rest
	}
	return path
}

// Covers tells whether what is for audience is for path too, both as PathOf has
// them: it is the same, or above it.
func Covers(audience, path string) bool {
	return audience == "" || audience == path || strings.HasPrefix(path, audience+"/")
}
