package admin

import (
	"cmp"
	"context"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/namespaces"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/page/admin"
	"mayfly/web/connections"
	"mayfly/web/dashboard/pages"
)

// Namespaces returns the page of all namespaces, or ErrPageNotFound if the server has only one.
func Namespaces(ctx context.Context, p *pages.Pages, t pages.FormState) (admin.Namespaces, error) {
	s := p.Options.Namespaces
	if s.Namespaces == nil {
		return admin.Namespaces{}, pages.ErrPageNotFound
	}
	m := admin.Namespaces{Shell: p.ServerShell(ctx, locale.T(ctx, "spaces.title")), Max: s.Namespaces.Max()}
	if err := s.Namespaces.CatalogueError(); err != nil {
		m.Trouble = err.Error()
	}
	for _, n := range s.Namespaces.List() {
		m.Rows = append(m.Rows, namespaceRow(ctx, p, n))
	}
	m.New = admin.NamespaceForm{
		To: p.NamespacesURL(""), Name: t.Values.Get(admin.FieldNamespace), Profile: t.Values.Get(admin.FieldProfile), Profiles: engine.Profiles(),
		Stay: t.Values.Get(admin.FieldLifetime), NameError: t.Errors[admin.FieldNamespace],
		Config: t.Values.Get(admin.FieldConfig), ConfigError: t.Errors[admin.FieldConfig], Refused: t.Refused,
	}
	return m, nil
}

func namespaceRow(ctx context.Context, p *pages.Pages, n namespaces.Namespace) admin.NamespaceRow {
	s := p.Options.Namespaces
	r := admin.NamespaceRow{
		Name: n.Name, Href: p.Options.Base + "/n/" + n.Name, Own: n.Main, State: string(n.State), Why: n.Reason, Owner: n.Owner.Dashboard,
		Temporary: n.Temporary, Until: n.Until, Created: n.Created, Now: time.Now(),
	}
	if s.StoredIn != nil {
		r.Kept = s.StoredIn(n.Spec)
	}
	if s.Connections != nil {
		messages, admin := s.Connections(n.Name)
		r.Connection = cmp.Or(messages, admin)
	}
	if !n.Main {
		r.Remove = p.NamespacesURL(n.Name)
		if !n.Temporary {
			r.Limits = p.NamespacesURL("") + "/" + n.Name + "/limits"
		}
	}
	if n.Broker == nil {
		return r
	}
	r.Tier = n.Broker.Limits().Tier
	err := n.Broker.Read(ctx, func(look broker.Reader) error {
		counts, entities := look.Totals()
		r.Counts = admin.NamespaceCounts{Entities: entities, Messages: int(counts.MessageCount()), Dead: int(counts.DeadLetter + counts.DeadLocked)}
		return nil
	})
	r.Served = err == nil
	if s.Clients != nil {
		if of := s.Clients(n.Name); of != nil {
			r.Counts.Clients = of.Connections(connections.Query{Limit: 1}).Total
		}
	}
	return r
}

// NamespaceLimits returns the form that changes a namespace's limits. It returns ErrPageNotFound for
// the server's own namespace and for a temporary one, and namespaces.ErrNoNamespace if it does not exist.
func NamespaceLimits(ctx context.Context, p *pages.Pages, name string, t pages.FormState) (admin.NamespaceLimits, error) {
	if p.Options.Namespaces.Namespaces == nil {
		return admin.NamespaceLimits{}, pages.ErrPageNotFound
	}
	n, ok := p.Options.Namespaces.Namespaces.Find(name)
	switch {
	case !ok:
		return admin.NamespaceLimits{}, namespaces.ErrNoNamespace
	case n.Main, n.Temporary:
		return admin.NamespaceLimits{}, pages.ErrPageNotFound
	}
	m := admin.NamespaceLimits{
		Shell: p.ServerShell(ctx, locale.T(ctx, "spaces.limits.title", locale.Args{"Name": n.Name})), Row: namespaceRow(ctx, p, n),
		All: p.NamespacesURL(""), Profile: n.Profile, Profiles: engine.Profiles(), Refused: t.Refused,
	}
	if t.Values != nil {
		m.Profile = t.Values.Get(admin.FieldProfile)
	}
	return m, nil
}

// NamespaceRemoval returns the page that asks to confirm the removal of a namespace. It returns
// ErrPageNotFound for the server's own namespace, and namespaces.ErrNoNamespace if it does not
// exist.
func NamespaceRemoval(ctx context.Context, p *pages.Pages, name string, t pages.FormState) (admin.ConfirmRemoveNamespace, error) {
	s := p.Options.Namespaces
	if s.Namespaces == nil {
		return admin.ConfirmRemoveNamespace{}, pages.ErrPageNotFound
	}
	n, ok := s.Namespaces.Find(name)
	switch {
	case !ok:
		return admin.ConfirmRemoveNamespace{}, namespaces.ErrNoNamespace
	case n.Main:
		return admin.ConfirmRemoveNamespace{}, pages.ErrPageNotFound
	}
	m := admin.ConfirmRemoveNamespace{
		Shell: p.ServerShell(ctx, locale.T(ctx, "spaces.remove.title", locale.Args{"Name": n.Name})), Row: namespaceRow(ctx, p, n),
		To: p.NamespacesURL(n.Name), All: p.NamespacesURL(""), Typed: t.Values.Get(page.FieldConfirm), TypeError: t.Errors[page.FieldConfirm], Refused: t.Refused,
	}
	if s.MovedTo != nil {
		m.Aside = s.MovedTo(n.Spec)
	}
	return m, nil
}
