package dashboard

import (
	"fmt"
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"mayfly/engine/demo"
	"mayfly/views/component"
	"mayfly/web/auth/token"
	"mayfly/web/dashboard/pages"
	"mayfly/web/dashboard/route"
)

// A routeID identifies a route of package route.
type routeID struct {
	kind   pages.PageKind
	action string
}

// routeHandlers serve a route. Its other properties are in route.Routes.
type routeHandlers struct {
	get   func(*Handler, echo.Context) error // zero means the route's own page
	post  postHandler                        // see form, serverForm, playForm and ownForm
	needs func(*Handler) bool                // whether this server has the route; zero means every server
}

// A postHandler handles the POST of a route.
type postHandler struct {
	serve func(*Handler, *pages.Route, echo.Context) error
	own   bool // see ownForm
}

// Mount adds all routes of the dashboard to g. Requests arrive without the base path.
func (d *Handler) Mount(g *echo.Group) {
	all := handlers()
	for _, r := range route.Routes().Routes() {
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
func (h routeHandlers) check(r *pages.Route) {
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
// calls `h`. It refuses the form if Safe mode forbids the action.
func form(h func(*Handler, echo.Context, pages.Address, url.Values) error) postHandler {
	return postHandler{serve: func(d *Handler, r *pages.Route, c echo.Context) error {
		return d.namespaceForm(r, func(c echo.Context, at pages.Address, typed url.Values) error { return h(d, c, at, typed) })(c)
	}}
}

// serverForm returns the same kind of handler as form, for a form that belongs to no namespace.
func serverForm(h func(*Handler, echo.Context, url.Values) error) postHandler {
	return postHandler{serve: func(d *Handler, r *pages.Route, c echo.Context) error {
		return d.serverForm(r, func(c echo.Context, typed url.Values) error { return h(d, c, typed) })(c)
	}}
}

// playForm returns the same kind of handler as serverForm, for a form that acts on a playback.
// Before it reads the form, it redirects to the scenes if the playback has ended: after a restart,
// the form's token is invalid too, but its error would not explain that the playback has ended.
func playForm(h func(*Handler, echo.Context, *demo.Playback, url.Values) error) postHandler {
	return postHandler{serve: func(d *Handler, r *pages.Route, c echo.Context) error {
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
	return postHandler{own: true, serve: func(d *Handler, _ *pages.Route, c echo.Context) error { return h(d, c) }}
}

// handlers returns the handlers of the routes that need one: those with a POST, and those whose
// GET is not only a page.
func handlers() map[routeID]routeHandlers {
	hasNamespaces := func(d *Handler) bool { return d.namespaces != nil }
	hasScenes := func(d *Handler) bool { return d.scenes != nil }
	hasTokens := func(d *Handler) bool { return d.tokens != nil }
	hasPresentations := func(d *Handler) bool { return d.presentations != nil }
	all := map[routeID]routeHandlers{
		{pages.Root, ""}:     {get: (*Handler).redirectHome},
		{pages.Root, "n"}:    {get: (*Handler).redirectHome},
		{pages.Docs, ""}:     {get: (*Handler).docs},
		{pages.Docs, "api"}:  {get: (*Handler).redirectToReference},
		{pages.DocsPage, ""}: {get: (*Handler).doc},
		{pages.Settings, ""}: {get: (*Handler).settingsPage, post: serverForm((*Handler).saveSettings)},

		{pages.Namespaces, ""}:      {needs: hasNamespaces, get: (*Handler).listNamespaces, post: serverForm((*Handler).createNamespace)},
		{pages.Namespace, "remove"}: {needs: hasNamespaces, get: (*Handler).confirmRemoveNamespace, post: serverForm((*Handler).removeNamespace)},
		{pages.Namespace, "limits"}: {needs: hasNamespaces, get: (*Handler).namespaceLimits, post: serverForm((*Handler).limitNamespace)},

		// The forms of the clock belong to a playback, because other namespaces have no manual
		// clock.
		{pages.Scenes, ""}:        {needs: hasScenes, get: (*Handler).listScenes},
		{pages.Scenes, "new"}:     {needs: hasScenes, get: (*Handler).newSceneForm, post: ownForm((*Handler).addScene)},
		{pages.SceneText, ""}:     {needs: hasScenes, get: (*Handler).downloadScene},
		{pages.SceneRemoval, ""}:  {needs: hasScenes, get: (*Handler).confirmRemoveScene, post: serverForm((*Handler).removeScene)},
		{pages.ScenePlay, ""}:     {needs: hasScenes, post: serverForm((*Handler).startScene)},
		{pages.Playback, "next"}:  {needs: hasScenes, post: playForm((*Handler).nextStep)},
		{pages.Playback, "back"}:  {needs: hasScenes, post: playForm((*Handler).stepBack)},
		{pages.Playback, "reset"}: {needs: hasScenes, post: playForm((*Handler).resetScene)},
		{pages.Playback, "leave"}: {needs: hasScenes, post: playForm((*Handler).leaveScene)},
		{pages.Playback, "clock"}: {needs: hasScenes, post: playForm((*Handler).turnClock)},
		{pages.Playback, "leap"}:  {needs: hasScenes, post: playForm((*Handler).advanceClock)},
		{pages.PlaybackForm, ""}:  {needs: hasScenes, get: (*Handler).redirectToPlay},

		{pages.Tokens, ""}:       {needs: hasTokens, get: (*Handler).tokensPage},
		{pages.Tokens, "new"}:    {needs: hasTokens, get: tokenForm(token.Token), post: serverForm(tokenCreation(token.Token))},
		{pages.Tokens, "link"}:   {needs: hasTokens, get: tokenForm(token.Link), post: serverForm(tokenCreation(token.Link))},
		{pages.Token, "revoke"}:  {needs: hasTokens, get: (*Handler).confirmRevokeToken, post: serverForm((*Handler).revokeToken)},
		{pages.Follow, ""}:       {needs: hasPresentations, get: (*Handler).followPresentation},
		{pages.Share, ""}:        {needs: hasPresentations, get: (*Handler).sharePage, post: form((*Handler).startSharing)},
		{pages.Share, "stop"}:    {needs: hasPresentations, post: form((*Handler).stopSharing)},
		{pages.Undo, ""}:         {post: form((*Handler).undoOperation)},
		{pages.FilterLab, ""}:    {post: form((*Handler).tryInLab)},
		{pages.FilterLab, "new"}: {get: (*Handler).suggestSubscription},

		{pages.Overview, "language"}:     {post: serverForm((*Handler).setLanguage)},
		{pages.SafeModeSwitch, ""}:       {post: form((*Handler).setSafeMode)},
		{pages.Activity, "export"}:       {get: (*Handler).exportEvents},
		{pages.Connection, "disconnect"}: {post: form((*Handler).disconnect)},
		{pages.Views, "edit"}:            {post: form((*Handler).saveView)},
		{pages.Views, "delete"}:          {post: form((*Handler).deleteView)},
		{pages.Templates, "rename"}:      {post: form((*Handler).renameTemplate)},
		{pages.Templates, "remove"}:      {post: form((*Handler).removeTemplate)},
		{pages.Jobs, "new"}:              {post: form((*Handler).startJob)},
		{pages.Job, "cancel"}:            {post: form((*Handler).changeJob)},
		{pages.Job, "resume"}:            {post: form((*Handler).changeJob)},
		{pages.Job, "undo"}:              {post: form((*Handler).changeJob)},
		{pages.Import, ""}:               {post: ownForm((*Handler).uploadFile)},
		{pages.Import, "start"}:          {post: form((*Handler).startImport)},

		{pages.Queues, ""}:                    {post: form((*Handler).createEntity)},
		{pages.Topics, ""}:                    {post: form((*Handler).createEntity)},
		{pages.CreateStarter, ""}:             {post: form((*Handler).createStarter)},
		{pages.DeletedEntity, "restore"}:      {post: form((*Handler).restoreEntity)},
		{pages.Definitions, ""}:               {get: (*Handler).definitions},
		{pages.Definitions, "import"}:         {post: ownForm((*Handler).applyDefinitions)},
		{pages.Access, "new"}:                 {post: form((*Handler).addAccess)},
		{pages.Access, "keys"}:                {get: (*Handler).redirectFromKeys, post: form((*Handler).showKeys)},
		{pages.Access, "renew"}:               {post: form((*Handler).renewKey)},
		{pages.Access, "remove"}:              {post: form((*Handler).removeAccess)},
		{pages.Alerts, "new"}:                 {post: form((*Handler).addAlert)},
		{pages.Alerts, "try"}:                 {post: form((*Handler).tryAlert)},
		{pages.Alerts, "toasts"}:              {get: (*Handler).alertToasts},
		{pages.Alert, "edit"}:                 {post: form((*Handler).editAlert)},
		{pages.Alert, "try"}:                  {post: form((*Handler).tryAlert)},
		{pages.Alert, "remove"}:               {post: form((*Handler).changeAlert)},
		{pages.Alert, "on"}:                   {post: form((*Handler).changeAlert)},
		{pages.Alert, "off"}:                  {post: form((*Handler).changeAlert)},
		{pages.Alert, "test"}:                 {post: form((*Handler).changeAlert)},
		{pages.DamagedMessages, "move-aside"}: {post: form((*Handler).moveDamagedAside)},

		{pages.Entity, ""}:             {get: (*Handler).entityPage},
		{pages.Entity, "new"}:          {post: form((*Handler).createEntity)},
		{pages.Entity, "edit"}:         {post: form((*Handler).editEntity)},
		{pages.Entity, "delete"}:       {post: form((*Handler).deleteEntity)},
		{pages.Entity, "status"}:       {post: form((*Handler).setStatus)},
		{pages.Entity, "pin"}:          {post: form((*Handler).pinEntity)},
		{pages.Entity, "unpin"}:        {post: form((*Handler).unpinEntity)},
		{pages.Entity, "touch"}:        {post: form((*Handler).touchEntity)},
		{pages.Entity, "send"}:         {post: form((*Handler).send)},
		{pages.Entity, "import"}:       {post: ownForm((*Handler).uploadFile)},
		{pages.Entity, "import/start"}: {post: form((*Handler).startImport)},
		{pages.Entity, "receive"}:      {post: form((*Handler).receiveMessage)},
		{pages.Entity, "purge"}:        {post: form((*Handler).purgeMessages)},
		{pages.Entity, "resubmit"}:     {post: form((*Handler).resubmitAll)},
		{pages.Entity, "rules/add"}:    {post: form((*Handler).addRule)},
		{pages.Entity, "rules/remove"}: {post: form((*Handler).removeRule)},
		{pages.Entity, "rules/new"}:    {post: form((*Handler).newRule)},
		{pages.Entity, "rules/edit"}:   {post: form((*Handler).editRule)},
		{pages.Entity, "rules/try"}:    {post: form((*Handler).tryRule)},
		{pages.Session, "receive"}:     {post: form((*Handler).receiveFromSession)},
		{pages.Session, "release"}:     {post: form((*Handler).releaseSession)},
		{pages.Session, "break"}:       {post: form((*Handler).breakSession)},
		{pages.Session, "state"}:       {post: form((*Handler).setSessionState)},
		{pages.Session, "clear"}:       {post: form((*Handler).setSessionState)},

		{pages.Message, "body"}:          {get: (*Handler).downloadBody},
		{pages.Message, "complete"}:      {post: form((*Handler).settle)},
		{pages.Message, "abandon"}:       {post: form((*Handler).settle)},
		{pages.Message, "defer"}:         {post: form((*Handler).settle)},
		{pages.Message, "dead-letter"}:   {post: form((*Handler).deadLetter)},
		{pages.Message, "delete"}:        {post: form((*Handler).deleteMessage)},
		{pages.Message, "cancel"}:        {post: form((*Handler).deleteMessage)},
		{pages.Message, "edit"}:          {post: form((*Handler).editMessage)},
		{pages.Message, "resubmit"}:      {post: form((*Handler).resubmit)},
		{pages.Message, "resubmit-copy"}: {post: form((*Handler).resubmit)},
		{pages.Message, "send-now"}:      {post: form((*Handler).sendNow)},
		{pages.Message, "reschedule"}:    {post: form((*Handler).reschedule)},
		{pages.Message, "extend"}:        {post: form((*Handler).extend)},
		{pages.Message, "return"}:        {post: form((*Handler).returnToActive)},
		{pages.Message, "fetch"}:         {post: form((*Handler).receiveDeferred)},
		{pages.Message, "break-lock"}:    {post: form((*Handler).breakLock)},
		{pages.Message, "renew"}:         {post: form((*Handler).renew)},
	}
	for _, of := range []pages.PageKind{pages.SelectedMessages, pages.Entity} {
		for action := range bulkActions {
			all[routeID{of, action}] = routeHandlers{post: form((*Handler).bulk)}
		}
	}
	return all
}

// Handlers that only add arguments to a method of Handler.

func (d *Handler) redirectToReference(c echo.Context) error {
	return c.Redirect(http.StatusFound, d.pages.Home()+"/api")
}

func (d *Handler) listNamespaces(c echo.Context) error {
	return d.namespacesPage(c, http.StatusOK, pages.FormState{})
}

func (d *Handler) confirmRemoveNamespace(c echo.Context) error {
	return d.writeNamespaceRemoval(c, http.StatusOK, pages.FormState{})
}

func (d *Handler) namespaceLimits(c echo.Context) error {
	return d.writeNamespaceLimits(c, http.StatusOK, pages.FormState{})
}

func (d *Handler) listScenes(c echo.Context) error {
	return d.writeScenes(c, http.StatusOK, component.Notice{})
}

func tokenForm(kind token.Kind) func(*Handler, echo.Context) error {
	return func(d *Handler, c echo.Context) error {
		return d.writeTokenForm(c, http.StatusOK, kind, pages.FormState{})
	}
}

func tokenCreation(kind token.Kind) func(*Handler, echo.Context, url.Values) error {
	return func(d *Handler, c echo.Context, typed url.Values) error { return d.createToken(c, kind, typed) }
}
