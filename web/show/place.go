package show

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"mayfly/engine"
	"mayfly/views/layout"
	"mayfly/views/page"
	"mayfly/web/past"
)

// ErrNoPage says that an address names nothing the dashboard could have.
var ErrNoPage = errors.New("there is no such page")

// A Kind is what sort of thing an address names.
type Kind uint8

// The kinds of places.
const (
	Overview Kind = iota + 1
	Expirations
	Queues
	Topics
	Temporary
	Deferred
	Entity      // a queue, topic or subscription
	Message     // one message, wherever it is
	Tombstone   // what deleted itself
	Starter     // the queue that a first start can be given
	Activity    // what was done, and what happened to the server
	Lab         // the filter lab
	Connections // clients that stay connected
	Connection  // one of them
	Access      // who may do what: the namespace's access rules, or an entity's
	Metrics     // how much came and went
	Session     // one session of an entity, by the id in the query
	Search      // messages of all entities that match a query
	Jobs        // what is done to many messages
	Job         // one of them
	Alerts      // rules for rescue and alerts
	Alert       // one of them
	Views       // columns under names
	DeadGroups  // dead letters of all entities, by what they died of
	Undo        // what somebody has just done and may take back
	Safe        // the switch of Safe mode
	Chosen      // messages that were chosen, of whatever entities
	Reference   // what the JSON API can do
	Templates   // what forms of messages can be filled with
	Definitions // entities and rules, as a Config.json has them
	Import      // messages that are taken in, of a file, into whatever entity
	GoTo        // the way to anywhere
	Share       // how others follow what is shown
)

// A Place is what an address of the dashboard names: a thing, and what is done
// to it. Names in addresses are escaped, so a queue called a/b is a%2Fb there.
type Place struct {
	Namespace string
	Kind      Kind
	Entity    engine.EntityKind // of an Entity or Session
	Path      engine.Path       // of an Entity or Session, as it stands in the address
	Key       engine.Key        // of a Message
	Peer      string            // the id of a Connection, the word of an Undo
	Epoch     uint64            // of a Tombstone, as is ID
	ID        uint64            // of the event with which the entity went, or of a Job or Alert
	Do        string            // "edit", "delete", "bulk/delete", …; empty: it is looked at
	Query     url.Values        // only what the page knows; never nil
}

// longestAddress is how many bytes of an address are read.
const longestAddress = 4096

// asked is what pages want to know beside their path; some words are of
// several pages.
func asked() []string {
	return append(past.Words(),
		page.HexFrom, page.AskColumn, page.Try, "after", "agreed", "back", "by", "client", "dir", "dlq", "entity", "error", "fate", "file", "filter", "format", "id", "ids", "key", "kind", "lock", "page", "reason", "rule", "schedule", "so", "sort", "state", "tab", "template", "temporary", "to", "top", "topic", "ttl", "view", "within")
}

// Parse reads an address without the base path, such as /n/default/q/a%2Fb?tab=locked.
// It checks names as the engine does, but not whether the things exist. The
// error is ErrNoPage.
func Parse(raw string, limits engine.Limits) (Place, error) {
	if len(raw) > longestAddress {
		return Place{}, ErrNoPage
	}
	u, err := url.ParseRequestURI(raw)
	if err != nil || u.Host != "" || u.Scheme != "" {
		return Place{}, fmt.Errorf("%w: %q", ErrNoPage, cut(raw, 80))
	}
	parts := strings.Split(strings.TrimPrefix(u.EscapedPath(), "/"), "/")
	for i := range parts {
		if parts[i], err = url.PathUnescape(parts[i]); err != nil || parts[i] == "" {
			return Place{}, fmt.Errorf("%w: %q", ErrNoPage, cut(raw, 80))
		}
	}
	if len(parts) < 2 || parts[0] != "n" {
		return Place{}, fmt.Errorf("%w: %q", ErrNoPage, cut(raw, 80))
	}
	p := Place{Namespace: parts[1], Query: url.Values{}}
	if !p.read(parts[2:], limits) {
		return Place{}, fmt.Errorf("%w: %q", ErrNoPage, cut(raw, 80))
	}
	query := u.Query()
	for _, name := range asked() {
		if v := query[name]; len(v) > 0 {
			p.Query[name] = v
		}
	}
	return p, nil
}

