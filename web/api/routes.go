package api

import (
	"slices"
	"strings"
	"sync"

	"mayfly/web/auth"
	"mayfly/web/openapi"
)

// The headings of the document.
const (
	groupEntities    = "Entities"
	groupMessages    = "Messages"
	groupTemplates   = "Templates"
	groupJobs        = "Jobs"
	groupAlerts      = "Alerts"
	groupRules       = "Rules"
	groupSessions    = "Sessions"
	groupConnections = "Connections"
	groupAccess      = "Access"
	groupTokens      = "Tokens"
	groupViews       = "Views"
	groupActivity    = "Activity"
	groupNamespaces  = "Namespaces"
	groupScenes      = "Scenes"
	groupServer      = "Server"
)

// groups are the headings in the order of the document.
var groups = []openapi.Tag{
	{Name: groupEntities, Description: "Queues, topics and subscriptions."},
	{Name: groupMessages, Description: "Send, browse, receive and settle messages. A path may end in /$DeadLetterQueue: orders, prices/Subscriptions/eu/$DeadLetterQueue."},
	{Name: groupTemplates, Description: "Stored messages with placeholders, to send once or many times."},
	{Name: groupJobs, Description: "Bulk operations on messages, in the background."},
	{Name: groupAlerts, Description: "Rules that notify, extend or dead-letter messages before they expire, and their alerts."},
	{Name: groupRules, Description: "The filters and actions of subscriptions."},
	{Name: groupSessions, Description: "Sessions of queues and subscriptions that require them."},
	{Name: groupConnections, Description: "Clients connected over AMQP."},
	{Name: groupAccess, Description: "Shared access rules and their keys."},
	{Name: groupTokens, Description: "Tokens for programs and read-only links for viewers, on servers that require authentication."},
	{Name: groupViews, Description: "Named sets of columns for lists of messages, shared by all users."},
	{Name: groupActivity, Description: "The history of operations and events."},
	{Name: groupNamespaces, Description: "The namespaces of this server. Addresses below /api/v1 are about the server's own namespace, those below /api/v1/n/NAME about another."},
	{Name: groupScenes, Description: "Short demonstrations of the broker, each in a temporary namespace with a clock that you control."},
	{Name: groupServer, Description: "Health and this document."},
}

// routes returns all routes, in the order of the document. A server calls it when it is built, not
// per request.
func routes() []route {
	return slices.Concat(
		serverRoutes(), namespaceRoutes(), entityRoutes(), definitionRoutes(), messageRoutes(), settlingRoutes(), purgeRoutes(), horizonRoutes(), damagedRoutes(), searchRoutes(), suggestRoutes(), deadLetterRoutes(), exportRoutes(), importRoutes(), repeatRoutes(), editRoutes(), jobRoutes(), alertRoutes(),
		ruleRoutes(), sessionRoutes(), connectionRoutes(), accessRoutes(), tokenRoutes(), viewRoutes(), activityRoutes(), statRoutes(), sceneRoutes(), playbackRoutes(),
	)
}

func serverRoutes() []route {
	return []route{
		{
			method: "GET", path: "/health", id: "getHealth", group: groupServer, summary: "Get the health of the broker",
			response: Health{}, handle: (*handler).health,
		},
		{
			method: "GET", path: "/openapi.json", id: "getDocument", group: groupServer, summary: "Get this document (OpenAPI 3.1)",
			response: map[string]any{}, handle: (*handler).document,
		},
	}
}

// RequiredRole returns the role that a route below /api requires, by its method and pattern, with or
// without a namespace in the pattern. False means that there is no such route.
func RequiredRole(method, pattern string) (auth.Role, bool) {
	switch pattern {
	case "/api/*", "/api/v1/*", "/api/v1/n/*": // catch-alls, which only answer with an error
		return auth.Viewer, true
	}
	rest, ok := strings.CutPrefix(pattern, "/api/v1")
	if !ok {
		return auth.None, false
	}
	if below, ok := strings.CutPrefix(rest, "/n/"); ok {
		_, rest, _ = strings.Cut(below, "/")
		rest = "/" + rest
	}
	role, ok := roles()[method+" "+rest]
	return role, ok
}

// roles returns the roles of all routes, by method and pattern below /api/v1.
var roles = sync.OnceValue(func() map[string]auth.Role { //nolint:gochecknoglobals // built once, never changed
	all := map[string]auth.Role{}
	for _, r := range routes() {
		all[r.method+" "+r.pattern()] = r.requiredRole()
	}
	return all
})
