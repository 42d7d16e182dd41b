package atom

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/shorten"
)

// An Action is the operation of a request.
type Action uint8

// The actions. A PUT is parsed as Create; its headers decide whether it is an Update.
const (
	Get Action = iota + 1
	List
	Create
	Update
	Delete
)

// A Kind is the kind of resource that a request operates on. Unlike the engine, addresses do not
// distinguish queues from topics.
type Kind uint8

// The kinds. Queues and Topics occur only with List. With List, Subscription means all
// subscriptions of a topic, and Rule all rules of a subscription.
const (
	Namespace Kind = iota + 1
	Queues
	Topics
	Entity // a queue or a topic
	Subscription
	Rule
)

// A Request is a management request as parsed from its method and address. Nothing has been looked
// up, and the names are as the client wrote them.
type Request struct {
	Action       Action
	Kind         Kind
	Entity       string // the queue or topic; empty for the namespace and its lists
	Subscription string // empty in a list of subscriptions
	Rule         string // empty in a list of rules
}

// Path returns the path of the entity. For a rule it is the subscription's, and for a
// list of subscriptions their topic's.
func (w Request) Path() engine.Path {
	if w.Subscription != "" {
		return engine.SubscriptionPath(w.Entity, w.Subscription)
	}
	return engine.Path(w.Entity)
}

// entityActions, listActions and namespaceActions map the methods that the address of an entity, a
// list or the namespace allows to their actions.
var entityActions = map[string]Action{
	http.MethodGet: Get, http.MethodPut: Create, http.MethodDelete: Delete,
}
var listActions = map[string]Action{
	http.MethodGet: List,
}
var namespaceActions = map[string]Action{
	http.MethodGet: Get,
}

// Segments returns the decoded segments of an escaped path. Slashes at either end are ignored.
// Segments are decoded one by one, so that the slashes in an entity's name may be escaped or not.
// It is used for addresses of messages and of management.
func Segments(escaped string) ([]string, error) {
	parts := strings.Split(strings.Trim(escaped, "/"), "/")
	for i, p := range parts {
		s, err := url.PathUnescape(p)
		if err != nil {
			return nil, engine.Refuse(engine.ErrArgument, "The address cannot be decoded: '%s'.", shorten.Quote(p))
		}
		parts[i] = s
	}
	return parts, nil
}

// parseRequest parses a method and an escaped path.
func parseRequest(method, escaped string) (Request, error) {
	parts, err := Segments(escaped)
	if err != nil {
		return Request{}, err
	}
	w, may, err := parseSegments(parts)
	if err != nil {
		return Request{}, err
	}
	action, ok := may[method]
	switch {
	case ok:
	case method == http.MethodPost: // clients post only messages, whose addresses package rest handles
		return Request{}, errNoSuchAddress
	default:
		return Request{}, &methodError{method, may}
	}
	w.Action = action
	return w, nil
}

// parseSegments returns the request for an address, without its action, and the methods that the
// address allows.
func parseSegments(parts []string) (w Request, may map[string]Action, err error) {
	is := func(i int, word string) bool { return i < len(parts) && strings.EqualFold(parts[i], word) }
	switch {
	case parts[0] == "":
		return w, nil, errNoSuchAddress
	case is(0, "$namespaceinfo") && len(parts) == 1:
		return Request{Kind: Namespace}, namespaceActions, nil
	case is(0, "$Resources"):
		switch {
		case len(parts) == 2 && is(1, "Queues"):
			return Request{Kind: Queues}, listActions, nil
		case len(parts) == 2 && is(1, "Topics"):
			return Request{Kind: Topics}, listActions, nil
		}
		return w, nil, errNoSuchAddress
	}
	for i := 1; i < len(parts); i++ {
		if is(i, "Subscriptions") {
			return parseSubscription(strings.Join(parts[:i], "/"), parts[i+1:])
		}
	}
	return Request{Kind: Entity, Entity: strings.Join(parts, "/")}, entityActions, nil
}

// parseSubscription is parseSegments for an address under a topic's subscriptions. parts are the
// segments after "Subscriptions".
func parseSubscription(topic string, parts []string) (Request, map[string]Action, error) {
	w := Request{Kind: Subscription, Entity: topic}
	if len(parts) == 0 {
		return w, listActions, nil
	}
	w.Subscription = parts[0]
	switch {
	case len(parts) == 1:
		return w, entityActions, nil
	case len(parts) <= 3 && strings.EqualFold(parts[1], "Rules"):
		if w.Kind = Rule; len(parts) == 2 {
			return w, listActions, nil
		}
		w.Rule = parts[2]
		return w, entityActions, nil
	case strings.HasPrefix(parts[1], "$"): // a subqueue, which check refuses, or an invalid name
		w.Subscription = strings.Join(parts, "/")
		return w, entityActions, nil
	}
	return w, nil, errNoSuchAddress
}

// check returns an error if a name is invalid (NAME-1 … NAME-5), or if the path is a dead-letter
// queue's, which has no description (NAME-9).
func (w Request) check(l engine.Limits) error {
	if w.Entity == "" {
		return nil
	}
	p, err := engine.ParsePath(string(w.Path()), l)
	if err != nil {
		return err
	}
	if p.IsDeadLetter() {
		return engine.Refuse(engine.ErrArgument, "The specified HTTP verb (%s) is not valid.", w.Action.method())
	}
	if w.Kind == Rule && w.Rule != "" {
		return engine.CheckRuleName(w.Rule, l)
	}
	return nil
}

func (a Action) method() string {
	switch a {
	case Create, Update:
		return http.MethodPut
	case Delete:
		return http.MethodDelete
	default:
		return http.MethodGet
	}
}

var errNoSuchAddress = echo.NewHTTPError(http.StatusNotFound, "Nothing is served at this address. Entities are at /{name}, messages at /{name}/messages.")

// A methodError reports a method that an address does not allow.
type methodError struct {
	method         string
	allowedActions map[string]Action
}

func (e *methodError) allowed() string {
	if len(e.allowedActions) == 1 {
		return http.MethodGet
	}
	return "DELETE, GET, PUT"
}

func (e *methodError) Error() string {
	return "This address accepts " + e.allowed() + ", not " + shorten.Quote(e.method) + "."
}

func (e *methodError) Status() int { return http.StatusMethodNotAllowed }
