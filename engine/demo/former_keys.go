package demo

import "github.com/goccy/go-yaml/ast"

// formerKeys maps the keys that scenes had in earlier versions to the present ones. They are
// accepted only in stored scenes; for others, the error names the present key.
var formerKeys = map[string]string{
	"about": "description", "correlation": "correlationId", "deliveries": "deliveryCount", "do": "actions", "fetch": "receiveDeferred",
	"id": "messageId", "look": "page", "mark": "highlight", "numberOf": "sequenceNumberOf", "say": "caption", "session": "sessionId",
	"teaches": "summary", "then": "expect", "times": "repeat", "ttl": "timeToLive", "with": "properties",
}

// A keyRenamer replaces former keys in a parsed scene. It leaves out the values of properties,
// whose keys the scene's author has chosen.
type keyRenamer struct{}

// Visit implements ast.Visitor.
func (r keyRenamer) Visit(n ast.Node) ast.Visitor {
	v, ok := n.(*ast.MappingValueNode)
	if !ok {
		return r
	}
	key, ok := v.Key.(*ast.StringNode)
	if !ok || key.Value == "properties" {
		return nil
	}
	if to := formerKeys[key.Value]; to != "" {
		key.Value, key.Token.Value = to, to
	}
	if key.Value == "properties" {
		return nil
	}
	return r
}
