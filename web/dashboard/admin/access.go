package admin

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/shorten"
	"mayfly/views/component"
	"mayfly/views/page/admin"
	"mayfly/views/view"
	"mayfly/web/dashboard/pages"
)

const (
	maxAccessOwners = 100 // entities with rules of their own that the page lists
	// accessRefresh is how often rules are read again while a viewer has the page open.
	accessRefresh = 2 * time.Second
)

// accessOwner returns the entity whose rules a page shows, or "" for the rules of the namespace.
// The error is ErrPageNotFound for an invalid path.
func accessOwner(p *pages.Pages, at pages.Address) (engine.Path, error) {
	if !at.Query.Has("entity") {
		return "", nil
	}
	path, err := engine.ParsePath(at.Query.Get("entity"), p.Broker.Limits())
	if err != nil {
		return "", pages.ErrPageNotFound
	}
	return path, nil
}

// readAccess reads the rules of an entity, or of the namespace if `path` is empty. It returns
// ErrPageNotFound for a subscription or a subqueue, which have no rules.
func readAccess(p *pages.Pages, r broker.Reader, path engine.Path) (in admin.AccessOwnerRef, rules []engine.AccessRule, err error) {
	in.All = p.Home() + "/access"
	if path == "" {
		in.Here = in.All
		return in, r.AccessRules(), nil
	}
	e, err := r.State(path)
	if err != nil {
		return in, nil, err
	}
	if e.Kind == engine.Subscription || path.IsDeadLetter() {
		return in, nil, pages.ErrPageNotFound // subscriptions and subqueues have no access rules
	}
	in.Name, in.Href, in.Here = string(e.Path), p.EntityURL(e.Kind, e.Path), p.AccessActionURL(e.Path, "")
	return in, e.Config.AuthorizationRules, nil
}

// Access returns the page of the access rules of the namespace, or of an entity.
func Access(ctx context.Context, p *pages.Pages, at pages.Address) (view.Page, uint64, error) {
	m, s, err := accessModel(ctx, p, at)
	if err != nil {
		return nil, 0, err
	}
	m.Shell = p.LiveShell(ctx, at, s, m.Title(ctx))
	m.Shell.Live.Selectable = true // a half-filled form must not be replaced
	return pages.Refreshing{Page: m, Every: accessRefresh}, s.Event, nil
}

func accessModel(ctx context.Context, p *pages.Pages, at pages.Address) (m admin.Access, s pages.Snapshot, err error) {
	path, err := accessOwner(p, at)
	if err != nil {
		return m, s, err
	}
	var rules []engine.AccessRule
	var states []engine.EntityState
	s, err = p.Read(ctx, func(r broker.Reader) (err error) {
		if m.In, rules, err = readAccess(p, r, path); err == nil && path == "" {
			states = r.States(0)
		}
		return err
	})
	m.Enforced, m.Max = p.Options.RequiresKeys, int(p.Broker.Limits().AccessRules)
	m.New.To = p.AccessActionURL(path, "new")
	for _, r := range rules {
		m.Rules = append(m.Rules, accessRow(p, path, r, s.Now))
	}
	for _, e := range states {
		own := e.Config.AuthorizationRules
		switch {
		case len(own) == 0:
		case len(m.Owners) == maxAccessOwners:
			m.Left++
		default:
			o := admin.AccessOwner{Name: string(e.Path), Href: p.AccessActionURL(e.Path, "")}
			for _, r := range own {
				o.Rules = append(o.Rules, accessRow(p, e.Path, r, s.Now))
			}
			m.Owners = append(m.Owners, o)
		}
	}
	return m, s, err
}

func accessRow(p *pages.Pages, path engine.Path, r engine.AccessRule, now engine.Instant) admin.AccessRow {
	row := admin.AccessRow{
		Key: r.Name, Name: r.Name, Rights: grantedRights(r.Rights), Show: p.AccessActionURL(path, "keys", "rule", r.Name),
		Remove: p.AccessActionURL(path, "remove", "rule", r.Name), Changed: r.UpdatedAt.Time(), Now: now.Time(),
	}
	if path == "" && strings.EqualFold(r.Name, engine.RootAccessRule) {
		row.Remove = ""
	}
	return row
}

// grantedRights returns all rights that a rule grants: Manage implies the others.
func grantedRights(r engine.Rights) []string {
	if r.Has(engine.ManageRight) {
		r |= engine.ListenRight | engine.SendRight
	}
	return r.Names()
}

// AccessOwner returns the entity whose rules a page shows, or "" for the rules of the namespace.
// The error is ErrPageNotFound for an invalid path.
func AccessOwner(p *pages.Pages, at pages.Address) (engine.Path, error) { return accessOwner(p, at) }

// AccessKeys returns the page of a rule's keys. It is not live and has no address: it is the
// response to a form.
func AccessKeys(ctx context.Context, p *pages.Pages, at pages.Address) (view.Page, error) {
	m := admin.AccessKeys{Enforced: p.Options.RequiresKeys}
	path, r, err := accessRule(ctx, p, at, &m.In, &m.Rule)
	if err != nil {
		return nil, err
	}
	m.Shell = p.StaticShell(ctx, at, m.Rule.Name)
	m.Shell.Back = m.In.Here
	connection, adminConnection := p.WithVisitorHost(ctx, p.Options.Connection), ""
	if path == "" && r.Rights.Has(engine.ManageRight) {
		adminConnection = p.WithVisitorHost(ctx, p.Options.AdminConnection)
	}
	for i, key := range []string{r.PrimaryKey, r.SecondaryKey} {
		m.Keys = append(m.Keys, admin.AccessKey{
			Second: i == 1, Value: key, Connection: withKey(connection, r.Name, key, path), Admin: withKey(adminConnection, r.Name, key, path),
			Renew: p.AccessActionURL(path, "renew", "rule", r.Name, "key", engine.KeyKind(i).String()),
		})
	}
	return m, nil
}

