package main

import (
	"context"

	"mayfly/web/identity"
	"mayfly/web/keys"
	"mayfly/web/talk"
	"mayfly/web/ui"
)

// staged tells whether a scene is played in a namespace to which the presenter whom
// somebody follows by a link has led them: other people's are not theirs to look at.
func (p *program) staged(who identity.Who, name string) bool {
	return p.scenes.Peek(name) != nil && p.hall.Led(who.Talk, name)
}

// An audience is given links of the server's, which the dashboard makes for those who
// present.
type audience struct{ keys *keys.Ring }

func (a audience) Make(ctx context.Context, who identity.Who, actor string, w ui.LinkWish) (talk.Link, error) {
	k, path, err := a.keys.MakeLink(ctx, who, actor, keys.Wish{Name: w.Name, Namespace: w.Namespace, Page: w.Page, For: w.For})
	return talk.Link{ID: k.ID, URL: path, Until: k.Until}, err //nolint:wrapcheck // it says what it is about
}

func (a audience) Of(who identity.Who, id string) (talk.Link, bool) {
	k, ok := a.keys.LinkOf(who, id)
	return talk.Link{ID: k.ID, Until: k.Until}, ok
}

func (a audience) Revoke(ctx context.Context, who identity.Who, actor, id string) error {
	_, err := a.keys.Revoke(ctx, who, actor, id)
	return err //nolint:wrapcheck // it says what it is about
}
