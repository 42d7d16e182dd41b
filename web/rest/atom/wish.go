package atom

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/web/rest/fault"
)

// An Action is what is to be done.
type Action uint8

// The actions. Whether a PUT creates or updates is in its headers; as a Wish it is
// Create.
const (
	Get Action = iota + 1
	List
	Create
	Update
	Delete
)

// A Kind is what something is done to. The engine tells queues from topics; an
// address does not.
type Kind uint8

// The kinds. Queues and Topics are only listed by these names; List of a
// Subscription or a Rule is all of them.
const (
	Namespace Kind = iota + 1
	Queues
	Topics
	Entity // a queue or a topic
	Subscription
	Rule
)

// A Wish is what a request wants, as far as its method and address tell; nothing
// of it was looked up, and the names are as they were written.
type Wish struct {
	Action       Action
	Kind         Kind
	Entity       string // the queue or topic; empty for the namespace and its lists
	Subscription string // empty where all are listed
	Rule         string // empty where all are listed
}

// Path is the path of the entity, of a rule that of its subscription; where
// subscriptions are listed it is their topic's.
func (w Wish) Path() engine.Path {
	if w.Subscription != "" {
		return engine.SubscriptionPath(w.Entity, w.Subscription)
	}
	return engine.Path(w.Entity)
}

// What a method does to one thing, and to what can only be listed or looked at.
func actions() map[string]Action {
	return map[string]Action{http.MethodGet: Get, http.MethodPut: Create, http.MethodDelete: Delete}
}
func lists() map[string]Action { return map[string]Action{http.MethodGet: List} }
func looks() map[string]Action { return map[string]Action{http.MethodGet: Get} }

// parseWish takes a method and an escaped path apart. Segments are decoded one by
// one, so that an entity's slashes may be escaped or not.
func parseWish(method, escaped string) (Wish, error) {
	parts := strings.Split(strings.Trim(escaped, "/"), "/")
	for i, p := range parts {
		s, err := url.PathUnescape(p)
		if err != nil {
			return Wish{}, argument("The address cannot be decoded: '%s'.", fault.Cut(p))
		}
		parts[i] = s
	}
	w, may, err := place(parts)
	if err != nil {
		return Wish{}, err
	}
	action, ok := may[method]
	switch {
	case ok:
	case method == http.MethodPost: // as of messages, which are elsewhere
		return Wish{}, errNothing
	default:
		return Wish{}, &methodError{method, may}
	}
	w.Action = action
	return w, nil
}

// place is what an address names, and what methods it takes.
func place(parts []string) (w Wish, may map[string]Action, err error) {
	is := func(i int, word string) bool { return i < len(parts) && strings.EqualFold(parts[i], word) }
	switch {
	case parts[0] == "":
		return w, nil, errNothing
	case is(0, "$namespaceinfo") && len(parts) == 1:
		return Wish{Kind: Namespace}, looks(), nil
	case is(0, "$Resources"):
		switch {
		case len(parts) == 2 && is(1, "Queues"):
			return Wish{Kind: Queues}, lists(), nil
		case len(parts) == 2 && is(1, "Topics"):
			return Wish{Kind: Topics}, lists(), nil
		}
		return w, nil, errNothing
	}
	for i := 1; i < len(parts); i++ {
		if is(i, "Subscriptions") {
			return below(strings.Join(parts[:i], "/"), parts[i+1:])
		}
	}
	return Wish{Kind: Entity, Entity: strings.Join(parts, "/")}, actions(), nil
}

// below is what stands below a topic's subscriptions.
func below(topic string, parts []string) (Wish, map[string]Action, error) {
	w := Wish{Kind: Subscription, Entity: topic}
	if len(parts) == 0 {
		return w, lists(), nil
	}
	w.Subscription = parts[0]
	switch {
	case len(parts) == 1:
		return w, actions(), nil
	case len(parts) <= 3 && strings.EqualFold(parts[1], "Rules"):
		if w.Kind = Rule; len(parts) == 2 {
			return w, lists(), nil
		}
		w.Rule = parts[2]
		return w, actions(), nil
	case strings.HasPrefix(parts[1], "$"): // a dead-letter queue, or none
		w.Subscription = strings.Join(parts, "/")
		return w, actions(), nil
	}
	return w, nil, errNothing
}

// check wants names that can be some (NAME-1 … NAME-5). Sub-queues are described
// with what they belong to (NAME-9).
func (w Wish) check(l engine.Limits) error {
	if w.Entity == "" {
		return nil
	}
	p, err := engine.ParsePath(string(w.Path()), l)
	if err != nil {
		return err
	}
	if p.IsDeadLetter() {
		return argument("The specified HTTP verb (%s) is not valid.", w.Action.method())
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

var errNothing = echo.NewHTTPError(http.StatusNotFound, "There is nothing at this address. Entities are at /{name}, messages at /{name}/messages.")

// A methodError says that an address takes other methods.
type methodError struct {
	method string
	may    map[string]Action
}

func (e *methodError) allowed() string {
	if len(e.may) == 1 {
		return http.MethodGet
	}
	return "DELETE, GET, PUT"
}

func (e *methodError) Error() string {
	return "This address takes " + e.allowed() + ", not " + fault.Cut(e.method) + "."
}

func (e *methodError) Status() int { return http.StatusMethodNotAllowed }
