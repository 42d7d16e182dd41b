package api

import (
	"crypto/sha256"
	"hash"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/web/auth"
	"mayfly/web/errorcodes"
)

const (
	keyHeader      = "Idempotency-Key"
	replayedHeader = "Idempotency-Replayed"
	maxKey         = 255

	aboutKey = "With a header Idempotency-Key, 1 to 255 random characters, a repeated request is not executed again and gets the answer of the first. Use it where you retry requests whose answers may be lost. " +
		"The server remembers the latest 1,000 keys while it serves the namespace, except those of refused requests."
)

const codeKeyReused = "IdempotencyKeyReused" // for errorcodes.ErrKeyReused

// A keyedAnswer is the digest of a request with a key, and its answer.
type keyedAnswer struct {
	digest [sha256.Size]byte
	status int
	body   []byte
}

// readKey returns the key of a request, and the digest of its body as that is read. The key is
// empty if the request has none.
func readKey(r *http.Request) (key string, digest hash.Hash, err error) {
	all := r.Header.Values(keyHeader)
	if len(all) == 0 {
		return "", nil, nil
	}
	key = all[0]
	bad := func(c rune) bool { return c < ' ' || c > '~' }
	if len(all) > 1 || key == "" || len(key) > maxKey || strings.ContainsFunc(key, bad) {
		return "", nil, engine.Refuse(engine.ErrArgument, "The request must have one %s of 1 to %d printable ASCII characters.", keyHeader, maxKey)
	}
	digest = sha256.New()
	_, _ = io.WriteString(digest, r.Method+" "+r.URL.RequestURI()+"\n") //nolint:errcheck // never fails, by its contract
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.TeeReader(r.Body, digest), r.Body}
	return key, digest, nil
}

// answerOnce answers with the result of `act`. If an earlier request with the same key has succeeded,
// answerOnce answers with that request's result instead, or with an error if its body was another. The
// body must have been read. An empty key means that the request has none.
func (d *handler) answerOnce(c echo.Context, key string, digest hash.Hash, status int, act func() (any, error)) error {
	is := keyedAnswer{status: status}
	if key != "" {
		is.digest = [sha256.Size]byte(digest.Sum(nil))
		key = auth.FromRequest(c.Request()).Key() + "\n" + key
	}
	came, again, err := d.sendResults.Do(c.Request().Context(), key, func() (keyedAnswer, error) {
		v, err := act()
		if err == nil {
			is.body, err = marshal(v)
		}
		return is, err
	})
	switch {
	case err != nil:
		return err
	case again && came.digest != is.digest:
		return engine.Refuse(errorcodes.ErrKeyReused, "%s", "This "+keyHeader+" was already used for another request. Nothing was done.")
	case again:
		c.Response().Header().Set(replayedHeader, "true")
	}
	return c.JSONBlob(came.status, append(slices.Clip(came.body), '\n'))
}
