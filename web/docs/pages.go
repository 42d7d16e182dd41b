package docs

// A group is a part of the list of pages.
type group struct {
	words string // text id of its heading
	pages []string
}

// groups lists every page, in the order of the list. A page's name is that of its file,
// without .md and in lower case.
var groups = []group{
	{"docs.group.start", []string{
		"first-minute", "connect-go", "connect-python", "connect-javascript", "connect-java", "connect-dotnet", "sdk-cannot-connect", "test-suite", "config-json",
	}},
	{"docs.group.messages", []string{
		"find-messages", "send-messages", "topic-rules", "message-sessions", "jobs", "guards", "export-import", "alerts", "connected-clients",
	}},
	{"docs.group.show", []string{"scenes", "write-a-scene", "presenting"}},
	{"docs.group.run", []string{
		"flags", "containers", "kubernetes", "behind-a-proxy", "tls", "service-name", "namespaces", "metrics", "limits", "memory", "connection-limits",
	}},
	{"docs.group.access", []string{"people", "openid", "tokens", "access-keys", "threat-model"}},
	{"docs.group.data", []string{"where-data-is", "backups", "mongodb", "read-mongodb", "durability", "damage", "upgrade"}},
	{"docs.group.reference", []string{
		"command-line", "rest", "json-api", "manage-entities", "azure-differences", "semantics", "tested-clients", "figures", "changes", "renamed", "contributing",
	}},
}
