package main_test

import (
	"os"
	"testing"
)

// The plan of the module as data: which folder may know which other, where a
// third-party module may appear, who may read a clock, what a package may not
// be called. The checker in layout_check_test.go applies it to every .go file,
// whatever its build tags: no rule is escaped on another platform.
//
// Folders are written as `go` writes them: "engine" is that folder alone,
// "engine/..." is it and everything beneath.

type rule struct {
	folder string
	may    []string // of our folders
	why    string
}

// imports says what of ours a folder may import. The first rule that covers a
// folder is its rule; a folder without one is refused, so a new package starts
// with the decision of where it stands. Packages covered by one rule ending in
// "/..." may import each other.
var imports = []rule{
	{"cmd/mayfly", []string{"..."}, "the command wires everything, so that nothing else has to"},

	{"cmd/brokerbench", []string{"web/amqp/wire/..."}, "a module of its own, which speaks to brokers from outside"},
	{"cmd/livebench", []string{"web/amqp/wire/...", "engine/value"}, "speaks to the server from outside, as clients and browsers do"},
	{"engine/value/...", nil, "values are a leaf: rules, stores and doors all speak them"},
	{"engine/filter/...", []string{"engine/value/..."}, "a filter judges properties, not messages, so it can be fuzzed alone"},
	{"engine", []string{"engine/value/...", "engine/filter/..."}, "rules are functions of state and instant"},
	{"engine/...", []string{"engine/..."}, "what runs the rules knows the rules, never a store or a door"},

	{"storage", []string{"engine/...", "storage/..."}, "opening by URL is the one place that knows every driver"},
	{"storage/memory/...", []string{"engine/..."}, "a driver remembers what the engine decided and knows no other driver"},
	{"storage/sqlite/...", []string{"engine/..."}, "a driver remembers what the engine decided and knows no other driver"},
	{"storage/mongo/...", []string{"engine/..."}, "a driver remembers what the engine decided and knows no other driver"},
	{"storage/archive/...", []string{"engine/..."}, "a backup is of records, whatever kind of store they were in"},
	{"storage/inspect/...", []string{"engine/...", "storage/archive/..."}, "what is sound is a question to the rules, not to a driver"},
	{"storage/storetest/...", []string{"engine/..."}, "a conformance suite that knew a driver would bend to it"},

	{"static/...", nil, "files and their URLs, nothing of the product"},
	{"views/...", []string{"views/...", "static/..."}, "a template shows what it is given: view models, never engine types"},

	{"web/access/...", []string{"engine/..."}, "who may do what, the same at every door"},
	{"web/identity", nil, "who somebody is and what that one may do, the same at every door"},
	{"web/relay", []string{"engine", "web/identity"}, "carries requests and connections between servers; what they want is nothing to it"},
	{"web/users", []string{"web/identity"}, "names and hashes in a file; of requests it knows nothing"},
	{"web/login", append([]string{"web/users"}, pageDoorMay...), doorWhy},
	{"web/keys", []string{"engine/...", "web/identity", "web/talk"}, "tokens and links are kept as settings, and a link may lead to a talk; what they are shown as is nothing to it"},
	{"web/oidc", []string{"web/identity", "web/oidc/oidctest"}, "who a provider says somebody is; where that leads is nothing to it"},
	{"web/oidc/oidctest", nil, "tests share a process with it, and nothing of the product"},
	{"web/authority", nil, "certificates are files and names; who shows them is nothing to it"},
	{"web/sas/...", []string{"engine/..."}, "what a signature allows, the same at every door"},
	{"web/hook", []string{"engine/..."}, "tells addresses what rules found; which door made the rules is nothing to it"},
	{"web/figures", []string{"engine/..."}, "counts events and samples; who shows them is nothing to it"},
	{"web/metrics", doorMay, doorWhy},
	{"web/openapi", nil, "describes Go structs; of any API it knows nothing"},
	{"web/talk", nil, "who shows pages to whom is places and names; what is on a page is nothing to it"},
	{"web/once", nil, "remembers what was done under a word, whatever it was"},
	{"web/intake", []string{"engine/...", "web/access/...", "web/amqp/carry"}, "messages out of files, the same at every door"},
	{"web/past/...", []string{"engine/..."}, "what may be asked of the history, the same at every door"},
	{"web/peers/...", []string{"engine/..."}, "what is told of clients that stay connected, the same at every door"},
	{"web/show/...", []string{"engine/...", "views/...", "web/figures", "web/hook", "web/identity", "web/intake", "web/keys", "web/openapi", "web/past/...", "web/peers/...", "web/talk", "web/amqp/carry"}, "turns engine state into view models for page and push alike; what was sent is told as AMQP has it"},
	{"web/amqp/carry/...", []string{"engine/...", "web/amqp/wire/..."}, "between bytes and messages; of connections it knows nothing"},
	{"web/amqp/scenario/...", []string{"engine/...", "web/amqp/..."}, "the engine's stories once more, told by a client to the server"},
	{"web/amqp/amqptest/...", []string{"engine/...", "web/amqp/wire/..."}, "a client for tests knows bytes, and nothing of the server"},
	{"web/amqp", []string{"engine/...", "web/access/...", "web/sas/...", "web/past/...", "web/peers/...", "web/show/...", "web/relay", "web/amqp/..."}, doorWhy},
	{"web/amqp/socket", nil, "a connection inside a WebSocket is a connection: what is said on it is nothing to it"},
	{"web/rest/...", doorMay, doorWhy},
	{"web/api/...", append([]string{"web/amqp/carry/..."}, doorMay...), "a door like the others; what it imports may have AMQP in it, which is checked first"},
	{"web/amqp/wire/...", []string{"engine/value/..."}, "AMQP as bytes: values it shares with the rules, connections and links it knows nothing of"},
	{"web/ui/...", pageDoorMay, doorWhy},
	{"web/live/...", pageDoorMay, doorWhy},
	{"web", []string{"web/...", "engine/...", "views/...", "static/..."}, "the route table mounts every door; which store is behind them is not its business"},
}

