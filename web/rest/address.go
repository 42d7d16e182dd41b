package rest

import (
	"net/http"
	"net/url"
	"strings"

	"mayfly/engine"
	"mayfly/web/proxy"
	"mayfly/web/rest/atom"
)

// kind is the kind of resource that an address names.
type kind uint8

const (
	messages kind = iota // the messages of an entity
	head                 // the next message
	locked               // a locked delivery
)

// An address is the parsed address of a request about messages.
type address struct {
	kind   kind
	entity string      // as in the address, decoded
	path   engine.Path // of entity
	id     string      // of a delivery: the sequence number or MessageId
	token  string      // of a delivery

	// named are the paths of entities that a request to this address may manage, because an
	// entity's name may end like an address of messages: the whole path and, if it names a
	// subscription or a rule, the path of its topic or subscription.
	named []string
}

// parseTarget parses an escaped path and reports whether it is an address of messages. A delivery's
// id may contain escaped slashes.
func parseTarget(escaped string) (t address, ofMessages bool, err error) {
	parts, err := atom.Segments(escaped)
	if err != nil {
		return address{}, false, err
	}
	n := len(parts)
	is := func(back int, word string) bool { return n > back && strings.EqualFold(parts[n-back], word) }
	first := func(n int) string { return strings.Join(parts[:n], "/") }
	switch {
	case is(2, "messages") && is(1, "head"):
		t = address{kind: head, entity: first(n - 2)}
	case is(1, "messages"):
		t = address{kind: messages, entity: first(n - 1)}
	case is(3, "messages"):
		t = address{kind: locked, entity: first(n - 3), id: parts[n-2], token: parts[n-1]}
	default:
		return address{}, false, nil
	}
	t.named = []string{first(n)}
	if is(2, "subscriptions") || is(2, "rules") {
		t.named = append(t.named, first(n-2))
	}
	return t, true, nil
}

// deliveryURL returns the URL of a delivery (§2.2), for the Location header.
func deliveryURL(r *http.Request, p engine.Path, m engine.Message) string {
	parts := strings.Split(string(p), "/")
	for i, s := range parts {
		parts[i] = url.PathEscape(s)
	}
	scheme := "http://"
	if proxy.Secure(r) {
		scheme = "https://"
	}
	return scheme + r.Host + "/" + strings.Join(parts, "/") + "/messages/" + decimal(m.Seq) + "/" + m.Token().String()
}
