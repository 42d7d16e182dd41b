package story

import (
	"mayfly/views/layout"
	"mayfly/views/page"
)

func reference() page.APIReference {
	text, whole := page.APIKind{Word: "text"}, page.APIKind{Word: "whole", Bounds: "1 to 250"}
	message := []page.APIMember{
		{Name: "messageId", About: "at most 128 characters", Kind: text},
		{Name: "sequenceNumber", Required: true, Kind: page.APIKind{Word: "whole"}},
		{Name: "properties", About: hostileID, Kind: page.APIKind{Word: "any", By: true}},
		{Name: "expiresAt", Kind: page.APIKind{Word: "time"}},
	}
	peek := page.APIOperation{
		ID: "peekMessages", Method: "GET", Path: "/peek/{path}", Summary: "Browse messages without locking them", About: "A body of more than 1 MiB is left out.",
		Words: "peekmessages get /peek/{path}", TryURL: "/peek/{path}", Curl: "curl 'http://localhost:8080/api/v1/peek/orders?limit=5'",
		Parameters: []page.APIParameter{
			{Name: "path", InPath: true, Required: true, About: "The path of an entity.", Kind: text, Example: "orders"},
			{Name: "count", About: "The maximum number of results; 20 if absent.", Kind: whole, Example: "1"},
			{Name: "state", About: "Only messages in this state.", Kind: text, Choices: []string{"all", "active"}, Example: "all"},
		},
		Answer:   page.APIResponse{Status: "200 OK", Media: "application/json", Shapes: []page.APIShape{{Kind: page.APIKind{Ref: "Messages"}, About: "What GET /peek answers.", Members: []page.APIMember{{Name: "messages", Required: true, Kind: page.APIKind{Ref: "Message", List: true}}}}}},
		Problems: []page.APIProblem{{Status: "400 Bad Request", Codes: []string{"Argument", "ArgumentOutOfRange"}}, {Status: "404 Not Found", Codes: []string{"MessagingEntityNotFound"}}},
	}
	send := page.APIOperation{
		ID: "sendMessages", Method: "POST", Path: "/send/{path}", Summary: "Send a message, or a list of them", Words: "sendmessages post /send/{path}",
		Curl:   "curl http://localhost:8080/api/v1/send/orders \\\n     -d '{\"body\":\"hello\"}'",
		Body:   &page.APIBody{Media: "application/json", Most: 8 << 20, Shapes: []page.APIShape{{Kind: page.APIKind{Ref: "Message"}, Members: message}, {Kind: page.APIKind{Ref: "Message", List: true}, Members: message}}, Example: `{"body":"hello"}`},
		Answer: page.APIResponse{Status: "201 Created", Media: "application/json", Shapes: []page.APIShape{{Kind: page.APIKind{Word: "object"}}}},
	}
	imported := page.APIOperation{
		ID: "importMessages", Method: "POST", Path: "/import/{path}", Summary: "Send the messages of an export", Words: "importmessages",
		Curl: "curl …", Body: &page.APIBody{Media: "application/x-ndjson", Most: 8 << 20, Lines: true}, Answer: page.APIResponse{Status: "204 No Content"},
	}
	m := page.APIReference{
		Shell: shell("API reference", layout.Overview, "/api"), About: "The JSON API of the dashboard's port.", Base: "http://localhost:8080/api/v1", Document: "/api/v1/openapi.json", All: 3,
		Groups: []page.APIGroup{{Name: "Messages", About: "In and out.", Operations: []page.APIOperation{peek, send}}, {Name: "In bulk", Operations: []page.APIOperation{imported}}},
		Types:  []page.APIType{{Name: "Message", Shape: page.APIShape{About: "One that is stored.", Members: message}}},
	}
	m.Shell.Live = layout.Live{}
	return m
}

// referenceFiltered is the reference with a filter that leaves one operation, which is
// open.
func referenceFiltered() page.APIReference {
	m := reference()
	m.Filter = "peek"
	m.Groups[0].Operations[1].Hidden, m.Groups[1].Operations[0].Hidden = true, true
	return m
}
