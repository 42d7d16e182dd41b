package ui

import (
	"fmt"
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"mayfly/engine/demo"
	"mayfly/views/component"
	"mayfly/web/auth/token"
	"mayfly/web/show"
)

// A routeID identifies a route of package show.
type routeID struct {
	kind   show.PageKind
	action string
}

// routeHandlers serve a route. Its other properties are in show.Routes.
type routeHandlers struct {
	get   func(*Handler, echo.Context) error // zero means the route's own page
	post  postHandler                        // see form, serverForm, playForm and ownForm
	needs func(*Handler) bool                // whether this server has the route; zero means every server
}

// A postHandler handles the POST of a route.
type postHandler struct {
	serve func(*Handler, *show.Route, echo.Context) error
	own   bool // see ownForm
}

// Mount adds all routes of the dashboard to g. Requests arrive without the base path.
func (d *Handler) Mount(g *echo.Group) {
	all := handlers()
	for _, r := range show.Routes().Routes() {
		id := routeID{r.Kind, r.Action}
		h := all[id]
		delete(all, id)
		h.check(r)
		if h.needs != nil && !h.needs(d) {
			continue
		}
		for _, pattern := range r.Patterns() {
			if r.Has(http.MethodGet) {
				g.GET(pattern, d.get(h))
			}
			if r.Has(http.MethodPost) {
				g.POST(pattern, func(c echo.Context) error { return h.post.serve(d, r, c) })
			}
		}
	}
	for id := range all {
		panic(fmt.Sprintf("no route for %s %s", id.kind, id.action))
	}
}

// check panics if h has other methods than its route, or does not check Safe mode as its route
// declares.
func (h routeHandlers) check(r *show.Route) {
	switch {
	case h.post.serve == nil && r.Has(http.MethodPost):
		panic("no handler for POST " + r.Path())
	case h.post.serve != nil && !r.Has(http.MethodPost):
		panic("no route for POST " + r.Path())
	case h.post.own && r.Destroys.Checked():
		panic("Safe mode is not checked for POST " + r.Path())
	case h.get == nil && r.Has(http.MethodGet) && r.Get == nil && r.Form == nil:
		panic("no page for GET " + r.Path())
	case h.get != nil && !r.Has(http.MethodGet):
		panic("no route for GET " + r.Path())
	}
}

func (d *Handler) get(h routeHandlers) echo.HandlerFunc {
	if h.get == nil {
		return d.servePage
	}
	return func(c echo.Context) error { return h.get(d, c) }
}

// form returns a handler that reads a form of a namespace within limits, checks its token, and
// refuses it if Safe mode does.
func form(h func(*Handler, echo.Context, show.Address, url.Values) error) postHandler {
	return postHandler{serve: func(d *Handler, r *show.Route, c echo.Context) error {
		return d.namespaceForm(r, func(c echo.Context, at show.Address, typed url.Values) error { return h(d, c, at, typed) })(c)
	}}
}

// serverForm is form for a form that belongs to no namespace.
func serverForm(h func(*Handler, echo.Context, url.Values) error) postHandler {
	return postHandler{serve: func(d *Handler, r *show.Route, c echo.Context) error {
		return d.serverForm(r, func(c echo.Context, typed url.Values) error { return h(d, c, typed) })(c)
	}}
}

// playForm is form for a form that acts on a play. It checks whether the play has ended before it
// reads the form, because the token of a form from before a restart is invalid, and its play has
// ended with the restart.
func playForm(h func(*Handler, echo.Context, *demo.Playback, url.Values) error) postHandler {
	return postHandler{serve: func(d *Handler, r *show.Route, c echo.Context) error {
		p, err := d.scenes.Playback(c.Param("play"))
		if err != nil {
			return d.redirectPlayEnded(c)
		}
		return d.serverForm(r, func(c echo.Context, typed url.Values) error { return h(d, c, p, typed) })(c)
	}}
}

