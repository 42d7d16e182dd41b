package rest

import (
	"net/http"
	"net/url"
	"strings"

	"mayfly/engine"
)

// kind is what an address names.
type kind uint8

const (
	messages kind = iota // what an entity holds
	head                 // the next of them
	locked               // a delivery
)

// A target is an address taken apart.
type target struct {
	kind   kind
	entity string      // as written, decoded
	path   engine.Path // of entity
	id     string      // of a delivery: the sequence number or MessageId
	token  string      // of a delivery
}

// parseTarget takes an escaped path apart, if it is one of messages. Segments are decoded one by one, so
// an entity's slashes may be escaped or not, and an id may contain any.
func parseTarget(escaped string) (t target, ofMessages bool, err error) {
	parts := strings.Split(strings.TrimPrefix(escaped, "/"), "/")
	for i, p := range parts {
		s, err := url.PathUnescape(p)
		if err != nil {
			return target{}, false, argument("The address cannot be decoded: '%s'.", cut(p))
		}
		parts[i] = s
	}
	n := len(parts)
	is := func(back int, word string) bool { return n > back && strings.EqualFold(parts[n-back], word) }
	switch {
	case is(2, "messages") && is(1, "head"):
		return target{kind: head, entity: strings.Join(parts[:n-2], "/")}, true, nil
	case is(1, "messages"):
		return target{kind: messages, entity: strings.Join(parts[:n-1], "/")}, true, nil
	case is(3, "messages"):
		return target{kind: locked, entity: strings.Join(parts[:n-3], "/"), id: parts[n-2], token: parts[n-1]}, true, nil
	}
	return target{}, false, nil
}

// location is the address of a delivery (§2.2), to be used as it is.
func location(r *http.Request, p engine.Path, m engine.Message) string {
	parts := strings.Split(string(p), "/")
	for i, s := range parts {
		parts[i] = url.PathEscape(s)
	}
	scheme := "http://"
	if r.TLS != nil {
		scheme = "https://"
	}
	return scheme + r.Host + "/" + strings.Join(parts, "/") + "/messages/" + decimal(m.Seq) + "/" + m.Token().String()
}
