package rest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/shorten"
)

// parseBrokerProperties parses the system properties that a sender may set (protocol §9).
// Names are matched without case. Properties that only the broker sets (MSG-1) and
// unknown ones are ignored.
func parseBrokerProperties(raw []byte) (engine.Content, error) {
	var c engine.Content
	if !utf8.Valid(raw) {
		return c, engine.Refuse(engine.ErrArgument, "The BrokerProperties are not UTF-8.")
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(raw, &given); err != nil || given == nil {
		return c, engine.Refuse(engine.ErrArgument, `The BrokerProperties are not a JSON object, as in {"MessageId":"1","TimeToLive":30}.`)
	}
	texts := map[string]*string{
		"messageid": &c.MessageID, "correlationid": &c.CorrelationID, "sessionid": &c.SessionID,
		"partitionkey": &c.PartitionKey, "viapartitionkey": &c.ViaPartitionKey, "to": &c.To,
		"replyto": &c.ReplyTo, "replytosessionid": &c.ReplyToSessionID, "label": &c.Subject,
		"contenttype": &c.ContentType,
	}
	for name, v := range given {
		if string(v) == "null" {
			continue
		}
		fold := strings.ToLower(name)
		if field, ok := texts[fold]; ok {
			text, ok := looseText(v)
			if !ok {
				return c, engine.Refuse(engine.ErrArgument, "The broker property '%s' must be a string, not %s.", shorten.Quote(name), shorten.Quote(string(v)))
			}
			*field = text
			c.EmptySessionID = c.EmptySessionID || fold == "sessionid" && *field == ""
			continue
		}
		var err error
		switch fold {
		case "timetolive":
			c.TTL, err = parseSeconds(v)
		case "timetolivetimespan":
			c.TTL, err = parseTimeSpan(v)
		case "scheduledenqueuetimeutc":
			c.ScheduledFor, err = parseMoment(v)
		}
		if err != nil {
			return c, err
		}
	}
	return c, nil
}

// looseText returns the text of a JSON value. The text of a number or a boolean is its JSON, as in
// .NET. It reports false for objects and lists.
func looseText(v json.RawMessage) (text string, ok bool) {
	if json.Unmarshal(v, &text) == nil {
		return text, true
	}
	return string(v), len(v) > 0 && v[0] != '{' && v[0] != '['
}

// parseSeconds parses TimeToLive, which is a number of seconds or, if it contains a colon, a time
// span. A value too long for a time.Duration, such as .NET's TimeSpan.MaxValue, means never, which
// is the same as unset (TTL-2).
func parseSeconds(v json.RawMessage) (time.Duration, error) {
	text, ok := looseText(v)
	if text = strings.TrimSpace(text); !ok || !isNumber(text) {
		if strings.Contains(text, ":") {
			return parseTimeSpan(v)
		}
		return 0, engine.Refuse(engine.ErrArgument, "The broker property 'TimeToLive' must be a number of seconds, not %s.", shorten.Quote(string(v)))
	}
	n := json.Number(text)
	seconds, err := n.Float64()
	if err != nil && !math.IsInf(seconds, 0) {
		return 0, engine.Refuse(engine.ErrArgument, "The broker property 'TimeToLive' must be a number of seconds, not %s.", shorten.Quote(string(v)))
	}
	switch {
	case seconds <= 0:
		return 0, engine.Refuse(engine.ErrOutOfRange, "The broker property 'TimeToLive' must be positive, not %s.", shorten.Quote(string(v)))
	case seconds >= math.MaxInt64/float64(time.Second):
		return 0, nil
	default:
		return max(1, time.Duration(math.Round(seconds*float64(time.Second)))), nil
	}
}

func parseTimeSpan(v json.RawMessage) (time.Duration, error) {
	var text string
	if json.Unmarshal(v, &text) != nil {
		return 0, engine.Refuse(engine.ErrArgument, "The broker property 'TimeToLiveTimeSpan' must be a string such as \"0.00:00:40\", not %s.", shorten.Quote(string(v)))
	}
	d, never, err := engine.ParseDuration(text)
	switch {
	case err != nil:
		return 0, engine.Refuse(engine.ErrArgument, "The broker property 'TimeToLiveTimeSpan' must be written as \"0.00:00:40\", not %s.", shorten.Quote(string(v)))
	case never:
		return 0, nil
	case d <= 0:
		return 0, engine.Refuse(engine.ErrOutOfRange, "The broker property 'TimeToLiveTimeSpan' must be positive, not %s.", shorten.Quote(string(v)))
	default:
		return d, nil
	}
}

// momentLayouts are the formats of a time: those of HTTP and ISO 8601, and those that
// .NET writes by default. A time without a zone is UTC.
var momentLayouts = []string{
	http.TimeFormat, time.RFC1123Z, time.RFC1123, time.RFC850, time.ANSIC, time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02T15:04",
	"2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999", "2006-01-02 15:04", "2006-01-02",
	"1/2/2006 3:04:05 PM", "1/2/2006 15:04:05", "1/2/2006 15:04", "1/2/2006",
}

func parseMoment(v json.RawMessage) (engine.Instant, error) {
	var text string
	if json.Unmarshal(v, &text) == nil {
		for _, layout := range momentLayouts {
			if t, err := time.Parse(layout, strings.TrimSpace(text)); err == nil {
				return engine.At(t), nil
			}
		}
	}
	return 0, engine.Refuse(engine.ErrArgument, "The broker property 'ScheduledEnqueueTimeUtc' must be a time such as \"Sun, 06 Nov 1994 08:49:37 GMT\", not %s.", shorten.Quote(string(v)))
}

// neverSeconds is how the hosted service writes an infinite time to live: the seconds of
// .NET's TimeSpan.MaxValue.
const neverSeconds = 922337203685.47754

// brokerPropertiesJSON is the BrokerProperties header of a response, in the hosted service's order.
type brokerPropertiesJSON struct {
	CorrelationID           string  `json:"CorrelationId,omitempty"`
	DeliveryCount           uint32  `json:"DeliveryCount"`
	EnqueuedSequenceNumber  int64   `json:"EnqueuedSequenceNumber"`
	EnqueuedTimeUTC         string  `json:"EnqueuedTimeUtc"`
	Label                   string  `json:"Label,omitempty"`
	LockToken               string  `json:"LockToken,omitempty"`
	LockedUntilUTC          string  `json:"LockedUntilUtc,omitempty"`
	MessageID               string  `json:"MessageId,omitempty"`
	PartitionKey            string  `json:"PartitionKey,omitempty"`
	ReplyTo                 string  `json:"ReplyTo,omitempty"`
	ReplyToSessionID        string  `json:"ReplyToSessionId,omitempty"`
	ScheduledEnqueueTimeUTC string  `json:"ScheduledEnqueueTimeUtc,omitempty"`
	SequenceNumber          int64   `json:"SequenceNumber"`
	SessionID               *string `json:"SessionId,omitempty"`
	State                   string  `json:"State"`
	TimeToLive              float64 `json:"TimeToLive"`
	To                      string  `json:"To,omitempty"`
	ViaPartitionKey         string  `json:"ViaPartitionKey,omitempty"`
}

// brokerProperties returns the BrokerProperties header of a response: JSON in ASCII.
func brokerProperties(m broker.Received, c engine.Content) string {
	p := brokerPropertiesJSON{
		CorrelationID: c.CorrelationID, Label: c.Subject, MessageID: c.MessageID, PartitionKey: c.PartitionKey,
		ReplyTo: c.ReplyTo, ReplyToSessionID: c.ReplyToSessionID, To: c.To, ViaPartitionKey: c.ViaPartitionKey,
		DeliveryCount:          m.Message.DeliveryCount + 1, // this delivery counts (DC-1)
		EnqueuedSequenceNumber: int64(m.Message.EnqueuedSeq), SequenceNumber: int64(m.Message.Seq),
		EnqueuedTimeUTC: httpTime(m.Message.EnqueuedAt), State: m.Message.State.String(), TimeToLive: neverSeconds,
	}
	if m.Path.IsDeadLetter() {
		p.DeliveryCount = 1 // DC-6
	}
	if c.HasSessionID() {
		p.SessionID = &c.SessionID
	}
	if ttl := m.TTL(); ttl != 0 {
		p.TimeToLive = ttl.Seconds()
	}
	if c.ScheduledFor != 0 {
		p.ScheduledEnqueueTimeUTC = httpTime(c.ScheduledFor)
	}
	if !m.Deleted {
		p.LockToken, p.LockedUntilUTC = m.Token().String(), httpTime(m.Message.LockedUntil)
	}
	return asciiJSON(p)
}

// setBrokerProperties sets the header BrokerProperties, in the case in which the hosted service
// writes its name. Header.Set would write it as Brokerproperties.
func setBrokerProperties(h http.Header, text string) { h["BrokerProperties"] = []string{text} }

func httpTime(i engine.Instant) string { return i.Time().Format(http.TimeFormat) }

func decimal(n engine.Seq) string { return strconv.FormatInt(int64(n), 10) }

// asciiJSON encodes v as JSON on one line, with only characters that a header may
// contain.
func asciiJSON(v any) string {
	var raw bytes.Buffer
	e := json.NewEncoder(&raw)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // strings and finite numbers always encode
	}
	var b strings.Builder
	for _, r := range strings.TrimSuffix(raw.String(), "\n") {
		switch {
		case r < 0x7f:
			b.WriteRune(r)
		case r > 0xffff:
			hi, lo := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, hi, lo)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
