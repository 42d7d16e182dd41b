package amqp

import (
	"strings"

	"mayfly/engine"
	"mayfly/engine/value"
	"mayfly/web/amqp/wire"
)

// attachManagement attaches one of the pair of links to an entity's $management.
func (s *session) attachManagement(a *wire.Attach, path engine.Path) {
	node := strings.ToLower(string(path)) + "/$management"
	if a.Role == wire.RoleReceiver {
		s.attachResponder(a, node)
		return
	}
	r := s.attachRequests(a, node, (*requests).manage)
	r.path = path
}

// manage serves one request to $management (§4).
func (r *requests) manage(m *request) {
	r.answer(m, value.Properties{
		{Name: "statusCode", Value: value.OfInt(501)},
		{Name: "statusDescription", Value: value.OfString("Not implemented.")},
		{Name: "errorCondition", Value: value.OfSymbol(string(wire.CondNotImplemented))},
	}, nil)
}
