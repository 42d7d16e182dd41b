package story

import (
	"mayfly/views/layout"
	"mayfly/views/page/admin"
)

func reference() admin.APIReference {
	text, whole := admin.APIKind{Word: "text"}, admin.APIKind{Word: "whole", Bounds: "1 to 250"}
	message := []admin.APIMember{
		{Name: "messageId", About: "at most 128 characters", Kind: text},
		{Name: "sequenceNumber", Required: true, Kind: admin.APIKind{Word: "whole"}},
		{Name: "properties", About: hostileID, Kind: admin.APIKind{Word: "any", By: true}},
		{Name: "expiresAt", Kind: admin.APIKind{Word: "time"}},
	}
	peek := admin.APIOperation{
		ID: "peekMessages", Method: "GET", Path: "/peek/{path}", Summary: "Browse messages without locking them", About: "A body of more than 1 MiB is left out.",
		Words: "peekmessages get /peek/{path}", TryURL: "/peek/{path}", Curl: "curl 'http://localhost:8080/api/v1/peek/orders?limit=5'",
		Parameters: []admin.APIParameter{
			{Name: "path", InPath: true, Required: true, About: "The path of an entity.", Kind: text, Example: "orders"},
			{Name: "count", About: "The maximum number of results; 20 if absent.", Kind: whole, Example: "1"},
			{Name: "state", About: "Only messages in this state.", Kind: text, Choices: []string{"all", "active"}, Example: "all"},
		},
		Answer:   admin.APIResponse{Status: "200 OK", Media: "application/json", Shapes: []admin.APIShape{{Kind: admin.APIKind{Ref: "Messages"}, About: "What GET /peek answers.", Members: []admin.APIMember{{Name: "messages", Required: true, Kind: admin.APIKind{Ref: "Message", List: true}}}}}},
		Problems: []admin.APIProblem{{Status: "400 Bad Request", Codes: []string{"Argument", "ArgumentOutOfRange"}}, {Status: "404 Not Found", Codes: []string{"MessagingEntityNotFound"}}},
	}
	send := admin.APIOperation{
		ID: "sendMessages", Method: "POST", Path: "/send/{path}", Summary: "Send a message, or a list of them", Words: "sendmessages post /send/{path}",
		Curl:   "curl http://localhost:8080/api/v1/send/orders \\\n     -d '{\"body\":\"hello\"}'",
		Body:   &admin.APIBody{Media: "application/json", Most: 8 << 20, Shapes: []admin.APIShape{{Kind: admin.APIKind{Ref: "Message"}, Members: message}, {Kind: admin.APIKind{Ref: "Message", List: true}, Members: message}}, Example: `{"body":"hello"}`},
		Answer: admin.APIResponse{Status: "201 Created", Media: "application/json", Shapes: []admin.APIShape{{Kind: admin.APIKind{Word: "object"}}}},
	}
	imported := admin.APIOperation{
		ID: "importMessages", Method: "POST", Path: "/import/{path}", Summary: "Send the messages of an export", Words: "importmessages",
		Curl: "curl …", Body: &admin.APIBody{Media: "application/x-ndjson", Most: 8 << 20, Lines: true}, Answer: admin.APIResponse{Status: "204 No Content"},
	}
	m := admin.APIReference{
		Shell: shell("API reference", layout.Overview, "/api"), About: "The JSON API of the dashboard's port.", Base: "http://localhost:8080/api/v1", Document: "/api/v1/openapi.json", All: 3,
		Groups: []admin.APIGroup{{Name: "Messages", About: "In and out.", Operations: []admin.APIOperation{peek, send}}, {Name: "In bulk", Operations: []admin.APIOperation{imported}}},
		Types:  []admin.APIType{{Name: "Message", Shape: admin.APIShape{About: "One that is stored.", Members: message}}},
	}
	m.Shell.Live = layout.Live{}
	return m
}

// referenceFiltered is the reference with a filter that leaves one operation, which is
// open.
func referenceFiltered() admin.APIReference {
	m := reference()
	m.Filter = "peek"
	m.Groups[0].Operations[1].Hidden, m.Groups[1].Operations[0].Hidden = true, true
	return m
}
