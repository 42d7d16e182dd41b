package show

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/views/component"
	"mayfly/views/page"
	"mayfly/views/view"
)

const (
	ownersShown = 100 // entities with rules of their own, on the page
	// accessFresh is how often rules are looked at while somebody sees them.
	accessFresh = 2 * time.Second
)

// accessOwner is the entity whose rules a place is about; empty: the namespace.
func (p *Pages) accessOwner(at Place) (engine.Path, error) {
	if !at.Query.Has("entity") {
		return "", nil
	}
	path, err := engine.ParsePath(at.Query.Get("entity"), p.b.Limits())
	if err != nil {
		return "", ErrNoPage
	}
	return path, nil
}

// seeAccess reads the rules of an entity or, without a path, of the namespace.
func (p *Pages) seeAccess(r broker.Reader, path engine.Path) (in page.AccessOf, rules []engine.AccessRule, err error) {
	in.All = p.Home() + "/access"
	if path == "" {
		in.Here = in.All
		return in, r.AccessRules(), nil
	}
	e, err := r.State(path)
	if err != nil {
		return in, nil, err //nolint:wrapcheck // the caller asked for just this
	}
	if e.Kind == engine.Subscription || path.IsDeadLetter() {
		return in, nil, ErrNoPage // they have none of their own
	}
	in.Name, in.Href, in.Here = string(e.Path), p.EntityURL(e.Kind, e.Path), p.accessURL(e.Path, "")
	return in, e.Config.AuthorizationRules, nil
}

// accessURL is where something is done about the rules of an entity or, without
// a path, of the namespace; pairs are what else its address says.
func (p *Pages) accessURL(path engine.Path, do string, pairs ...string) string {
	at := Place{Namespace: p.b.Name(), Kind: Access, Do: do}
	return p.URL(at.with(append([]string{"entity", string(path)}, pairs...)...))
}

func (p *Pages) access(ctx context.Context, at Place) (view.Page, uint64, error) {
	m, s, err := p.accessModel(ctx, at)
	if err != nil {
		return nil, 0, err
	}
	m.Shell = p.shell(ctx, at, s, m.Title(ctx))
	m.Shell.Live.Picking = true // a rule may be half described
	return Refreshing{m, accessFresh}, s.n, nil
}

func (p *Pages) accessModel(ctx context.Context, at Place) (m page.Access, s sight, err error) {
	path, err := p.accessOwner(at)
	if err != nil {
		return m, s, err
	}
	var rules []engine.AccessRule
	var states []engine.EntityState
	s, err = p.look(ctx, func(r broker.Reader) (err error) {
		if m.In, rules, err = p.seeAccess(r, path); err == nil && path == "" {
			states = r.States(0)
		}
		return err
	})
	m.Enforced, m.Most = p.o.Keyed, int(p.b.Limits().AccessRules)
	m.New.To = p.accessURL(path, "new")
	for _, r := range rules {
		m.Rules = append(m.Rules, p.accessRow(path, r, s.now))
	}
	for _, e := range states {
		own := e.Config.AuthorizationRules
		switch {
		case len(own) == 0:
		case len(m.Owners) == ownersShown:
			m.Left++
		default:
			o := page.AccessOwner{Name: string(e.Path), Href: p.accessURL(e.Path, "")}
			for _, r := range own {
				o.Rules = append(o.Rules, p.accessRow(e.Path, r, s.now))
			}
			m.Owners = append(m.Owners, o)
		}
	}
	return m, s, err
}

func (p *Pages) accessRow(path engine.Path, r engine.AccessRule, now engine.Instant) page.AccessRow {
	row := page.AccessRow{
		Key: r.Name, Name: r.Name, Rights: rightsOf(r.Rights), Show: p.accessURL(path, "keys", "rule", r.Name),
		Remove: p.accessURL(path, "remove", "rule", r.Name), Changed: r.UpdatedAt.Time(), Now: now.Time(),
	}
	if path == "" && strings.EqualFold(r.Name, engine.RootAccessRule) {
		row.Remove = ""
	}
	return row
}

// rightsOf are all that a rule gives: Manage brings the others along.
func rightsOf(r engine.Rights) []string {
	if r.Has(engine.ManageRight) {
		r |= engine.ListenRight | engine.SendRight
	}
	return r.Names()
}

// AccessOwner is the entity whose rules a place is about; empty: the namespace.
// The error is ErrNoPage where there can be none.
func (p *Pages) AccessOwner(at Place) (engine.Path, error) { return p.accessOwner(at) }

// AccessURL is where the rules of an entity or, without a path, of the namespace
// are looked at.
func (p *Pages) AccessURL(path engine.Path) string { return p.accessURL(path, "") }

