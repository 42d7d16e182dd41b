package api

import (
	"crypto/sha256"
	"errors"
	"hash"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/web/identity"
)

const (
	keyHeader      = "Idempotency-Key"
	replayedHeader = "Idempotency-Replayed"
	longestKey     = 255

	aboutKey = "With a header Idempotency-Key, 1 to 255 characters that nobody else thinks of, a request that is sent again does nothing again, and has the answer of the first: say it where an answer may be lost and be asked for again. " +
		"The latest 1,000 keys are remembered, as long as the server serves the namespace. What was refused is forgotten."
)

// errKeyReused says that a key is one of another request.
var errKeyReused = errors.New("idempotency key reused")

const codeKeyReused = "IdempotencyKeyReused"

// An answered is what a request under a key was, and the answer that it had.
type answered struct {
	print  [sha256.Size]byte
	status int
	body   []byte
}

// keyed is the key that a request is under, and the digest of all that is read of its
// body from now on; no key: it is under none.
func keyed(r *http.Request) (key string, digest hash.Hash, err error) {
	all := r.Header.Values(keyHeader)
	if len(all) == 0 {
		return "", nil, nil
	}
	key = all[0]
	bad := func(c rune) bool { return c < ' ' || c > '~' }
	if len(all) > 1 || key == "" || len(key) > longestKey || strings.ContainsFunc(key, bad) {
		return "", nil, argument("%s has 1 to %d characters of ASCII that can be printed, once.", keyHeader, longestKey)
	}
	digest = sha256.New()
	_, _ = io.WriteString(digest, r.Method+" "+r.URL.RequestURI()+"\n") //nolint:errcheck // never fails, by its contract
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.TeeReader(r.Body, digest), r.Body}
	return key, digest, nil
}

// once answers with what act gives, and under a key that it was done under already with
// what it gave then. The body has to be read by now.
func (d *door) once(c echo.Context, key string, digest hash.Hash, status int, act func() (any, error)) error {
	is := answered{status: status}
	if key != "" {
		is.print = [sha256.Size]byte(digest.Sum(nil))
		key = identity.Asking(c.Request()).Key() + "\n" + key
	}
	came, again, err := d.sends.Do(c.Request().Context(), key, func() (answered, error) {
		v, err := act()
		if err == nil {
			is.body, err = marshal(v)
		}
		return is, err
	})
	switch {
	case err != nil:
		return err //nolint:wrapcheck // it says what it is about
	case again && came.print != is.print:
		return &engine.Refusal{Kind: errKeyReused, Text: "This " + keyHeader + " was that of another request. Nothing was done."}
	case again:
		c.Response().Header().Set(replayedHeader, "true")
	}
	return c.JSONBlob(came.status, append(slices.Clip(came.body), '\n'))
}
