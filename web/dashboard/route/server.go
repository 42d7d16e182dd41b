package route

import (
	"mayfly/web/auth"
	"mayfly/web/dashboard/pages"
)

func serverRoutes() []pages.Route {
	return []pages.Route{
		{Kind: pages.Root, Type: pages.TypeRedirect},
		{Kind: pages.Root, Action: "n", Type: pages.TypeRedirect},
		{Kind: pages.Settings, Type: pages.TypePage, Role: auth.Viewer, Destroys: pages.Never()},
		{Kind: pages.Follow, Type: pages.TypeRedirect},
		{Kind: pages.Docs, Type: pages.TypePage},
		{Kind: pages.Docs, Action: "api", Type: pages.TypeRedirect},
		{Kind: pages.DocsPage, Type: pages.TypePage},

		{Kind: pages.Namespaces, Type: pages.TypePage, PostRole: auth.Admin, Destroys: pages.Never()},
		{Kind: pages.Namespace, Action: "remove", Type: pages.TypeForm, Role: auth.Admin, Destroys: pages.Always()},
		{Kind: pages.Namespace, Action: "limits", Type: pages.TypeForm, Role: auth.Admin, Destroys: pages.Never()},

		{Kind: pages.Scenes, Type: pages.TypePage, Leads: true},
		{Kind: pages.Scenes, Action: "new", Type: pages.TypeForm, Role: auth.Admin, Destroys: pages.Never()},
		{Kind: pages.SceneText, Type: pages.TypeFile},
		{Kind: pages.SceneRemoval, Type: pages.TypeForm, Role: auth.Admin, Destroys: pages.Never()},
		{Kind: pages.ScenePlay, Role: auth.Admin, Destroys: pages.Never()},
		{Kind: pages.Playback, Action: "next", Role: auth.Operator, Destroys: pages.Never()},
		{Kind: pages.Playback, Action: "back", Role: auth.Operator, Destroys: pages.Never()},
		{Kind: pages.Playback, Action: "reset", Role: auth.Operator, Destroys: pages.Never()},
		{Kind: pages.Playback, Action: "clock", Role: auth.Operator, Destroys: pages.Never()},
		{Kind: pages.Playback, Action: "leap", Role: auth.Operator, Destroys: pages.Never()},
		{Kind: pages.Playback, Action: "leave", Role: auth.Admin, Destroys: pages.Never()},
		{Kind: pages.PlaybackForm, Type: pages.TypeRedirect},

		{Kind: pages.Tokens, Type: pages.TypePage},
		{Kind: pages.Tokens, Action: "new", Type: pages.TypePage, Role: auth.Viewer, Destroys: pages.Never()},
		{Kind: pages.Tokens, Action: "link", Type: pages.TypePage, Role: auth.Operator, Destroys: pages.Never()},
		{Kind: pages.Token, Action: "revoke", Type: pages.TypeForm, Role: auth.Viewer, Destroys: pages.Never()},
	}
}
