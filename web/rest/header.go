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

	"mayfly/engine/value"
)

// reserved are the headers, and beginnings of headers, that belong to HTTP, to
// browsers, proxies or this protocol. They are never application properties:
// not on the way in, where they would be noise, and not on the way out, where a
// sender could set a receiver's cookies with them.
var reserved = []string{
	"accept*", "access-control-*", "age", "allow", "alt-svc", "authorization", "brokerproperties", "cache-control",
	"clear-site-data", "connection", "content-*", "cookie*", "cross-origin-*", "date", "dnt", "early-data", "etag", "expect*",
	"expires", "forwarded", "from", "host", "http2-settings", "if-*", "keep-alive", "last-modified", "link", "location",
	"max-forwards", "nel", "origin*", "permissions-policy", "pragma", "priority", "proxy-*", "range", "referer", "referrer-policy",
	"refresh", "report-to", "reporting-endpoints", "retry-after", "sec-*", "server", "servicebusauthorization",
	"servicebussupplementaryauthorization", "set-cookie*", "sourcemap", "speculation-rules", "strict-transport-security", "te", "timing-allow-origin",
	"trailer", "transfer-encoding", "upgrade*", "user-agent", "vary", "via", "warning", "www-authenticate",
	"x-content-*", "x-dns-*", "x-forwarded-*", "x-frame-*", "x-ms-*", "x-permitted-*", "x-powered-by", "x-real-ip", "x-request-id", "x-ua-*", "x-xss-*",
}

func isReserved(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(reserved, func(r string) bool {
		if begin, ok := strings.CutSuffix(r, "*"); ok {
			return strings.HasPrefix(name, begin)
		}
		return name == r
	})
}

// parseHeader reads the application properties of a message, one header each,
// by name: HTTP does not keep their order.
func parseHeader(h http.Header) (value.Properties, error) {
	var names []string
	for name := range h {
		if !isReserved(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var props value.Properties
	for _, name := range names {
		for _, text := range h[name] {
			v, err := parseHeaderValue(text)
			if err != nil {
				return nil, argument("The header '%s' is not a property: %v.", cut(name), err)
			}
			props = append(props, value.Property{Name: name, Value: v})
		}
	}
	return props, nil
}

// parseHeaderValue reads "text" in quotes as JSON has it, a time if it is
// written as HTTP writes times; true, false and null; numbers, whole ones as
// long. Anything else is a text without quotes, for the sake of whoever forgot
// them.
func parseHeaderValue(s string) (value.Value, error) {
	s = textproto.TrimString(s)
	switch {
	case !utf8.ValidString(s):
		return value.Value{}, argument("it is not UTF-8")
	case strings.HasPrefix(s, `"`):
		var text string
		if err := json.Unmarshal([]byte(s), &text); err != nil {
			return value.Value{}, argument(`a text in quotes is written as in JSON, not %s`, cut(s))
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

// isNumber tells whether s is a number of JSON.
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
	if err != nil { // beyond what a double holds
		return value.OfString(s)
	}
	return value.OfDouble(f)
}

// writeHeader puts the application properties into the headers of an answer,
// their names in the case they are stored in. A name that no header can have,
// or that means something else in HTTP, is left out.
func writeHeader(h http.Header, props value.Properties) {
	for _, p := range props {
		if isToken(p.Name) && !isReserved(p.Name) {
			h[p.Name] = append(h[p.Name], formatHeaderValue(p.Value))
		}
	}
}

// formatHeaderValue writes what parseHeaderValue reads. What HTTP has no form
// for is its text in quotes.
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
		if t := v.Text(); isNumber(t) {
			return t
		}
	case value.Timestamp, value.DateTimeOffset:
		if t, ok := v.Time(); ok && t.Year() > 0 && t.Year() < 10_000 {
			return asciiJSON(t.Format(http.TimeFormat))
		}
	}
	return asciiJSON(strings.ToValidUTF8(v.Text(), "\ufffd"))
}

// isToken tells whether a header can have this name (RFC 9110, 5.6.2).
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	return s != ""
}