// read takes what follows the namespace.
func (p *Place) read(parts []string, limits engine.Limits) bool {
	if len(parts) == 0 {
		p.Kind = Overview
		return true
	}
	rest := parts[1:]
	switch parts[0] {
	case "expirations":
		p.Kind = Expirations
		return len(rest) == 0
	case "temporary":
		p.Kind = Temporary
		return len(rest) == 0
	case "metrics":
		p.Kind = Metrics
		return len(rest) == 0
	case "deferred":
		p.Kind = Deferred
		return len(rest) == 0
	case "api":
		p.Kind = Reference
		return len(rest) == 0
	case "search":
		p.Kind = Search
		return len(rest) == 0
	case "go":
		p.Kind = GoTo
		return len(rest) == 0
	case "share":
		p.Kind = Share
		return p.deed(rest, "stop")
	case "starter":
		p.Kind = Starter
		return len(rest) == 0
	case "activity":
		p.Kind = Activity
		return p.deed(rest, "export")
	case "connections":
		p.Kind = Connections
		if len(rest) == 0 {
			return true
		}
		p.Kind, p.Peer = Connection, rest[0]
		return len(p.Peer) <= 64 && p.deed(rest[1:], "disconnect")
	case "jobs":
		return p.readJob(rest)
	case "safe":
		p.Kind = Safe
		return len(rest) == 0
	case "alerts":
		return p.readAlert(rest)
	case "undo":
		p.Kind = Undo
		if len(rest) == 1 && len(rest[0]) <= 64 {
			p.Peer = rest[0]
			return true
		}
		return false
	case "bulk":
		p.Kind = Chosen
		return p.deed(parts, bulkDeeds()...)
	case "definitions":
		p.Kind = Definitions
		return len(rest) == 1 && p.deed(rest, "import")
	case "import":
		p.Kind = Import
		return p.deed(rest, "start")
	case "templates":
		p.Kind = Templates
		return p.deed(rest, "rename", "remove")
	case "access":
		p.Kind = Access
		return p.deed(rest, "new", "keys", "renew", "remove")
	case "lab":
		p.Kind = Lab
		return p.deed(rest, "new")
	case "dead-letters":
		p.Kind = DeadGroups
		return len(rest) == 0
	case "views":
		p.Kind = Views
		return p.deed(rest, "edit", "delete")
	case "queues":
		p.Kind = Queues
		return p.deed(rest, "new")
	case "topics":
		p.Kind = Topics
		return p.deed(rest, "new")
	case "m":
		return p.readMessage(rest)
	case "tombstones":
		return p.readTombstone(rest)
	case "q", "t":
		return p.readEntity(parts[0], rest, limits)
	default:
		return false
	}
}

func (p *Place) readJob(rest []string) (ok bool) {
	p.Kind = Jobs
	if len(rest) == 0 || len(rest) == 1 && rest[0] == "new" {
		return p.deed(rest, "new")
	}
	p.Kind = Job
	p.ID, ok = number(rest[0])
	return ok && p.ID <= math.MaxInt64 && p.deed(rest[1:], "cancel", "resume", "undo")
}

func (p *Place) readAlert(rest []string) (ok bool) {
	p.Kind = Alerts
	if len(rest) == 0 || len(rest) == 1 && slices.Contains([]string{"new", "try", "toasts"}, rest[0]) {
		return p.deed(rest, "new", "try", "toasts")
	}
	p.Kind = Alert
	p.ID, ok = number(rest[0])
	return ok && p.ID <= math.MaxInt64 && p.deed(rest[1:], "edit", "try", "remove", "on", "off", "test")
}

func (p *Place) readMessage(rest []string) bool {
	p.Kind = Message
	if len(rest) == 0 {
		return false
	}
	n, ok := number(rest[0])
	p.Key = engine.Key(n)
	return ok && p.deed(rest[1:], messageDeeds...)
}

func (p *Place) readTombstone(rest []string) (ok bool) {
	p.Kind = Tombstone
	if len(rest) != 2 {
		return false
	}
	epoch, n, _ := strings.Cut(rest[0], "-")
	if p.Epoch, ok = number(epoch); !ok {
		return false
	}
	p.ID, ok = number(n)
	return ok && p.deed(rest[1:], "restore")
}

func (p *Place) readEntity(kind string, rest []string, limits engine.Limits) bool {
	if len(rest) == 0 {
		return false
	}
	p.Kind, p.Entity = Entity, engine.Queue
	if kind == "t" {
		p.Entity = engine.Topic
	}
	if engine.CheckName(p.Entity, rest[0], limits) != nil {
		return false
	}
	p.Path, rest = engine.Path(rest[0]), rest[1:]
	if kind == "t" && len(rest) > 1 && rest[0] == "s" {
		if engine.CheckName(engine.Subscription, rest[1], limits) != nil {
			return false
		}
		p.Entity = engine.Subscription
		p.Path, rest = engine.SubscriptionPath(string(p.Path), rest[1]), rest[2:]
	}
	if len(rest) > 0 && rest[0] == "session" && p.Entity != engine.Topic {
		p.Kind = Session
		return p.deed(rest[1:], "state", "clear", "break", "receive", "release")
	}
	deeds := append(bulkDeeds(), entityDeeds...)
	if p.Entity == engine.Topic {
		deeds = append([]string{"new"}, deeds...)
	}
	return p.deed(rest, deeds...)
}

