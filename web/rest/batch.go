package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/value"
)

// maxBatch is how many messages a list may have.
const maxBatch = 5000

// readBatch is the messages of a list of at most so many bytes.
func readBatch(r *http.Request, most int64) ([]broker.Outgoing, error) {
	if r.ContentLength > most {
		return nil, tooLarge("The batch has %d bytes; at most %d are allowed here.", r.ContentLength, most)
	}
	raw, err := io.ReadAll(io.LimitReader(r.Body, most+1))
	if err != nil {
		return nil, fmt.Errorf("read the body: %w", err)
	}
	if int64(len(raw)) > most {
		return nil, tooLarge("The batch has more than the %d bytes allowed here.", most)
	}
	return parseBatch(raw)
}

// parseBatch reads [{"Body":"…","BrokerProperties":{…},"UserProperties":{…}}].
// Members that do not exist are errors, since a message would be stored
// without what they say; unknown broker properties are ignored, as they are in
// the header.
func parseBatch(raw []byte) ([]broker.Outgoing, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return nil, argument(`The batch is not a list of messages, as in [{"Body":"…","BrokerProperties":{},"UserProperties":{}}].`)
	}
	var out []broker.Outgoing
	for d.More() {
		if len(out) == maxBatch {
			return nil, outOfRange("The batch has more than the %d messages allowed.", maxBatch)
		}
		var item json.RawMessage
		if err := d.Decode(&item); err != nil {
			return nil, argument("The batch is not valid JSON at position %d: %v.", len(out), err)
		}
		o, err := parseItem(item)
		if err != nil {
			return nil, prefix(err, "The message at position %d of the batch: ", len(out))
		}
		out = append(out, o)
	}
	if _, err := d.Token(); err != nil {
		return nil, argument("The batch is not valid JSON: it ends too early.")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, argument("Something follows the end of the batch.")
	}
	return out, nil
}

func parseItem(raw []byte) (broker.Outgoing, error) {
	var item struct {
		Body             *string
		BrokerProperties json.RawMessage
		UserProperties   value.Properties
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&item); err != nil {
		if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return broker.Outgoing{}, argument("'%s' has the wrong type: a %s.", cut(e.Field), e.Value)
		}
		return broker.Outgoing{}, argument("%s.", cut(err.Error()))
	}
	var c engine.Content
	if len(item.BrokerProperties) > 0 && string(item.BrokerProperties) != "null" {
		var err error
		if c, err = parseBrokerProperties(item.BrokerProperties); err != nil {
			return broker.Outgoing{}, err
		}
	}
	c.Properties = item.UserProperties
	o := broker.Outgoing{Content: c}
	if item.Body != nil {
		o.Body = []byte(*item.Body)
	}
	return o, nil
}

// prefix says where a refusal comes from, and keeps its kind.
func prefix(err error, format string, args ...any) error {
	if r, ok := errors.AsType[*engine.Refusal](err); ok {
		return &engine.Refusal{Kind: r.Kind, SubCode: r.SubCode, Text: fmt.Sprintf(format, args...) + r.Text}
	}
	return fmt.Errorf(format+"%w", append(args, err)...)
}

func tooLarge(format string, args ...any) error {
	return &engine.Refusal{Kind: engine.ErrTooLarge, SubCode: 40300, Text: fmt.Sprintf(format, args...)}
}
