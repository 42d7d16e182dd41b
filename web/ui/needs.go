package ui

import (
	"net/http"
	"strings"

	"mayfly/web/identity"
)

// Needs is the role that an address of the dashboard takes, by its method and
// pattern. False: nobody has said, or there is none.
//
// What is only looked at takes a viewer, and what asks before something is done takes
// what doing it takes.
func Needs(method, pattern string) (identity.Role, bool) {
	at, ofSpace := strings.CutPrefix(pattern, "/n/:ns")
	if !ofSpace {
		role, ok := outside()[method+" "+pattern]
		return role, ok
	}
	for _, of := range []struct {
		at   string
		post map[string]identity.Role
	}{
		{"/q/:queue", onEntity()}, {"/t/:topic/s/:sub", onEntity()}, {"/t/:topic", onEntity()}, {"/m/:key", onMessage()},
	} {
		if rest, ok := strings.CutPrefix(at, of.at); ok && at != "/t/:topic/new" {
			return needsAt(method, rest, of.post)
		}
	}
	return needsAt(method, at, onSpace())
}

// needsAt is the role for an address below what can be done there.
func needsAt(method, at string, post map[string]identity.Role) (identity.Role, bool) {
	role, ok := post[at]
	if method != http.MethodGet {
		return role, ok && method == http.MethodPost
	}
	if !ok || at == "/queues" || at == "/topics" { // pages that have a form too
		return identity.Viewer, true
	}
	return role, true
}

// outside are the addresses that are of no namespace.
func outside() map[string]identity.Role {
	return map[string]identity.Role{
		"GET /": identity.Viewer, "GET /n": identity.Viewer, "GET /docs/api": identity.Viewer,
		"GET /follow/:id": identity.Viewer,
		"GET /namespaces": identity.Viewer, "POST /namespaces": identity.Admin,
		"GET /namespaces/:name/remove": identity.Admin, "POST /namespaces/:name/remove": identity.Admin,
		"GET /namespaces/:name/limits": identity.Admin, "POST /namespaces/:name/limits": identity.Admin,
		"GET /scenes": identity.Viewer, "GET /scenes/text/:scene": identity.Viewer, "GET /scenes/new": identity.Admin, "POST /scenes/new": identity.Admin,
		"GET /scenes/remove/:scene": identity.Admin, "POST /scenes/remove/:scene": identity.Admin,
		"GET /scenes/on/:play/:verb": identity.Viewer, "POST /scenes/play/:scene": identity.Admin, "POST /scenes/on/:play/leave": identity.Admin,
		"GET /tokens": identity.Viewer, "GET /tokens/new": identity.Viewer, "POST /tokens/new": identity.Viewer,
		"GET /tokens/link": identity.Operator, "POST /tokens/link": identity.Operator,
		"GET /tokens/:id/revoke": identity.Viewer, "POST /tokens/:id/revoke": identity.Viewer,
		"GET /settings": identity.Viewer, "POST /settings": identity.Viewer,
		"POST /scenes/on/:play/next": identity.Operator, "POST /scenes/on/:play/back": identity.Operator, "POST /scenes/on/:play/reset": identity.Operator,
		"POST /scenes/on/:play/clock": identity.Operator, "POST /scenes/on/:play/leap": identity.Operator,
	}
}

// onSpace is what forms do in a namespace.
func onSpace() map[string]identity.Role {
	out := map[string]identity.Role{
		"/language": identity.Viewer, "/safe": identity.Viewer, "/lab": identity.Viewer,
		"/queues": identity.Admin, "/topics": identity.Admin, "/queues/new": identity.Admin, "/topics/new": identity.Admin, "/t/:topic/new": identity.Admin, "/lab/new": identity.Admin,
		"/starter": identity.Admin, "/tombstones/:id/restore": identity.Admin, "/definitions/import": identity.Admin,
		"/access/new": identity.Admin, "/access/keys": identity.Admin, "/access/renew": identity.Admin, "/access/remove": identity.Admin,
		"/alerts/new": identity.Admin, "/alerts/try": identity.Admin, "/alerts/:id/edit": identity.Admin, "/alerts/:id/try": identity.Admin, "/alerts/:id/remove": identity.Admin,
		"/alerts/:id/on": identity.Admin, "/alerts/:id/off": identity.Admin, "/alerts/:id/test": identity.Admin,
		"/share": identity.Operator, "/share/stop": identity.Operator,
		"/undo/:word": identity.Operator, "/connections/:id/disconnect": identity.Operator,
		"/views/edit": identity.Operator, "/views/delete": identity.Operator,
		"/jobs/new": identity.Operator, "/jobs/:id/cancel": identity.Operator, "/jobs/:id/resume": identity.Operator, "/jobs/:id/undo": identity.Operator,
		"/import": identity.Operator, "/import/start": identity.Operator,
		"/templates/rename": identity.Operator, "/templates/remove": identity.Operator,
	}
	addBulks(out)
	return out
}

