package admin

import (
	"context"
	"net/url"

	"mayfly/engine/shorten"
	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/views/page/admin"
	"mayfly/web/auth"
	"mayfly/web/dashboard/pages"
)

// Docs returns the list of the documentation's pages, or those that match a query.
func Docs(ctx context.Context, p *pages.Pages, query string) admin.Docs {
	m := admin.Docs{At: p.DocsURL(), Query: shorten.To(query, maxFilterBytes)}
	m.Shell = docsShell(ctx, p, locale.T(ctx, "docs.title"), m.At)
	if m.Query != "" {
		m.Shell.Back += "?" + url.Values{admin.DocsQuery: {m.Query}}.Encode()
		m.Found = p.Options.Docs.Search(m.Query)
		return m
	}
	m.Groups, m.API = p.Options.Docs.Groups(), m.Shell.Home+"/api"
	return m
}

// Doc returns a page of the documentation, or ErrPageNotFound.
func Doc(ctx context.Context, p *pages.Pages, name string) (admin.Doc, error) {
	m, ok := p.Options.Docs.Page(name)
	if !ok {
		return m, pages.ErrPageNotFound
	}
	m.At = p.DocsURL()
	m.Shell = docsShell(ctx, p, m.Title, m.At+"/"+name)
	return m, nil
}

// docsShell returns the shell of a page of the documentation. A visitor who may see only one
// namespace stays in it.
func docsShell(ctx context.Context, p *pages.Pages, title, back string) layout.Shell {
	sh := p.ServerShell(ctx, title)
	sh.Back, sh.Active = back, layout.Docs
	if name := auth.FromContext(ctx).Namespace; name != "" && name != p.Broker.Name() {
		sh = layout.Shell{Namespace: name, Home: p.Options.Base + "/n/" + url.PathEscape(name), Title: title, Active: layout.Docs, Docs: sh.Docs, Appearance: sh.Appearance, User: sh.User, Back: back}
	}
	return sh
}