// AccessKeys is the page of one rule's keys. It is not kept up to date, and has no
// address: whoever serves it was asked for it by a form.
func (p *Pages) AccessKeys(ctx context.Context, at Place) (view.Page, error) {
	m := page.AccessKeys{Enforced: p.o.Keyed}
	path, r, err := p.accessRule(ctx, at, &m.In, &m.Rule)
	if err != nil {
		return nil, err
	}
	m.Shell = p.still(ctx, at, m.Rule.Name)
	m.Shell.Back = m.In.Here
	connection, admin := p.dialled(ctx, p.o.Connection), ""
	if path == "" && r.Rights.Has(engine.ManageRight) {
		admin = p.dialled(ctx, p.o.AdminConnection)
	}
	for i, key := range []string{r.PrimaryKey, r.SecondaryKey} {
		m.Keys = append(m.Keys, page.AccessKey{
			Second: i == 1, Value: key, Connection: keyed(connection, r.Name, key, path), Admin: keyed(admin, r.Name, key, path),
			Renew: p.accessURL(path, "renew", "rule", r.Name, "key", engine.KeyKind(i).String()),
		})
	}
	return m, nil
}

// accessRule finds the rule that a place names, whose it is, and how it is shown.
func (p *Pages) accessRule(ctx context.Context, at Place, in *page.AccessOf, row *page.AccessRow) (path engine.Path, r engine.AccessRule, err error) {
	if path, err = p.accessOwner(at); err != nil {
		return path, r, err
	}
	var rules []engine.AccessRule
	s, err := p.look(ctx, func(r broker.Reader) (err error) {
		*in, rules, err = p.seeAccess(r, path)
		return err
	})
	if err != nil {
		return path, r, err
	}
	r, ok := engine.FindAccessRule(rules, at.Query.Get("rule"))
	if !ok {
		return path, r, ErrNoPage
	}
	if in.Name != "" {
		path = engine.Path(in.Name)
	}
	*row = p.accessRow(path, r, s.now)
	return path, r, nil
}

// keyed is a connection string with another rule and key in it, and for an
// entity alone if the rule is one of its own; empty where it cannot be written.
func keyed(connection, rule, key string, path engine.Path) string {
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

// askAccess asks for a new rule, once more, or whether to do what at.Do says.
func (p *Pages) askAccess(ctx context.Context, at Place, t Typed) (view.Page, error) {
	if at.Do == "new" {
		m, _, err := p.accessModel(ctx, at)
		if err != nil {
			return nil, err
		}
		m.Shell = p.still(ctx, at, m.Title(ctx))
		m.Shell.Back = m.In.Here
		m.New.Name, m.New.NameError = cut(t.Values.Get(page.AskRule), 400), t.Errors[page.AskRule]
		m.New.RightsError, m.New.Refused = t.Errors[page.AskRights], t.Refused
		m.New.Rights = map[string]bool{}
		for _, r := range t.Values[page.AskRights] {
			m.New.Rights[r] = true
		}
		return m, nil
	}
	m := page.AccessAsk{Enforced: p.o.Keyed, Renew: at.Do == "renew", To: p.URL(at), Refused: t.Refused}
	second, ok := ReadKeyKind(at.Query)
	if !m.Renew && at.Do != "remove" || m.Renew && !ok {
		return nil, ErrNoPage
	}
	m.Second = second == engine.SecondaryKey
	if _, _, err := p.accessRule(ctx, at, &m.In, &m.Rule); err != nil {
		return nil, err
	}
	if !m.Renew && m.Rule.Remove == "" {
		return nil, ErrNoPage
	}
	m.Cancel = m.In.Here
	m.Shell = p.still(ctx, at, m.Rule.Name)
	m.Shell.Back = m.In.Here
	return m, nil
}

// ReadKeyKind reads which key of a rule is meant.
func ReadKeyKind(query url.Values) (engine.KeyKind, bool) {
	kinds := []string{engine.PrimaryKey.String(), engine.SecondaryKey.String()}
	i := slices.Index(kinds, query.Get("key"))
	return engine.KeyKind(max(0, i)), i >= 0
}

// ReadAccessRule reads the form of a rule. What is wrong with it goes into t.
func ReadAccessRule(t *Typed) engine.AccessRule {
	r := engine.AccessRule{Name: strings.TrimSpace(t.Values.Get(page.AskRule))}
	rights, err := engine.ParseRights(t.Values[page.AskRights])
	if err != nil {
		t.Errors[page.AskRights] = component.Said(err.Error())
	}
	if r.Rights = rights; rights.Has(engine.ManageRight) {
		r.Rights |= engine.ListenRight | engine.SendRight
	}
	return r
}

// ownAccess is what the page of an entity tells of its own rules, and where they
// are changed; a subscription has none.
func (p *Pages) ownAccess(e engine.EntityState, now engine.Instant) (rows []page.AccessRow, at string) {
	if e.Kind == engine.Subscription {
		return nil, ""
	}
	for _, r := range e.Config.AuthorizationRules {
		rows = append(rows, p.accessRow(e.Path, r, now))
	}
	return rows, p.accessURL(e.Path, "")
}
