package server

import (
	"context"

	"mayfly/web/auth"
	"mayfly/web/auth/token"
	"mayfly/web/dashboard"
	"mayfly/web/presentation"
)

// mayViewScene reports whether the namespace plays a scene that the presenter has shown to this
// link visitor. Visitors with a link cannot see other scenes.
func (p *serverRun) mayViewScene(who auth.Caller, name string) bool {
	return p.scenes.Peek(name) != nil && p.presentations.HasVisited(who.Presentation, name)
}

// A presenterLinks makes, finds and revokes the server's view-only links for presenters.
type presenterLinks struct{ tokens *token.Registry }

func (a presenterLinks) CreateLink(ctx context.Context, who auth.Caller, actor string, w dashboard.LinkRequest) (presentation.Link, error) {
	k, path, err := a.tokens.CreateLink(ctx, who, actor, token.Request{Name: w.Name, Namespace: w.Namespace, Page: w.Page, Lifetime: w.Lifetime})
	return presentation.Link{ID: k.ID, URL: path, Until: k.Expires}, err
}

func (a presenterLinks) LinkOf(who auth.Caller, id string) (presentation.Link, bool) {
	k, ok := a.tokens.PresentationLink(who, id)
	return presentation.Link{ID: k.ID, Until: k.Expires}, ok
}

func (a presenterLinks) RevokeLink(ctx context.Context, who auth.Caller, actor, id string) error {
	_, err := a.tokens.Revoke(ctx, who, actor, id)
	return err
}
