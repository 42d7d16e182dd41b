package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"mayfly/engine"
)

// maxDepth is how deeply JSON may be nested: a list of messages with typed
// properties needs four.
const maxDepth = 16

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

// decode reads raw into v: one JSON value, no more, no members that v does not
// have. No bytes at all leave v as it is.
func decode(raw []byte, v any) error {
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil
	}
	if err := checkDepth(raw); err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return jsonError(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return argument("Something follows the end of the JSON.")
	}
	return nil
}

// checkDepth looks at brackets alone; whether they match is the decoder's to say.
func checkDepth(raw []byte) error {
	depth, quoted := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return argument("The JSON is nested more than %d deep.", maxDepth)
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}

// jsonError says what is wrong with JSON in the words of whoever wrote it.
func jsonError(err error) error {
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		kind := strings.Replace(e.Value, "array", "list", 1)
		if e.Field == "" {
			return argument("The JSON has the wrong type: a %s.", kind)
		}
		return argument("'%s' has the wrong type: a %s.", cut(e.Field), kind)
	}
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return argument("The JSON is not valid at byte %d: %s.", e.Offset, strings.TrimPrefix(e.Error(), "json: "))
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return argument("The JSON ends too early.")
	}
	return argument("%s", sentence(strings.TrimPrefix(err.Error(), "json: ")))
}
