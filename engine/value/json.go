package value

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"mayfly/engine/shorten"
)

// typed is the typed form of a Value in JSON. Base64 is used instead of Value if the text is not
// valid UTF-8, which JSON cannot contain.
type typed struct {
	Type   string           `json:"type"`
	Value  *json.RawMessage `json:"value,omitempty"`
	Base64 *string          `json:"base64,omitempty"`
}

// MarshalJSON returns the kind and the Text, as in {"type":"int","value":"5"}. The text is
// always a string, since a number in JSON loses its type and often its last digits.
func (v Value) MarshalJSON() ([]byte, error) {
	t := typed{Type: v.kind.String()}
	switch text := v.Text(); {
	case v.kind == Null:
	case !utf8.ValidString(text):
		b := base64.StdEncoding.EncodeToString([]byte(text))
		t.Base64 = &b
	default:
		raw, err := json.Marshal(text)
		if err != nil {
			return nil, fmt.Errorf("write a %v as JSON: %w", v.kind, err)
		}
		t.Value = (*json.RawMessage)(&raw)
	}
	return json.Marshal(t)
}

// UnmarshalJSON parses the output of MarshalJSON, where the value may also be a number or
// boolean, and plain JSON: null, true, "text", 5 for a long and 5.0 or 5e0 for a double.
// Lists, other objects, and whole numbers that are too large for a long are errors.
func (v *Value) UnmarshalJSON(b []byte) error {
	b = bytes.TrimSpace(b)
	if len(b) == 0 {
		return errors.New("a property has no value")
	}
	switch b[0] {
	case '{':
		return v.unmarshalTyped(b)
	case '[':
		return errors.New("a property cannot be a list")
	}
	text, kind, err := plain(b)
	if err != nil {
		return err
	}
	if kind == Long {
		if _, err := strconv.ParseInt(text, 10, 64); errors.Is(err, strconv.ErrRange) {
			return fmt.Errorf(`%s is too large for a long: add its type, as in {"type":"ulong","value":"%s"}`, shorten.Quote(text), shorten.Quote(text))
		}
	}
	p, err := Parse(kind, text)
	if err != nil {
		return err
	}
	*v = p
	return nil
}

func (v *Value) unmarshalTyped(b []byte) error {
	var t typed
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&t); err != nil || t.Type == "" {
		return errors.New(`write a property as a plain value or as {"type":"int","value":"5"}`)
	}
	kind, err := ParseKind(t.Type)
	if err != nil {
		return err
	}
	var text string
	switch {
	case t.Base64 != nil && t.Value != nil:
		return errors.New("a property must have either value or base64, not both")
	case t.Base64 != nil:
		raw, err := base64.StdEncoding.DecodeString(*t.Base64)
		if err != nil {
			return fmt.Errorf("%q is not base64", shorten.Quote(*t.Base64))
		}
		text = string(raw)
	case t.Value != nil:
		if c := (*t.Value)[0]; c == '{' || c == '[' {
			return fmt.Errorf("the value of a property of type %v must be a string, a number or a boolean", kind)
		}
		if text, _, err = plain(*t.Value); err != nil {
			return err
		}
	case kind != Null:
		return fmt.Errorf("a property of type %v has no value", kind)
	}
	p, err := Parse(kind, text)
	if err != nil {
		return err
	}
	*v = p
	return nil
}

// plain returns the text and the kind of a JSON string, number, boolean or null.
func plain(b []byte) (string, Kind, error) {
	switch s := string(b); {
	case s == "null":
		return "", Null, nil
	case s == "true", s == "false":
		return s, Bool, nil
	case b[0] == '"':
		var text string
		if err := json.Unmarshal(b, &text); err != nil {
			return "", Null, fmt.Errorf("read a string: %w", err)
		}
		return text, String, nil
	case strings.ContainsAny(s, ".eE"):
		return s, Double, nil
	default:
		return s, Long, nil
	}
}

// MarshalJSON returns an object with a member for each property, in order and including duplicate
// names. Bytes in names that are not UTF-8 are replaced.
func (p Properties) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i := range p {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(p[i].Name)
		if err != nil {
			return nil, fmt.Errorf("write the name of a property: %w", err)
		}
		v, err := p[i].Value.MarshalJSON()
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(v)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// UnmarshalJSON parses an object whose members are Values, and keeps their order.
func (p *Properties) UnmarshalJSON(b []byte) error {
	if string(bytes.TrimSpace(b)) == "null" {
		*p = nil
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(b))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return errors.New(`properties must be an object, as in {"region":"eu"}`)
	}
	var out Properties
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return fmt.Errorf("read properties: %w", err)
		}
		name, ok := t.(string)
		if !ok {
			return fmt.Errorf("the name of a property must be a string, not %v", t)
		}
		q := Property{Name: name}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return fmt.Errorf("read property %q: %w", shorten.Quote(q.Name), err)
		}
		if err := q.Value.UnmarshalJSON(raw); err != nil {
			return fmt.Errorf("property %q: %w", shorten.Quote(q.Name), err)
		}
		out = append(out, q)
	}
	*p = out
	return nil
}
