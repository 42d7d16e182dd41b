package exchange

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"mayfly/engine"
	"mayfly/engine/shorten"
	"mayfly/engine/value/measure"
)

const (
	// MaxDepth is how deeply JSON may be nested: a list of messages with typed
	// properties needs four.
	MaxDepth = 16
	// MaxValues is how many values JSON may have in all, and MaxItems how many in one list
	// or object. That allows 25 values for each of 5,000 messages of a batch, and 13,000 for
	// a message with as many properties as its size allows.
	MaxValues = 128 << 10
	MaxItems  = 16 << 10
	// MaxName is how many bytes the name of a member may have. Property names are shorter.
	MaxName = 64 << 10
	// ValueCost is how many bytes of memory decoding a value takes beside its text.
	ValueCost = 200
)

// Cost returns how many bytes of memory Decode takes for raw, or zero if Decode would refuse raw. It
// allocates nothing.
func Cost(raw []byte) int64 {
	n, err := measure.CountValues(raw, jsonBounds())
	if err != nil {
		return 0 // Decode refuses raw
	}
	return int64(n) * ValueCost
}

func jsonBounds() measure.Bounds {
	return measure.Bounds{Depth: MaxDepth, Values: MaxValues, Items: MaxItems, Name: MaxName}
}

// Decode reads raw into v. It refuses more than one JSON value, and members that v does not
// have. If raw is blank, v is left unchanged.
func Decode(raw []byte, v any) error {
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil
	}
	if err := CheckBounds(raw); err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return jsonError(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return engine.Refuse(engine.ErrArgument, "Something follows the end of the JSON.")
	}
	return nil
}

// CheckBounds returns an error for JSON that exceeds the bounds above, without decoding it.
func CheckBounds(raw []byte) error {
	if _, err := measure.CountValues(raw, jsonBounds()); err != nil {
		return engine.Refuse(engine.ErrArgument, "%s", sentence(err.Error()))
	}
	return nil
}

// jsonError describes a JSON error for the author of the JSON.
func jsonError(err error) error {
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		kind := strings.Replace(e.Value, "array", "list", 1)
		if e.Field == "" {
			return engine.Refuse(engine.ErrArgument, "The JSON has the wrong type: a %s.", kind)
		}
		return engine.Refuse(engine.ErrArgument, "'%s' has the wrong type: a %s.", shorten.Quote(e.Field), kind)
	}
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return engine.Refuse(engine.ErrArgument, "The JSON is not valid at byte %d: %s.", e.Offset, strings.TrimPrefix(e.Error(), "json: "))
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return engine.Refuse(engine.ErrArgument, "The JSON ends too early.")
	}
	text := strings.TrimPrefix(err.Error(), "json: ")
	if name, unknown := strings.CutPrefix(text, "unknown field "); unknown {
		text = "unknown field " + shorten.Quote(name)
	}
	return engine.Refuse(engine.ErrArgument, "%s", sentence(text))
}

// sentence makes s a sentence: a capital first letter and a full stop.
func sentence(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	s = strings.ToUpper(string(r)) + s[n:]
	if !strings.HasSuffix(s, ".") {
		s += "."
	}
	return s
}
