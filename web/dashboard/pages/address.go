package pages

import (
	"fmt"
	"maps"
	"net/url"
	"strconv"
	"strings"

	"mayfly/engine"
	"mayfly/engine/history"
	"mayfly/engine/shorten"
	"mayfly/views/page/entity"
	"mayfly/views/page/list"
	"mayfly/views/page/message"
	"mayfly/web/errorcodes"
)

// ErrPageNotFound is returned for an address that no page of the dashboard can have.
var ErrPageNotFound = errorcodes.ErrPageNotFound

// An Address is the parsed address of a page: an object and an action on it. Names are escaped in
// addresses, so a queue called a/b is a%2Fb.
type Address struct {
	Namespace  string
	Kind       PageKind
	EntityType engine.EntityKind // kind of an Entity or Session
	Path       engine.Path       // path of an Entity or Session, spelled as in the address
	Key        engine.Key        // key of a Message
	StringID   string            // the id of an object whose id is not a number
	Verb       string            // action of a PlaybackForm
	Epoch      uint64            // epoch of the event that deleted a DeletedEntity
	ID         uint64            // number of the event that deleted a DeletedEntity, or id of a Job or Alert
	Action     string            // the action: "edit", "delete", "bulk/delete", …; empty means view
	Query      url.Values        // only parameters that pages use; never nil
}

// MaxAddressBytes is how many bytes an address may have.
const MaxAddressBytes = 4096

// queryParameters are the query parameters that pages use; several pages share some.
var queryParameters = append(history.Params(), //nolint:gochecknoglobals // in effect a constant
	message.HexFrom, list.FieldColumn, entity.QuerySelfForward, entity.QueryPreview, "after", "agreed", "back", "by", "client", "dir", "dlq", "entity", "error", "fate", "file", "filter", "format", "id", "ids", "key", "kind", "lock", "page", "reason", "rule", "schedule", "so", "sort", "state", "tab", "template", "temporary", "to", "top", "topic", "ttl", "view", "within")

// ParseAny parses an address without the base path, such as /n/default/q/a%2Fb?tab=locked or
// /tokens. It checks names as the engine does, but not whether the objects exist. The error is
// ErrPageNotFound.
func (t *Table) ParseAny(raw string, limits engine.Limits) (Address, error) {
	if len(raw) > MaxAddressBytes {
		return Address{}, ErrPageNotFound
	}
	u, err := url.ParseRequestURI(raw)
	if err != nil || u.Host != "" || u.Scheme != "" {
		return Address{}, fmt.Errorf("%w: %q", ErrPageNotFound, shorten.To(raw, 80))
	}
	p, r := t.match("", u.EscapedPath(), &limits)
	if r == nil {
		return Address{}, fmt.Errorf("%w: %q", ErrPageNotFound, shorten.To(raw, 80))
	}
	p.Query = url.Values{}
	query := u.Query()
	for _, name := range queryParameters {
		if v := query[name]; len(v) > 0 {
			p.Query[name] = v
		}
	}
	return p, nil
}

// Parse parses an address as ParseAny does, but returns ErrPageNotFound if it belongs to no
// namespace.
func (t *Table) Parse(raw string, limits engine.Limits) (Address, error) {
	p, err := t.ParseAny(raw, limits)
	if err == nil && p.Namespace == "" {
		return Address{}, fmt.Errorf("%w: %q", ErrPageNotFound, shorten.To(raw, 80))
	}
	return p, err
}

// ParseNumber parses a positive number in its canonical form.
func ParseNumber(s string) (uint64, bool) {
	n, err := strconv.ParseUint(s, 10, 64)
	return n, err == nil && n > 0 && strconv.FormatUint(n, 10) == s
}

// Followable returns the canonical address, without the base path, of a page that a presenter can
// lead followers to. The error is ErrPageNotFound for forms and other pages that cannot be followed.
func (p *Pages) Followable(raw string) (string, error) {
	at, err := p.parseOwn(raw)
	if err != nil {
		return "", err
	}
	if !p.Route(at).Leads || at.Kind == Scenes && p.Options.Scenes == nil {
		return "", fmt.Errorf("%w that others can look at: %q", ErrPageNotFound, shorten.To(raw, 80))
	}
	return at.String(), nil
}

// ReturnURL returns the canonical form of an address with the base path, if it is a page of this
// namespace or of the server. It never leads to another server.
func (p *Pages) ReturnURL(back string) (string, bool) {
	raw, ok := strings.CutPrefix(back, p.Options.Base)
	if !ok {
		return "", false
	}
	at, err := p.parseOwn(raw)
	if err != nil || p.Route(at).Type != TypePage {
		return "", false
	}
	return p.URL(at), true
}

// parseOwn parses an address as ParseAny does, but returns ErrPageNotFound if it belongs to
// another namespace than this broker's.
func (p *Pages) parseOwn(raw string) (Address, error) {
	at, err := p.table.ParseAny(raw, p.Broker.Limits())
	if err != nil || at.Namespace == "" {
		return at, err
	}
	if !strings.EqualFold(at.Namespace, p.Broker.Name()) {
		return Address{}, fmt.Errorf("%w: the namespace here is %q", ErrPageNotFound, p.Broker.Name())
	}
	at.Namespace = p.Broker.Name()
	return at, nil
}

// Parse parses an address, without the base path, of this broker's namespace. The error is
// ErrPageNotFound for any other address.
func (p *Pages) Parse(raw string) (Address, error) {
	at, err := p.parseOwn(raw)
	if err == nil && at.Namespace == "" {
		return Address{}, fmt.Errorf("%w: %q", ErrPageNotFound, shorten.To(raw, 80))
	}
	return at, err
}

// String returns the address of p, without the base path.
func (p Address) String() string {
	b := p.appendPath(make([]byte, 0, 64))
	if len(p.Query) > 0 {
		b = append(b, '?')
		b = append(b, p.Query.Encode()...)
	}
	return string(b)
}

// appendPath appends the address of p without its query.
func (p Address) appendPath(b []byte) []byte {
	rest := string(p.Kind)
	for {
		before, braced, ok := strings.Cut(rest, "{")
		if b = append(b, before...); !ok {
			break
		}
		var name string
		name, rest, _ = strings.Cut(braced, "}")
		if name == "entity" {
			b = append(b, strings.TrimPrefix(entityAddress(p.EntityType, p.Path), "/")...)
			continue
		}
		b = p.appendVariable(b, variable("{"+name+"}"))
	}
	if p.Action == "" {
		return b
	}
	if p.Kind != Root {
		b = append(b, '/')
	}
	return append(b, p.Action...)
}

// DeletedEntityID returns the id of a deleted entity in addresses.
func DeletedEntityID(epoch, n uint64) string { return fmt.Sprintf("%d-%d", epoch, n) }

func entityAddress(kind engine.EntityKind, path engine.Path) string {
	if topic, sub, ok := path.Subscription(); ok {
		return "/t/" + url.PathEscape(topic) + "/s/" + url.PathEscape(sub)
	}
	if kind == engine.Topic {
		return "/t/" + url.PathEscape(path.Name())
	}
	return "/q/" + url.PathEscape(path.Name())
}

// WithQuery returns the address with query parameters changed. `pairs` are the names and values of
// the parameters in turn, and an empty value removes the parameter.
func (p Address) WithQuery(pairs ...string) Address {
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