// accessRule finds the rule that an address names. It sets *in to the owner of the rule, and *row
// to the rule for display.
func accessRule(ctx context.Context, p *pages.Pages, at pages.Address, in *admin.AccessOwnerRef, row *admin.AccessRow) (path engine.Path, r engine.AccessRule, err error) {
	if path, err = accessOwner(p, at); err != nil {
		return path, r, err
	}
	var rules []engine.AccessRule
	s, err := p.Read(ctx, func(r broker.Reader) (err error) {
		*in, rules, err = readAccess(p, r, path)
		return err
	})
	if err != nil {
		return path, r, err
	}
	r, ok := engine.FindAccessRule(rules, at.Query.Get("rule"))
	if !ok {
		return path, r, pages.ErrPageNotFound
	}
	if in.Name != "" {
		path = engine.Path(in.Name)
	}
	*row = accessRow(p, path, r, s.Now)
	return path, r, nil
}

// withKey returns a connection string with its rule and key replaced, limited to the entity at
// `path` unless that is empty. It returns "" if the string or the key is empty, or if a name or
// key contains a semicolon.
func withKey(connection, rule, key string, path engine.Path) string {
	if connection == "" || key == "" || strings.ContainsAny(rule+key, ";") {
		return ""
	}
	parts := strings.Split(strings.TrimSuffix(connection, ";"), ";")
	for i, part := range parts {
		switch name, _, _ := strings.Cut(part, "="); name {
		case "SharedAccessKeyName":
			parts[i] = name + "=" + rule
		case "SharedAccessKey":
			parts[i] = name + "=" + key
		}
	}
	if path != "" {
		parts = append(parts, "EntityPath="+string(path))
	}
	return strings.Join(parts, ";") + ";"
}

// AccessForm shows the form of a new rule again with its errors, or asks to confirm at.Action.
func AccessForm(ctx context.Context, p *pages.Pages, at pages.Address, t pages.FormState) (view.Page, error) {
	if at.Action == "new" {
		m, _, err := accessModel(ctx, p, at)
		if err != nil {
			return nil, err
		}
		m.Shell = p.StaticShell(ctx, at, m.Title(ctx))
		m.Shell.Back = m.In.Here
		m.New.Name, m.New.NameError = shorten.To(t.Values.Get(admin.FieldRule), 400), t.Errors[admin.FieldRule]
		m.New.RightsError, m.New.Refused = t.Errors[admin.FieldRights], t.Refused
		m.New.Rights = map[string]bool{}
		for _, r := range t.Values[admin.FieldRights] {
			m.New.Rights[r] = true
		}
		return m, nil
	}
	m := admin.ConfirmAccessChange{Enforced: p.Options.RequiresKeys, Renew: at.Action == "renew", To: p.URL(at), Refused: t.Refused}
	second, ok := ParseKeyKind(at.Query)
	if !m.Renew && at.Action != "remove" || m.Renew && !ok {
		return nil, pages.ErrPageNotFound
	}
	m.Second = second == engine.SecondaryKey
	if _, _, err := accessRule(ctx, p, at, &m.In, &m.Rule); err != nil {
		return nil, err
	}
	if !m.Renew && m.Rule.Remove == "" {
		return nil, pages.ErrPageNotFound
	}
	m.Cancel = m.In.Here
	m.Shell = p.StaticShell(ctx, at, m.Rule.Name)
	m.Shell.Back = m.In.Here
	return m, nil
}

// ParseKeyKind parses the parameter that selects the primary or the secondary key of a rule.
func ParseKeyKind(query url.Values) (engine.KeyKind, bool) {
	kinds := []string{engine.PrimaryKey.String(), engine.SecondaryKey.String()}
	i := slices.Index(kinds, query.Get("key"))
	return engine.KeyKind(max(0, i)), i >= 0
}

// ParseAccessRule reads the form of a rule. Errors go into t.
func ParseAccessRule(t *pages.FormState) engine.AccessRule {
	r := engine.AccessRule{Name: strings.TrimSpace(t.Values.Get(admin.FieldRule))}
	rights, err := engine.ParseRights(t.Values[admin.FieldRights])
	if err != nil {
		t.Errors[admin.FieldRights] = component.ServerText(err.Error())
	}
	if r.Rights = rights; rights.Has(engine.ManageRight) {
		r.Rights |= engine.ListenRight | engine.SendRight
	}
	return r
}

// OwnAccess returns the entity's own rules as its page shows them, and the address where they
// are changed. A subscription has none.
func OwnAccess(p *pages.Pages, e engine.EntityState, now engine.Instant) (rows []admin.AccessRow, at string) {
	if e.Kind == engine.Subscription {
		return nil, ""
	}
	for _, r := range e.Config.AuthorizationRules {
		rows = append(rows, accessRow(p, e.Path, r, now))
	}
	return rows, p.AccessActionURL(e.Path, "")
}
