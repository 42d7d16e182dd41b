package rest

import (
	"encoding/json"
	"math"
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"mayfly/engine"
	"mayfly/engine/shorten"
	"mayfly/engine/value"
)

// protocolHeaders are the request headers of HTTP, browsers, proxies and this protocol; a final *
// matches the rest of a name. Clients send these headers by themselves, so they are not application
// properties. All other headers are, even those that HTTP defines only for responses, such as
// Location, and even Priority, which Microsoft's example sends (REST-3).
var protocolHeaders = []string{
	"accept*", "access-control-*", "authorization", "brokerproperties", "cache-control", "connection", "content-*", "cookie*",
	"dnt", "early-data", "expect*", "forwarded", "host", "http2-settings", "if-*", "keep-alive", "max-forwards", "origin*", "pragma",
	"proxy-*", "range", "referer", "sec-*", "servicebusauthorization", "servicebussupplementaryauthorization", "te", "trailer",
	"transfer-encoding", "upgrade*", "user-agent", "via", "x-forwarded-*", "x-ms-*", "x-real-ip", "x-request-id",
}

// reservedInAnswers are the headers, beside protocolHeaders, that a response cannot have
// as application properties: this protocol or HTTP sets them, or they would let a sender
// control a receiver's browser, for example by setting cookies.
var reservedInAnswers = []string{
	"allow", "alt-svc", "clear-site-data", "cross-origin-*", "date", "etag", "expires", "last-modified", "link", "location", "nel",
	"permissions-policy", "referrer-policy", "refresh", "report-to", "reporting-endpoints", "retry-after", "server", "set-cookie*",
	"sourcemap", "speculation-rules", "strict-transport-security", "timing-allow-origin", "userproperties", "vary", "warning",
	"www-authenticate", "x-content-*", "x-dns-*", "x-frame-*", "x-permitted-*", "x-powered-by", "x-ua-*", "x-xss-*",
}

func isOneOf(names []string, name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(names, func(r string) bool {
		if begin, ok := strings.CutSuffix(r, "*"); ok {
			return strings.HasPrefix(name, begin)
		}
		return name == r
	})
}

// isReserved reports whether a header of a response cannot be an application property.
func isReserved(name string) bool {
	return isOneOf(protocolHeaders, name) || isOneOf(reservedInAnswers, name)
}

// parseHeader parses the application properties of a message, one for each header. They
// are sorted by name, because HTTP does not keep their order.
func parseHeader(h http.Header) (value.Properties, error) {
	var names []string
	for name := range h {
		if !isOneOf(protocolHeaders, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var props value.Properties
	for _, name := range names {
		for _, text := range h[name] {
			v, err := parseHeaderValue(text)
			if err != nil {
				return nil, engine.Refuse(engine.ErrArgument, "The header '%s' is not a property: %v.", shorten.Quote(name), err)
			}
			props = append(props, value.Property{Name: name, Value: v})
		}
	}
	return props, nil
}

// parseHeaderValue parses a property. Text in quotes is a JSON string, or a time if it is
// in HTTP's format. true, false, null and numbers are as in JSON; whole numbers are of
// type long. Anything else is a string, for clients that forget the quotes.
func parseHeaderValue(s string) (value.Value, error) {
	s = textproto.TrimString(s)
	switch {
	case !utf8.ValidString(s):
		return value.Value{}, engine.Refuse(engine.ErrArgument, "it is not UTF-8")
	case strings.HasPrefix(s, `"`):
		var text string
		if err := json.Unmarshal([]byte(s), &text); err != nil {
			return value.Value{}, engine.Refuse(engine.ErrArgument, `a quoted string must be written as in JSON, not as %s`, shorten.Quote(s))
		}
		if t, err := time.Parse(http.TimeFormat, text); err == nil {
			return value.OfTimestamp(t.UnixMilli()), nil
		}
		return value.OfString(text), nil
	case strings.EqualFold(s, "true"), strings.EqualFold(s, "false"):
		return value.OfBool(strings.EqualFold(s, "true")), nil
	case s == "null":
		return value.Value{}, nil
	case isNumber(s):
		return parseNumber(s), nil
	default:
		return value.OfString(s), nil
	}
}

// isNumber reports whether s is a JSON number.
func isNumber(s string) bool {
	return s != "" && strings.ContainsRune("-0123456789", rune(s[0])) && json.Valid([]byte(s))
}

func parseNumber(s string) value.Value {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return value.OfLong(n)
	}
	if n, err := strconv.ParseUint(s, 10, 64); err == nil {
		return value.OfULong(n)
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil { // outside the range of a double
		return value.OfString(s)
	}
	return value.OfDouble(f)
}

// userProperties is the response header with those properties that cannot be headers of
// their own, as a JSON object.
const userProperties = "UserProperties"

// writeHeader puts the application properties into the headers of a response, with their
// names in the case in which they are stored. A name that cannot be a header, or that has
// another meaning in HTTP, goes into the header UserProperties (REST-3).
func writeHeader(h http.Header, props value.Properties) {
	others := map[string]json.RawMessage{}
	for _, p := range props {
		if isToken(p.Name) && !isReserved(p.Name) {
			h[p.Name] = append(h[p.Name], formatHeaderValue(p.Value))
			continue
		}
		others[strings.ToValidUTF8(p.Name, "\ufffd")] = json.RawMessage(formatHeaderValue(p.Value))
	}
	if len(others) > 0 {
		h[userProperties] = []string{asciiJSON(others)}
	}
}

// formatHeaderValue formats v as parseHeaderValue parses it. A value that HTTP cannot
// express becomes its text in quotes.
func formatHeaderValue(v value.Value) string {
	switch v.Kind() {
	case value.Null:
		return "null"
	case value.Bool, value.Byte, value.UByte, value.Short, value.UShort, value.Int, value.UInt, value.Long, value.ULong:
		return v.Text()
	case value.Float, value.Double:
		f, _ := v.Float64()
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return asciiJSON(v.Text())
		}
		if t := v.Text(); strings.ContainsAny(t, ".e") {
			return t
		}
		return v.Text() + ".0"
	case value.Decimal32, value.Decimal64, value.Decimal128:
		if t := v.DecimalText(); isNumber(t) {
			return t
		}
	case value.Timestamp, value.DateTimeOffset, value.DateTime:
		if t, ok := v.Time(); ok && t.Year() > 0 && t.Year() < 10_000 {
			return asciiJSON(t.Format(http.TimeFormat))
		}
	}
	return asciiJSON(strings.ToValidUTF8(v.Text(), "\ufffd"))
}

// isToken reports whether s can be the name of a header (RFC 9110, 5.6.2).
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	return s != ""
}
