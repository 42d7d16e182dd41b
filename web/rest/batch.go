package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/shorten"
	"mayfly/engine/value"
	"mayfly/engine/value/measure"
	"mayfly/web/auth/origin"
	"mayfly/web/exchange"
)

// maxBatch is the maximum number of messages in a batch.
const maxBatch = 5000

// readBatch reads a list of messages. It returns an error if the list has more than `most` bytes.
// It waits for memory for the bytes and for the decoded messages.
func readBatch(ctx context.Context, r *http.Request, most int64) ([]broker.Outgoing, error) {
	if r.ContentLength > most {
		return nil, engine.Refuse(engine.ErrTooLarge, "The batch has %d bytes; at most %d are allowed.", r.ContentLength, most)
	}
	share := origin.ShareOf(ctx)
	raw, err := share.ReadAll(ctx, r.Body, most)
	if err != nil {
		return nil, fmt.Errorf("read the body: %w", err)
	}
	if int64(len(raw)) > most {
		return nil, engine.Refuse(engine.ErrTooLarge, "The batch has more than the %d bytes allowed.", most)
	}
	if err := share.Grow(ctx, exchange.Cost(raw)); err != nil {
		return nil, err
	}
	return parseBatch(raw)
}

// parseBatch reads [{"Body":"…","BrokerProperties":{…},"UserProperties":{…}}]. It ignores unknown
// members and broker properties, as the hosted service does.
func parseBatch(raw []byte) ([]broker.Outgoing, error) {
	if measure.CountItems(raw) > maxBatch {
		return nil, engine.Refuse(engine.ErrOutOfRange, "The batch has more than the %d messages allowed.", maxBatch)
	}
	if err := exchange.CheckBounds(raw); err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return nil, engine.Refuse(engine.ErrArgument, `The batch must be a list of messages, as in [{"Body":"…","BrokerProperties":{},"UserProperties":{}}].`)
	}
	var out []broker.Outgoing
	for d.More() {
		var item json.RawMessage
		if err := d.Decode(&item); err != nil {
			return nil, engine.Refuse(engine.ErrArgument, "The batch is not valid JSON at position %d.", len(out))
		}
		o, err := parseItem(item)
		if err != nil {
			return nil, prefix(err, "The message at position %d of the batch: ", len(out))
		}
		out = append(out, o)
	}
	if _, err := d.Token(); err != nil {
		return nil, engine.Refuse(engine.ErrArgument, "The batch is not valid JSON: it ends too early.")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, engine.Refuse(engine.ErrArgument, "Something follows the end of the batch.")
	}
	return out, nil
}

func parseItem(raw []byte) (broker.Outgoing, error) {
	var item struct {
		Body             *string
		BrokerProperties json.RawMessage
		UserProperties   value.Properties
	}
	if err := json.Unmarshal(raw, &item); err != nil {
		if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && e.Field != "" {
			return broker.Outgoing{}, engine.Refuse(engine.ErrArgument, "'%s' has the wrong type: a %s.", shorten.Quote(e.Field), e.Value)
		}
		return broker.Outgoing{}, engine.Refuse(engine.ErrArgument, `It is not an object such as {"Body":"…","BrokerProperties":{},"UserProperties":{}}, or one of its UserProperties is not a single value.`)
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

// prefix puts formatted text before the text of an error. A refusal keeps its kind.
func prefix(err error, format string, args ...any) error {
	if r, ok := errors.AsType[*engine.Refusal](err); ok {
		return engine.RefuseCode(r.Kind, r.SubCode, "%s", fmt.Sprintf(format, args...)+r.Text)
	}
	return fmt.Errorf(format+"%w", append(args, err)...)
}
