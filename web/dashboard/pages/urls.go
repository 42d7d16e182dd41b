package pages

import (
	"context"
	"net/url"
	"strconv"
	"strings"

	"mayfly/engine"
	"mayfly/engine/demo"
	"mayfly/engine/job"
	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/page/entity"
	"mayfly/views/page/lab"
	"mayfly/web/docs"
)

// AccessActionURL returns the address of an action on the access rules of an entity, or of the
// namespace if `path` is empty. `pairs` are the names and values of further query parameters.
func (p *Pages) AccessActionURL(path engine.Path, do string, pairs ...string) string {
	at := Address{Namespace: p.Broker.Name(), Kind: Access, Action: do}
	return p.URL(at.WithQuery(append([]string{"entity", string(path)}, pairs...)...))
}

// AccessURL returns the address of the page of an entity's access rules, or of the namespace's if
// `path` is empty.
func (p *Pages) AccessURL(path engine.Path) string { return p.AccessActionURL(path, "") }

// ExportURL returns the address in the JSON API of a file with the messages of x.
func (p *Pages) ExportURL(x Export) string {
	to, q := p.Options.Base+"/api/v1/n/"+url.PathEscape(p.Broker.Name())+"/export", url.Values{}
	if x.Path != "" && len(x.Keys) == 0 {
		to += "/" + (&url.URL{Path: x.Path}).EscapedPath()
	}
	if x.State != "" {
		q.Set("state", x.State)
	}
	if x.Query != "" {
		q.Set("q", x.Query)
	}
	if len(x.Keys) > 0 {
		var keys []string
		for _, k := range x.Keys {
			keys = append(keys, strconv.FormatUint(uint64(k), 10))
		}
		q.Set("keys", strings.Join(keys, ","))
	}
	if len(q) > 0 {
		to += "?" + q.Encode()
	}
	return to
}

// NewJobURL returns the address of the filled-in form for a job on the messages that `x` selects
// by path and query. `by` is the duration by which the job extends them, or "".
func (p *Pages) NewJobURL(kind job.Kind, x Export, by string) string {
	return p.URL(Address{Namespace: p.Broker.Name(), Kind: Jobs, Action: "new"}.WithQuery(
		page.FieldJobKind, string(kind), page.FieldJobPath, x.Path, page.FieldQuery, x.Query, page.FieldBy, by))
}

// StateExportURL returns the address of a file with the messages of an entity in one state.
func (p *Pages) StateExportURL(path engine.Path, s page.State) string {
	switch s {
	case page.StateDeadLetter:
		return p.ExportURL(Export{Path: string(path.DeadLetter())})
	case page.StateTransferDeadLetter:
		return p.ExportURL(Export{Path: string(path.Transfer())})
	default:
		return p.ExportURL(Export{Path: string(path), State: map[page.State]string{
			page.StateActive: "active", page.StateLocked: "locked", page.StateDeferred: "deferred", page.StateScheduled: "scheduled",
		}[s]})
	}
}

// damagedLink returns a link to the page of damaged messages.
func (p *Pages) damagedLink(ctx context.Context) component.Link {
	return component.Link{Href: p.URL(Address{Namespace: p.Broker.Name(), Kind: DamagedMessages}), Label: locale.T(ctx, "damaged.go")}
}

// DocsURL returns the address of the documentation, including the base path.
func (p *Pages) DocsURL() string { return p.Options.Base + docs.At }

// EditURL returns the address of the form that edits an unlocked dead letter and then returns to
// the page at `list`, or "" for any other message.
func (p *Pages) EditURL(r engine.Row, list Address) string {
	if !r.Path.IsDeadLetter() || r.Message.Locked() {
		return ""
	}
	form := Address{Namespace: p.Broker.Name(), Kind: Message, Key: r.Message.Key, Action: "edit", Query: url.Values{"back": {p.URL(list)}}}
	if len(form.String()) > MaxAddressBytes {
		form.Query = nil
	}
	return p.URL(form)
}

// JobURL returns the address of a job.
func (p *Pages) JobURL(id job.ID) string {
	return p.URL(Address{Namespace: p.Broker.Name(), Kind: Job, ID: uint64(id)})
}

