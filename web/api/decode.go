package api

import (
	"fmt"
	"io"
	"net/http"

	"mayfly/engine"
	"mayfly/web/intake"
)

// smallBody bounds, in bytes, what is not a message.
const smallBody = 1 << 20

// readBody is the body of a request, of at most so many bytes. More than that
// is refused before it is read, or as soon as that is known.
func readBody(r *http.Request, most int64) ([]byte, error) {
	if err := checkLength(r, most); err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(io.LimitReader(r.Body, most+1))
	if err != nil {
		return nil, fmt.Errorf("read the body: %w", err)
	}
	if int64(len(raw)) > most {
		return nil, tooLarge(most)
	}
	return raw, nil
}

// given is the body of a request of at most so many bytes, as decode reads it.
func given[T any](r *http.Request, most int64) (in T, err error) {
	raw, err := readBody(r, most)
	if err == nil {
		err = decode(raw, &in)
	}
	return in, err
}

// checkLength refuses a request that says that it is too large.
func checkLength(r *http.Request, most int64) error {
	if r.ContentLength > most {
		return tooLarge(most)
	}
	return nil
}

func tooLarge(most int64) error {
	return &engine.Refusal{Kind: engine.ErrTooLarge, Text: fmt.Sprintf("The request has more than the %d bytes allowed here.", most)}
}

// decode is intake.Decode.
func decode(raw []byte, v any) error { return intake.Decode(raw, v) } //nolint:wrapcheck // it says what it is about