// ownForm returns a handler that reads the request and checks its token itself. The dashboard does
// not check Safe mode for it: either its route deletes nothing, or the handler checks.
func ownForm(h func(*Handler, echo.Context) error) postHandler {
	return postHandler{own: true, serve: func(d *Handler, _ *show.Route, c echo.Context) error { return h(d, c) }}
}

// handlers returns the handlers of the routes that need one: those with a POST, and those whose
// GET is not only a page.
func handlers() map[routeID]routeHandlers {
	hasNamespaces := func(d *Handler) bool { return d.namespaces != nil }
	hasScenes := func(d *Handler) bool { return d.scenes != nil }
	hasTokens := func(d *Handler) bool { return d.tokens != nil }
	hasPresentations := func(d *Handler) bool { return d.presentations != nil }
	all := map[routeID]routeHandlers{
		{show.Root, ""}:     {get: (*Handler).redirectHome},
		{show.Root, "n"}:    {get: (*Handler).redirectHome},
		{show.Docs, ""}:     {get: (*Handler).docs},
		{show.Docs, "api"}:  {get: (*Handler).redirectToReference},
		{show.DocsPage, ""}: {get: (*Handler).doc},
		{show.Settings, ""}: {get: (*Handler).settingsPage, post: serverForm((*Handler).saveSettings)},

		{show.Namespaces, ""}:      {needs: hasNamespaces, get: (*Handler).listNamespaces, post: serverForm((*Handler).createNamespace)},
		{show.Namespace, "remove"}: {needs: hasNamespaces, get: (*Handler).confirmRemoveNamespace, post: serverForm((*Handler).removeNamespace)},
		{show.Namespace, "limits"}: {needs: hasNamespaces, get: (*Handler).namespaceLimits, post: serverForm((*Handler).limitNamespace)},

		// The forms of the clock act on that of a play, by its namespace: other namespaces have no
		// manual clock.
		{show.Scenes, ""}:        {needs: hasScenes, get: (*Handler).listScenes},
		{show.Scenes, "new"}:     {needs: hasScenes, get: (*Handler).newSceneForm, post: ownForm((*Handler).addScene)},
		{show.SceneText, ""}:     {needs: hasScenes, get: (*Handler).downloadScene},
		{show.SceneRemoval, ""}:  {needs: hasScenes, get: (*Handler).confirmRemoveScene, post: serverForm((*Handler).removeScene)},
		{show.ScenePlay, ""}:     {needs: hasScenes, post: serverForm((*Handler).startScene)},
		{show.Playback, "next"}:  {needs: hasScenes, post: playForm((*Handler).nextStep)},
		{show.Playback, "back"}:  {needs: hasScenes, post: playForm((*Handler).stepBack)},
		{show.Playback, "reset"}: {needs: hasScenes, post: playForm((*Handler).resetScene)},
		{show.Playback, "leave"}: {needs: hasScenes, post: playForm((*Handler).leaveScene)},
		{show.Playback, "clock"}: {needs: hasScenes, post: playForm((*Handler).turnClock)},
		{show.Playback, "leap"}:  {needs: hasScenes, post: playForm((*Handler).advanceClock)},
		{show.PlaybackForm, ""}:  {needs: hasScenes, get: (*Handler).redirectToPlay},

		{show.Tokens, ""}:       {needs: hasTokens, get: (*Handler).tokensPage},
		{show.Tokens, "new"}:    {needs: hasTokens, get: tokenForm(token.Token), post: serverForm(tokenCreation(token.Token))},
		{show.Tokens, "link"}:   {needs: hasTokens, get: tokenForm(token.Link), post: serverForm(tokenCreation(token.Link))},
		{show.Token, "revoke"}:  {needs: hasTokens, get: (*Handler).confirmRevokeToken, post: serverForm((*Handler).revokeToken)},
		{show.Follow, ""}:       {needs: hasPresentations, get: (*Handler).followPresentation},
		{show.Share, ""}:        {needs: hasPresentations, get: (*Handler).sharePage, post: form((*Handler).startSharing)},
		{show.Share, "stop"}:    {needs: hasPresentations, post: form((*Handler).stopSharing)},
		{show.Undo, ""}:         {post: form((*Handler).undoOperation)},
		{show.FilterLab, ""}:    {post: form((*Handler).tryInLab)},
		{show.FilterLab, "new"}: {get: (*Handler).suggestSubscription},

		{show.Overview, "language"}:     {post: serverForm((*Handler).setLanguage)},
		{show.SafeModeSwitch, ""}:       {post: form((*Handler).setSafeMode)},
		{show.Activity, "export"}:       {get: (*Handler).exportEvents},
		{show.Connection, "disconnect"}: {post: form((*Handler).disconnect)},
		{show.Views, "edit"}:            {post: form((*Handler).saveView)},
		{show.Views, "delete"}:          {post: form((*Handler).deleteView)},
		{show.Templates, "rename"}:      {post: form((*Handler).renameTemplate)},
		{show.Templates, "remove"}:      {post: form((*Handler).removeTemplate)},
		{show.Jobs, "new"}:              {post: form((*Handler).startJob)},
		{show.Job, "cancel"}:            {post: form((*Handler).changeJob)},
		{show.Job, "resume"}:            {post: form((*Handler).changeJob)},
		{show.Job, "undo"}:              {post: form((*Handler).changeJob)},
		{show.Import, ""}:               {post: ownForm((*Handler).uploadFile)},
		{show.Import, "start"}:          {post: form((*Handler).startImport)},

		{show.Queues, ""}:                    {post: form((*Handler).createEntity)},
		{show.Topics, ""}:                    {post: form((*Handler).createEntity)},
		{show.CreateStarter, ""}:             {post: form((*Handler).createStarter)},
		{show.DeletedEntity, "restore"}:      {post: form((*Handler).restoreEntity)},
		{show.Definitions, ""}:               {get: (*Handler).definitions},
		{show.Definitions, "import"}:         {post: ownForm((*Handler).applyDefinitions)},
		{show.Access, "new"}:                 {post: form((*Handler).addAccess)},
		{show.Access, "keys"}:                {get: (*Handler).redirectFromKeys, post: form((*Handler).showKeys)},
		{show.Access, "renew"}:               {post: form((*Handler).renewKey)},
		{show.Access, "remove"}:              {post: form((*Handler).removeAccess)},
		{show.Alerts, "new"}:                 {post: form((*Handler).addAlert)},
		{show.Alerts, "try"}:                 {post: form((*Handler).tryAlert)},
		{show.Alerts, "toasts"}:              {get: (*Handler).alertToasts},
		{show.Alert, "edit"}:                 {post: form((*Handler).editAlert)},
		{show.Alert, "try"}:                  {post: form((*Handler).tryAlert)},
		{show.Alert, "remove"}:               {post: form((*Handler).changeAlert)},
		{show.Alert, "on"}:                   {post: form((*Handler).changeAlert)},
		{show.Alert, "off"}:                  {post: form((*Handler).changeAlert)},
		{show.Alert, "test"}:                 {post: form((*Handler).changeAlert)},
		{show.DamagedMessages, "move-aside"}: {post: form((*Handler).moveDamagedAside)},

		{show.Entity, ""}:             {get: (*Handler).entityPage},
		{show.Entity, "new"}:          {post: form((*Handler).createEntity)},
		{show.Entity, "edit"}:         {post: form((*Handler).editEntity)},
		{show.Entity, "delete"}:       {post: form((*Handler).deleteEntity)},
		{show.Entity, "status"}:       {post: form((*Handler).setStatus)},
		{show.Entity, "pin"}:          {post: form((*Handler).pinEntity)},
		{show.Entity, "unpin"}:        {post: form((*Handler).unpinEntity)},
		{show.Entity, "touch"}:        {post: form((*Handler).touchEntity)},
		{show.Entity, "send"}:         {post: form((*Handler).send)},
		{show.Entity, "import"}:       {post: ownForm((*Handler).uploadFile)},
		{show.Entity, "import/start"}: {post: form((*Handler).startImport)},
		{show.Entity, "receive"}:      {post: form((*Handler).receiveMessage)},
		{show.Entity, "purge"}:        {post: form((*Handler).purgeMessages)},
		{show.Entity, "resubmit"}:     {post: form((*Handler).resubmitAll)},
		{show.Entity, "rules/add"}:    {post: form((*Handler).addRule)},
		{show.Entity, "rules/remove"}: {post: form((*Handler).removeRule)},
		{show.Entity, "rules/new"}:    {post: form((*Handler).newRule)},
		{show.Entity, "rules/edit"}:   {post: form((*Handler).editRule)},
		{show.Entity, "rules/try"}:    {post: form((*Handler).tryRule)},
		{show.Session, "receive"}:     {post: form((*Handler).receiveFromSession)},
		{show.Session, "release"}:     {post: form((*Handler).releaseSession)},
		{show.Session, "break"}:       {post: form((*Handler).breakSession)},
		{show.Session, "state"}:       {post: form((*Handler).setSessionState)},
		{show.Session, "clear"}:       {post: form((*Handler).setSessionState)},

		{show.Message, "body"}:          {get: (*Handler).downloadBody},
		{show.Message, "complete"}:      {post: form((*Handler).settle)},
		{show.Message, "abandon"}:       {post: form((*Handler).settle)},
		{show.Message, "defer"}:         {post: form((*Handler).settle)},
		{show.Message, "dead-letter"}:   {post: form((*Handler).deadLetter)},
		{show.Message, "delete"}:        {post: form((*Handler).deleteMessage)},
		{show.Message, "cancel"}:        {post: form((*Handler).deleteMessage)},
		{show.Message, "edit"}:          {post: form((*Handler).editMessage)},
		{show.Message, "resubmit"}:      {post: form((*Handler).resubmit)},
		{show.Message, "resubmit-copy"}: {post: form((*Handler).resubmit)},
		{show.Message, "send-now"}:      {post: form((*Handler).sendNow)},
		{show.Message, "reschedule"}:    {post: form((*Handler).reschedule)},
		{show.Message, "extend"}:        {post: form((*Handler).extend)},
		{show.Message, "return"}:        {post: form((*Handler).returnToActive)},
		{show.Message, "fetch"}:         {post: form((*Handler).receiveDeferred)},
		{show.Message, "break-lock"}:    {post: form((*Handler).breakLock)},
		{show.Message, "renew"}:         {post: form((*Handler).renew)},
	}
	for _, of := range []show.PageKind{show.SelectedMessages, show.Entity} {
		for action := range bulkActions {
			all[routeID{of, action}] = routeHandlers{post: form((*Handler).bulk)}
		}
	}
	return all
}

// Handlers that call a method of Handler with more than the request.

func (d *Handler) redirectToReference(c echo.Context) error {
	return c.Redirect(http.StatusFound, d.pages.Home()+"/api")
}

func (d *Handler) listNamespaces(c echo.Context) error {
	return d.namespacesPage(c, http.StatusOK, show.FormState{})
}

func (d *Handler) confirmRemoveNamespace(c echo.Context) error {
	return d.writeNamespaceRemoval(c, http.StatusOK, show.FormState{})
}

func (d *Handler) namespaceLimits(c echo.Context) error {
	return d.writeNamespaceLimits(c, http.StatusOK, show.FormState{})
}

func (d *Handler) listScenes(c echo.Context) error {
	return d.writeScenes(c, http.StatusOK, component.Notice{})
}

func tokenForm(kind token.Kind) func(*Handler, echo.Context) error {
	return func(d *Handler, c echo.Context) error {
		return d.writeTokenForm(c, http.StatusOK, kind, show.FormState{})
	}
}

func tokenCreation(kind token.Kind) func(*Handler, echo.Context, url.Values) error {
	return func(d *Handler, c echo.Context, typed url.Values) error { return d.createToken(c, kind, typed) }
}
