package pages

import (
	"mayfly/views/layout"
	"mayfly/web/docs"
)

// The objects of addresses that belong to a namespace.
const (
	Overview         PageKind = "/n/{ns}"
	Expirations      PageKind = "/n/{ns}/expirations"
	Queues           PageKind = "/n/{ns}/queues"
	Topics           PageKind = "/n/{ns}/topics"
	Temporary        PageKind = "/n/{ns}/temporary"
	Deferred         PageKind = "/n/{ns}/deferred"
	Entity           PageKind = "/n/{ns}/{entity}"
	Session          PageKind = "/n/{ns}/{entity}/session" // one session of an entity, by the id in the query
	Message          PageKind = "/n/{ns}/m/{message}"      // in any entity
	DeletedEntity    PageKind = "/n/{ns}/tombstones/{deleted}"
	CreateStarter    PageKind = "/n/{ns}/starter"
	Activity         PageKind = "/n/{ns}/activity"
	FilterLab        PageKind = "/n/{ns}/lab"
	Connections      PageKind = "/n/{ns}/connections"
	Connection       PageKind = "/n/{ns}/connections/{connection}"
	Access           PageKind = "/n/{ns}/access"
	Metrics          PageKind = "/n/{ns}/metrics"
	Search           PageKind = "/n/{ns}/search"
	Jobs             PageKind = "/n/{ns}/jobs"
	Job              PageKind = "/n/{ns}/jobs/{job}"
	Alerts           PageKind = "/n/{ns}/alerts"
	Alert            PageKind = "/n/{ns}/alerts/{alert}"
	Views            PageKind = "/n/{ns}/views"
	DeadLetterGroups PageKind = "/n/{ns}/dead-letters"
	Undo             PageKind = "/n/{ns}/undo/{undo}"
	SafeModeSwitch   PageKind = "/n/{ns}/safe"
	SelectedMessages          = Overview // bulk actions on messages of any entities
	APIReference     PageKind = "/n/{ns}/api"
	Templates        PageKind = "/n/{ns}/templates"
	Definitions      PageKind = "/n/{ns}/definitions"
	Import           PageKind = "/n/{ns}/import" // into any entity
	GoTo             PageKind = "/n/{ns}" + layout.GoToPath
	DamagedMessages  PageKind = "/n/{ns}/damaged"
	Share            PageKind = "/n/{ns}/share"
)

// The objects of addresses that belong to the server.
const (
	Root         PageKind = "/"
	Namespaces   PageKind = "/namespaces"
	Namespace    PageKind = "/namespaces/{namespace}"
	Scenes       PageKind = "/scenes"
	SceneText    PageKind = "/scenes/text/{scene}"
	SceneRemoval PageKind = "/scenes/remove/{scene}"
	ScenePlay    PageKind = "/scenes/play/{scene}"
	Playback     PageKind = "/scenes/on/{play}"
	PlaybackForm PageKind = "/scenes/on/{play}/{verb}"
	Tokens       PageKind = layout.TokensPath
	Token        PageKind = layout.TokensPath + "/{token}"
	Settings     PageKind = layout.SettingsPath
	Follow       PageKind = "/follow/{presentation}"
	Docs         PageKind = docs.At
	DocsPage     PageKind = docs.At + "/{doc}"
)

// A PageKind is the object that an address names, as the pattern of its address: "/n/{ns}/jobs/{job}".
// {entity} stands for the three kinds of entities; the other names in braces are variables.
type PageKind string
