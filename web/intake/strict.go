package intake

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"mayfly/engine"
)

// MaxDepth is how deeply JSON may be nested: a list of messages with typed
// properties needs four.
const MaxDepth = 16

// Decode reads raw into v: one JSON value, no more, no members that v does not
// have. No bytes at all leave v as it is.
func Decode(raw []byte, v any) error {
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
			if depth++; depth > MaxDepth {
				return argument("The JSON is nested more than %d deep.", MaxDepth)
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

func argument(format string, args ...any) error {
	return &engine.Refusal{Kind: engine.ErrArgument, Text: fmt.Sprintf(format, args...)}
}

func outOfRange(format string, args ...any) error {
	return &engine.Refusal{Kind: engine.ErrOutOfRange, Text: fmt.Sprintf(format, args...)}
}

// sentence gives an error the looks of one.
func sentence(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	s = strings.ToUpper(string(r)) + s[n:]
	if !strings.HasSuffix(s, ".") {
		s += "."
	}
	return s
}

// cut shortens what somebody sent for use in an error.
func cut(s string) string {
	const most = 64
	s = strings.ToValidUTF8(s, "\ufffd")
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