var (
	messageDeeds = []string{
		"body", "complete", "abandon", "defer", "dead-letter", "delete", "edit", "resubmit", "resubmit-copy", "cancel",
		"send-now", "reschedule", "extend", "return", "fetch", "break-lock", "renew",
	}
	entityDeeds = []string{
		"edit", "delete", "send", "receive", "purge", "import", "import/start", "touch", "pin", "unpin", "resubmit",
		"rules/add", "rules/remove",
		"rules/new", "rules/edit", "rules/try", "status",
	}
)

// bulkDeeds are what is done to messages that were chosen.
func bulkDeeds() []string {
	return []string{
		"bulk/delete", "bulk/cancel", "bulk/dead-letter", "bulk/resubmit", "bulk/copy", "bulk/move", "bulk/extend",
		"bulk/reschedule", "bulk/send-now", "bulk/return", "bulk/break-lock", "bulk/export",
	}
}

// deed takes what is done, one of the deeds there are.
func (p *Place) deed(rest []string, deeds ...string) bool {
	if len(rest) == 0 {
		return true
	}
	p.Do = strings.Join(rest, "/")
	return slices.Contains(deeds, p.Do)
}

func number(s string) (uint64, bool) {
	n, err := strconv.ParseUint(s, 10, 64)
	return n, err == nil && n > 0 && strconv.FormatUint(n, 10) == s
}

// Shown is the one address, without the base path, of a page that somebody who
// presents can lead others to. It is ErrNoPage for forms, and for what nobody looks at.
func (p *Pages) Shown(raw string) (string, error) {
	if base := strings.TrimPrefix(p.ScenesURL(), p.o.Base); raw == base && p.o.Scenes != nil {
		return base, nil
	}
	at, err := p.Parse(raw)
	if err != nil {
		return "", err
	}
	if at.Do != "" || slices.Contains([]Kind{GoTo, Import, Starter, Undo, Safe, Chosen, Definitions, Tombstone, Share}, at.Kind) {
		return "", fmt.Errorf("%w that others can look at: %q", ErrNoPage, cut(raw, 80))
	}
	return at.String(), nil
}

// String is the address of p, without the base path.
func (p Place) String() string {
	s := p.bare()
	if p.Do != "" {
		s += "/" + p.Do
	}
	if len(p.Query) > 0 {
		s += "?" + p.Query.Encode()
	}
	return s
}

// bare is the address of the thing itself.
func (p Place) bare() string {
	home := "/n/" + url.PathEscape(p.Namespace)
	switch p.Kind {
	case Expirations:
		return home + "/expirations"
	case Queues:
		return home + "/queues"
	case Topics:
		return home + "/topics"
	case Temporary:
		return home + "/temporary"
	case Metrics:
		return home + "/metrics"
	case Deferred:
		return home + "/deferred"
	case Search:
		return home + "/search"
	case Reference:
		return home + "/api"
	case GoTo:
		return home + layout.GoTo
	case Share:
		return home + "/share"
	case Starter:
		return home + "/starter"
	case Message:
		return home + "/m/" + strconv.FormatUint(uint64(p.Key), 10)
	case Tombstone:
		return home + "/tombstones/" + tombKey(p.Epoch, p.ID)
	case Activity:
		return home + "/activity"
	case Connections:
		return home + "/connections"
	case Connection:
		return home + "/connections/" + url.PathEscape(p.Peer)
	case Jobs:
		return home + "/jobs"
	case Job:
		return home + "/jobs/" + strconv.FormatUint(p.ID, 10)
	case Safe:
		return home + "/safe"
	case Undo:
		return home + "/undo/" + url.PathEscape(p.Peer)
	case Alerts:
		return home + "/alerts"
	case Alert:
		return home + "/alerts/" + strconv.FormatUint(p.ID, 10)
	case Lab:
		return home + "/lab"
	case Views:
		return home + "/views"
	case Definitions:
		return home + "/definitions"
	case Import:
		return home + "/import"
	case Templates:
		return home + "/templates"
	case DeadGroups:
		return home + "/dead-letters"
	case Access:
		return home + "/access"
	case Entity:
		return home + entityAddress(p.Entity, p.Path)
	case Session:
		return home + entityAddress(p.Entity, p.Path) + "/session"
	default:
		return home
	}
}

func tombKey(epoch, n uint64) string { return fmt.Sprintf("%d-%d", epoch, n) }

func entityAddress(kind engine.EntityKind, path engine.Path) string {
	if topic, sub, ok := path.Subscription(); ok {
		return "/t/" + url.PathEscape(topic) + "/s/" + url.PathEscape(sub)
	}
	if kind == engine.Topic {
		return "/t/" + url.PathEscape(path.Name())
	}
	return "/q/" + url.PathEscape(path.Name())
}

// with is p asked for something else: pairs of name and value, where an empty
// value takes the name away.
func (p Place) with(pairs ...string) Place {
	q := url.Values{}
	maps.Copy(q, p.Query)
	for i := 0; i+1 < len(pairs); i += 2 {
		if q.Del(pairs[i]); pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	p.Query = q
	return p
}

// cut shortens what somebody typed.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
