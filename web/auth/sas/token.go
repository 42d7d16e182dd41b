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

// scheme is the word with which each token begins.
const scheme = "SharedAccessSignature"

// maxToken is the maximum length of a token in bytes.
const maxToken = 16 << 10

// ErrMalformed is the error for text that is not a token.
var ErrMalformed = errors.New("MalformedToken: The token is not a shared access signature of the form 'SharedAccessSignature sr=…&sig=…&se=…&skn=…'.") //nolint:revive,staticcheck // as clients read it

// A Token is a parsed shared access signature. Parsing does not verify the signature.
type Token struct {
	resource  string // sr, still encoded because the signature covers it so
	expiry    string // se as written; the signature covers it so
	expiresAt int64  // expiry, in seconds since 1970
	signature []byte
	name      string // of the rule whose key has signed
}

// LooksLikeToken reports whether text looks like a token, whatever the client calls its type: some
// clients send one as type "jwt".
func LooksLikeToken(text string) bool {
	text = strings.TrimLeft(text, " ")
	return len(text) > len(scheme) && strings.EqualFold(text[:len(scheme)], scheme) && text[len(scheme)] == ' '
}

// Parse parses a token. It does not check the signature or the expiry. The error is
// ErrMalformed.
func Parse(text string) (t Token, err error) {
	if !LooksLikeToken(text) || len(text) > maxToken {
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
	at, timed := seconds(t.expiry)
	signature, badBase := base64.StdEncoding.DecodeString(sig)
	if _, err := url.PathUnescape(t.resource); errors.Join(err, badSig, badName, badBase) != nil || t.resource == "" || name == "" || !timed {
		return Token{}, ErrMalformed
	}
	t.expiresAt, t.name, t.signature = at, name, signature
	return t, nil
}

// seconds parses an expiry of at most 19 digits, without sign, space or fraction.
func seconds(text string) (at int64, ok bool) {
	if len(text) > 19 || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	at, err := strconv.ParseInt(text, 10, 64)
	return at, err == nil
}

// Sign returns a token for resource, a URL, which Sign encodes.
func Sign(resource, name, key string, expires time.Time) string {
	sr, se := escape(resource), strconv.FormatInt(expires.Unix(), 10)
	sig := base64.StdEncoding.EncodeToString(sign(sr, se, key))
	return fmt.Sprintf("%s sr=%s&sig=%s&se=%s&skn=%s", scheme, sr, escape(sig), se, escape(name))
}

// escape encodes s without plus signs, because some readers take them for spaces and
// others do not.
func escape(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

func sign(resource, expiry, key string) []byte {
	h := hmac.New(sha256.New, []byte(key))
	_, _ = h.Write([]byte(resource + "\n" + expiry)) // a hash takes everything
	return h.Sum(nil)
}

// SignedWith reports whether key has signed t. It takes constant time. An empty key signs
// nothing.
func (t Token) SignedWith(key string) bool {
	return key != "" && hmac.Equal(t.signature, sign(t.resource, t.expiry, key))
}

// Rule returns the name of the rule whose key signed t.
func (t Token) Rule() string { return t.name }

// Expires returns when t expires, or the zero time if that is after the year 9999.
func (t Token) Expires() time.Time {
	if t.expiresAt > maxExpiry {
		return time.Time{}
	}
	return time.Unix(t.expiresAt, 0)
}

// maxExpiry is the end of the year 9999, in seconds since 1970.
const maxExpiry = 253402300799

// Expired reports whether t has expired at `now`: the second of its expiry is over or has begun.
func (t Token) Expired(now time.Time) bool { return now.Unix() >= t.expiresAt }

// Audience returns the path that t is for in the namespace with the names `of`; "" is the whole
// namespace. It reports whether t is for that namespace at all.
func (t Token) Audience(of Names) (path string, ok bool) {
	decoded, err := url.PathUnescape(t.resource)
	if err != nil {
		return "", false // Parse has checked it
	}
	host, path, ok := splitAudience(decoded)
	if !ok || !of.Has(host) {
		return "", false
	}
	return cleanPath(path), true
}

// Host returns the host of t's audience, in lower case and perhaps with a port. It may be
// empty.
func (t Token) Host() string {
	decoded, err := url.PathUnescape(t.resource)
	if err != nil {
		return ""
	}
	host, _, _ := splitAudience(decoded)
	return strings.ToLower(host)
}

// PathOf returns the path in an audience, which is a URL of any scheme, or one without
// scheme that begins with the host. The path is in lower case, without slashes around it
// and without the query. It also lacks $management and the WebSocket endpoint, which are
// parts of an entity or namespace without rules of their own: $management of the
// namespace itself stays, because it is not the namespace. PathOf does not check that the
// host is this server's; [Token.Audience] does.
func PathOf(audience string) string {
	if _, rest, ok := strings.Cut(audience, "://"); ok {
		audience = rest
	}
	audience, _, _ = strings.Cut(audience, "?")
	_, path, _ := strings.Cut(audience, "/")
	return cleanPath(path)
}

// PathTo returns the address of an entity, or of something below one, in the form of
// PathOf. Unlike PathOf, it neither decodes nor removes anything, because the request uses this
// address.
func PathTo(address string) string { return strings.ToLower(strings.Trim(address, "/")) }

func cleanPath(path string) string {
	if decoded, err := url.PathUnescape(path); err == nil { // it may have been encoded twice
		path = decoded
	}
	path = strings.ToLower(strings.Trim(path, "/"))
	path = strings.Trim(cutSegments(path, socketPath), "/")
	if entity, ok := strings.CutSuffix(path, "/"+management); ok {
		path = strings.Trim(entity, "/")
	}
	return path
}

const (
	management = "$management"
	socketPath = "$servicebus/websocket"
)

// cutSegments returns path without prefix, if prefix ends at a segment boundary.
func cutSegments(path, prefix string) string {
	if rest, ok := strings.CutPrefix(path, prefix); ok && (rest == "" || rest[0] == '/') {
		return rest
	}
	return path
}

// Covers reports whether a token for audience is valid for path, both in the form of
// PathOf: audience is path or above it.
func Covers(audience, path string) bool {
	return audience == "" || audience == path || strings.HasPrefix(path, audience+"/")
}