const doorWhy = "a door parses, submits and presents: two doors share only what stands beside them, and none sees a store"

var (
	doorMay     = []string{"engine/...", "web/figures", "web/hook", "web/access/...", "web/identity", "web/intake", "web/keys", "web/once", "web/openapi", "web/sas/...", "web/past/...", "web/peers/...", "web/show/...", "web/talk"}
	pageDoorMay = append([]string{"views/...", "static/..."}, doorMay...)
)

// testsMay is what *_test.go files may import beyond their folder's rule.
var testsMay = []string{
	"storage/memory/...",          // doors and broker are tested on a real store, the one without a disk
	"storage/storetest/...",       // drivers run the suite; others borrow its faulty and slow stores
	"web/oidc/oidctest",           // likewise, a provider that people sign in with
	"storage/mongo/mongotest/...", // a server for whoever opens a store on one
	"storage/inspect/...",         // whether what a test made is sound
	"engine/enginetest/...",       // scenarios and generators
}

// confined says where a third-party module, or a package of the standard
// library, may be imported. The command's own tests may import anything but what
// is allowed nowhere.
var confined = []struct {
	module string   // covers its subpackages
	in     []string // folders; none means nowhere
	tests  bool     // tests and test-support packages may import it as well
	why    string
}{
	{"go.mongodb.org/mongo-driver", []string{"storage/mongo/..."}, false, "a store's driver stays behind the store"},
	{"github.com/FerretDB/FerretDB", []string{"storage/mongo/testserver/..."}, false, "the test server is a module and a process of its own"},
	{"github.com/ncruces/go-sqlite3", []string{"storage/sqlite/..."}, false, "a store's driver stays behind the store"},
	{"github.com/labstack/echo", []string{"web/..."}, false, "the web framework ends where HTTP ends"},
	{"github.com/a-h/templ", []string{"views/...", "web/..."}, false, "HTML is made in views and written by web"},
	{"github.com/gorilla/websocket", []string{"web/live/...", "web/amqp/socket", "cmd/livebench"}, false, "one package speaks to browsers' sockets, one makes connections of SDKs' sockets"},
	{"github.com/alecthomas/kong", []string{"cmd/mayfly"}, false, "only the command reads flags and environment"},
	{"github.com/skip2/go-qrcode", []string{"web/show"}, false, "a link is drawn where pages are made"},
	{"github.com/goccy/go-yaml", []string{"engine/scene"}, false, "scenes are written in it, and nothing else"},
	{"github.com/chromedp", []string{"cmd/livebench"}, true, "a browser is driven by tests and measured with, never by the product"},
	{"github.com/google/go-cmp", nil, true, "it panics on surprises, which only a test may"},
	{"github.com/PuerkitoBio/goquery", nil, true, "the product writes HTML and does not read it"},
	{"pgregory.net/rapid", nil, true, "random steps are for tests"},
	{"github.com/anishathalye/porcupine", nil, true, "histories are judged by tests"},
	{"github.com/Azure/azure-sdk-for-go", nil, true, "a client, which the server is tested with"},
	{"github.com/Azure/go-amqp", []string{"cmd/brokerbench"}, true, "a client, which the server is tested with"},
	{"github.com/stretchr/testify", nil, false, "tests use testing and go-cmp"},
	{"testing", nil, true, "it brings its flags into the program"},

	{"os", impure, true, "rules do no I/O"},
	{"net", impure, true, "rules do no I/O"},
	{"log/slog", impure, true, "whoever ends the chain of an error logs it, and rules only return theirs"},
	{"math/rand", impure, true, "randomness is an argument, so that a step can be repeated"},
	{"crypto/rand", impure, true, "randomness is an argument, so that a step can be repeated"},
	{"log", nil, false, "log/slog is the one logger"},
}

