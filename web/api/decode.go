package api

import (
	"fmt"
	"net/http"

	"mayfly/engine"
	"mayfly/web/auth/origin"
	"mayfly/web/exchange"
)

// smallBody bounds, in bytes, bodies that have no messages.
const smallBody = 1 << 20

// readBody reads the body of a request, of at most `most` bytes. It refuses a larger body before
// reading it if its length is announced, or else as soon as it is too long. It waits until the budget
// has room for the body and its decoded JSON; the request keeps that room until it ends.
func readBody(r *http.Request, most int64) ([]byte, error) {
	if err := checkLength(r, most); err != nil {
		return nil, err
	}
	share := origin.ShareOf(r.Context())
	raw, err := share.ReadAll(r.Context(), r.Body, most)
	if err != nil {
		return nil, fmt.Errorf("read the body: %w", err)
	}
	if int64(len(raw)) > most {
		return nil, tooLarge(most)
	}
	return raw, share.Grow(r.Context(), exchange.Cost(raw))
}

// readJSON returns the decoded body of a request, of at most `most` bytes; see readBody.
func readJSON[T any](r *http.Request, most int64) (in T, err error) {
	raw, err := readBody(r, most)
	if err == nil {
		err = decode(raw, &in)
	}
	return in, err
}

// checkLength returns an error if the announced length of the body exceeds `most` bytes.
func checkLength(r *http.Request, most int64) error {
	if r.ContentLength > most {
		return tooLarge(most)
	}
	return nil
}

func tooLarge(most int64) error {
	return engine.Refuse(engine.ErrTooLarge, "The request has more than %d bytes, the maximum.", most)
}

// decode is exchange.Decode.
func decode(raw []byte, v any) error { return exchange.Decode(raw, v) }