// LabURL returns the address of the filter lab for a topic.
func (p *Pages) LabURL(topic engine.Path) string {
	return p.URL(Address{Namespace: p.Broker.Name(), Kind: FilterLab}.WithQuery(lab.LabTopic, topic.Name()))
}

// EntityRef returns a reference to the entity of a path, which may be that of a subqueue.
func (p *Pages) EntityRef(kind engine.EntityKind, path engine.Path) page.EntityRef {
	return page.EntityRef{Kind: KindOnPage(kind), Name: DisplayPath(path.Entity()), Href: p.EntityURL(kind, path.Entity()), DeadLetter: path.IsDeadLetter()}
}

// NamespacesURL returns the address of the page of all namespaces, including the base path. Unless
// `remove` is empty, it returns the address of the page that asks to confirm the removal of the
// namespace with that name.
func (p *Pages) NamespacesURL(remove string) string {
	if remove == "" {
		return p.Options.Base + "/namespaces"
	}
	return p.Options.Base + "/namespaces/" + remove + "/remove"
}

// APIPath returns the path of this namespace's API, without the base path.
func (p *Pages) APIPath() string {
	u, err := url.Parse(p.Options.API)
	if err != nil || u.Path == "" {
		return "/api/v1"
	}
	return strings.TrimPrefix(u.EscapedPath(), p.Options.Base)
}

// RuleURL returns the address of the action `do` on the rule `name` of a subscription. `name` is
// empty for an action that concerns no existing rule.
func (p *Pages) RuleURL(sub engine.Path, do, name string) string {
	return p.URL(Address{Namespace: p.Broker.Name(), Kind: Entity, EntityType: engine.Subscription, Path: sub, Action: do}.WithQuery("rule", name))
}

// ScenesURL returns the address of the page of all scenes, including the base path.
func (p *Pages) ScenesURL() string { return p.Options.Base + "/scenes" }

// PlayURL returns the address below which actions on a playback are posted.
func (p *Pages) PlayURL(namespace string) string {
	return p.Options.Base + "/scenes/on/" + url.PathEscape(namespace)
}

// WatchURL returns the address where a playback is watched, including the base path. That is the
// page named by the current step, or by the first step if none has been played. If the step names
// no page, it is the overview.
func (p *Pages) WatchURL(s demo.State) string {
	look := s.Page()
	if look == "/" {
		look = ""
	}
	home := "/n/" + url.PathEscape(s.Namespace)
	at, err := p.table.Parse(home+look, p.Broker.Limits())
	if err != nil || p.Route(at).Type != TypePage {
		return p.Options.Base + home
	}
	return p.Options.Base + at.String()
}

// PlayPage returns the canonical form of `address`, including the base path, if it is a page of
// the playback's namespace. Otherwise it returns the address where the playback is watched.
func (p *Pages) PlayPage(address string, s demo.State) string {
	raw, ok := strings.CutPrefix(address, p.Options.Base)
	if at, err := p.table.Parse(raw, p.Broker.Limits()); ok && err == nil && p.Route(at).Type == TypePage && strings.EqualFold(at.Namespace, s.Namespace) {
		return p.Options.Base + at.String()
	}
	return p.WatchURL(s)
}

// SearchURL returns the address of the search for q.
func (p *Pages) SearchURL(q string) string {
	return p.URL(Address{Namespace: p.Broker.Name(), Kind: Search}.WithQuery(page.SearchText, q))
}

// SessionURL returns the address of a session's page, including the base path.
func (p *Pages) SessionURL(kind engine.EntityKind, path engine.Path, id string) string {
	return p.URL(Address{Namespace: p.Broker.Name(), Kind: Session, EntityType: kind, Path: path, Query: url.Values{entity.SessionID: {id}}})
}

// SettingsURL returns the address of the settings page, including the base path.
func (p *Pages) SettingsURL() string { return p.Options.Base + layout.SettingsPath }

// TokensURL returns the address of the page of tokens and links, or of one below it, including
// the base path.
func (p *Pages) TokensURL(below string) string { return p.Options.Base + layout.TokensPath + below }

// ListAt parses the address of a list of messages, with or without the base path. It returns the
// zero Address for any other address.
func (p *Pages) ListAt(raw string) Address {
	at, err := p.Parse(strings.TrimPrefix(raw, p.Options.Base))
	if err != nil || p.Route(at).List == "" {
		return Address{}
	}
	return at
}