// impure is every folder with an outside world: all but the rules.
var impure = []string{
	"cmd/...", "engine/broker/...", "engine/fleet/...", "engine/job/...", "engine/rescue/...", "engine/scene/...",
	"storage/...", "static/...", "views/...", "web/...",
}

// clocks says which functions of package time a folder may not use. Tests are
// free to read a clock; where they may sleep is a rule of its own, see sleeps.
var clocks = []struct {
	in, except []string
	funcs      []string
	why        string
}{
	{
		in:     []string{"engine/..."},
		except: []string{"engine/broker/...", "engine/fleet/...", "engine/job/...", "engine/rescue/...", "engine/scene/..."},
		funcs:  []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"},
		why:    "the instant is an argument; the rules neither ask for it nor wait for it",
	},
	{
		in:     []string{"storage/..."},
		except: []string{"storage/mongo"}, // a lease is time; the clocks are in two files of their own
		funcs:  []string{"Now", "Since", "Until"},
		why:    "a store that reads a clock is about to decide something",
	},
	{
		in:    []string{"views/..."},
		funcs: []string{"Now", "Since", "Until"},
		why:   "a page is true at the instant it was made for, which its view model carries",
	},
}

// drawers are names that say what kind of thing lies in a package, not what the
// package does; anything would fit in them, and soon does.
var drawers = []string{
	"util", "utils", "common", "helper", "helpers", "misc", "shared",
	"type", "types", "model", "models", "internal", "pkg", "lib",
}

// top is what may lie at the top of the tree. The last line is what tools leave
// there and git ignores.
var top = []string{
	"cmd", "web", "views", "engine", "storage", "static",
	"go.mod", "go.sum", "Dockerfile", "README.md", ".*",
	"mayfly", "*.test", "*.out",
}

func TestLayout(t *testing.T) {
	found, err := violations(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range found {
		t.Error(v)
	}
}