// onEntity is what forms do to a queue, a topic or a subscription.
func onEntity() map[string]identity.Role {
	out := map[string]identity.Role{
		"/edit": identity.Admin, "/delete": identity.Admin, "/pin": identity.Admin, "/unpin": identity.Admin, "/status": identity.Admin,
		"/rules/add": identity.Admin, "/rules/remove": identity.Admin, "/rules/new": identity.Admin, "/rules/edit": identity.Admin, "/rules/try": identity.Viewer,
		"/send": identity.Operator, "/import": identity.Operator, "/import/start": identity.Operator, "/receive": identity.Operator, "/purge": identity.Operator,
		"/touch": identity.Operator, "/resubmit": identity.Operator, "/session/receive": identity.Operator, "/session/release": identity.Operator,
		"/session/break": identity.Operator, "/session/state": identity.Operator, "/session/clear": identity.Operator,
	}
	addBulks(out)
	return out
}

// onMessage is what forms do to a message.
func onMessage() map[string]identity.Role {
	out := map[string]identity.Role{}
	for _, do := range []string{
		"complete", "abandon", "defer", "dead-letter", "delete", "cancel", "resubmit", "resubmit-copy", "edit",
		"send-now", "reschedule", "extend", "return", "fetch", "break-lock", "renew",
	} {
		out["/"+do] = identity.Operator
	}
	return out
}

// addBulks adds what is done to many messages; an export only reads them.
func addBulks(to map[string]identity.Role) {
	for do := range bulks() {
		to["/"+do] = identity.Operator
	}
	to["/bulk/export"] = identity.Viewer
}

// May tells whether a role may have what is at an address as pages have it, with the
// base path. Addresses that are none of the dashboard's are for everybody.
func May(role identity.Role, base, method, href string) bool {
	if role.May(identity.Admin) {
		return true
	}
	at, _, _ := strings.Cut(href, "#")
	at, _, _ = strings.Cut(at, "?")
	at, ok := strings.CutPrefix(at, base)
	if !ok || !strings.HasPrefix(at, "/") {
		return true
	}
	needs, ok := needsOf(method, at)
	return !ok || role.May(needs)
}

// needsOf is Needs by an address instead of its pattern.
func needsOf(method, at string) (identity.Role, bool) {
	parts := strings.Split(strings.TrimPrefix(at, "/"), "/")
	if parts[0] != "n" || len(parts) < 2 {
		for row, role := range outside() {
			of, pattern, _ := strings.Cut(row, " ")
			if of == method && fits(strings.Split(strings.TrimPrefix(pattern, "/"), "/"), parts) {
				return role, true
			}
		}
		return identity.None, false
	}
	rest := parts[2:]
	post, skip := onSpace(), 0
	switch {
	case len(rest) > 3 && rest[0] == "t" && rest[2] == "s":
		post, skip = onEntity(), 4
	case len(rest) == 3 && rest[0] == "t" && rest[2] == "new":
	case len(rest) > 1 && (rest[0] == "q" || rest[0] == "t"):
		post, skip = onEntity(), 2
	case len(rest) > 1 && rest[0] == "m":
		post, skip = onMessage(), 2
	}
	rest = rest[skip:]
	for pattern := range post {
		if fits(strings.Split(strings.TrimPrefix(pattern, "/"), "/"), rest) {
			return needsAt(method, pattern, post)
		}
	}
	return identity.Viewer, method == http.MethodGet
}

// fits tells whether the parts of an address are those of a pattern.
func fits(pattern, parts []string) bool {
	if len(pattern) != len(parts) {
		return false
	}
	for i, p := range pattern {
		if !strings.HasPrefix(p, ":") && p != parts[i] {
			return false
		}
	}
	return true
}
