package main_test

import (
	"os"
	"slices"
	"testing"
)

// The module's layout as data: which folder may import which other, where a third-party module
// may be used, which folders may read a clock, and names that packages may not have. The checker
// in layout_check_test.go applies it to every .go file, whatever its build tags, so that other
// platforms have no exceptions.
//
// Folders are patterns as in `go list`: "engine" is only that folder, "engine/..." includes
// everything below it.

type rule struct {
	folder string
	may    []string // folders of this module
	why    string
}

// imports lists the folders of this module that a folder may import. The first rule that covers
// a folder applies; a folder without a rule is refused, so a new package needs a decision about
// its place. Packages covered by one rule ending in "/..." may import each other.
var imports = []rule{
	{"cmd/mayfly", []string{"cmd/mayfly/cli", "cmd/mayfly/command"}, "main runs a command; which ones exist is said in one place"},
	{"cmd/mayfly/command", []string{"cmd/mayfly/cli", "cmd/mayfly/client", "cmd/mayfly/server"}, "the list of commands, and no command"},
	{"cmd/mayfly/server", []string{"cmd/mayfly/cli", "cmd/mayfly/manual", "engine/...", "storage/...", "web/...", "views/page", "static"}, "the server wires everything, so that nothing else has to"},
	{"cmd/mayfly/client", []string{"cmd/mayfly/cli", "engine/...", "web/api", "views/locale"}, "a client calls the API as any other program would, and shares its types"},
	{"cmd/mayfly/manual", []string{"engine", "storage", "web", "web/docs"}, "pages are embedded where they are, and collected once"},
	{"cmd/mayfly/e2e", []string{"..."}, "tests of the whole program may look at all of it"},
	{"cmd/mayfly/cli", []string{"engine/...", "web/api", "views/component"}, "what every command needs, and no command"},

	{"cmd/brokerbench", []string{"web/amqp/wire/..."}, "a module of its own, which speaks to brokers from outside"},
	{"cmd/livebench", []string{"web/amqp/wire/...", "engine/value"}, "speaks to the server from outside, as clients and browsers do"},
	{"engine/shorten", nil, "texts, and nothing of the product"},
	{"engine/value/...", []string{"engine/shorten"}, "values are a leaf: rules, stores and doors all speak them"},
	{"engine/filter/...", []string{"engine/value/...", "engine/shorten"}, "a filter judges properties, not messages, so it can be fuzzed alone"},
	{"engine", []string{"engine/value/...", "engine/filter/...", "engine/shorten"}, "rules are functions of state and instant"},
	{"engine/brokertest", []string{"engine/...", "storage/memory"}, "a broker for tests needs a store, the one without a disk"},
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

	{"web/auth/origin/...", []string{"engine/...", "web/auth"}, "who may do what, the same at every door"},
	{"web/auth", []string{"web/proxy"}, "who somebody is and what that one may do, the same at every door"},
	{"web/proxy", nil, "where a request comes from, the same at every door"},
	{"web/connlimit", []string{"web/proxy"}, "which connections may stay; what is said on them is nothing to it"},
	{"web/cluster", []string{"engine", "web/connlimit", "web/auth", "web/proxy", "web/timeout"}, "carries requests and connections between servers; what they want is nothing to it"},
	{"web/timeout", nil, "deadlines of requests and answers; what is asked is nothing to it"},
	{"web/auth/users", []string{"web/auth", "engine/shorten"}, "names and hashes in a file; of requests it knows nothing"},
	{"web/auth/password", []string{"web/auth/users", "views/...", "engine/...", "web/auth/origin/...", "web/auth", "web/proxy"}, doorWhy},
	{"web/auth/token", []string{"engine/...", "web/auth", "web/presentation"}, "tokens and links are kept as settings, and a link may lead to a talk; what they are shown as is nothing to it"},
	{"web/auth/oidc", []string{"web/auth", "web/auth/oidc/oidctest", "web/proxy"}, "who a provider says somebody is; where that leads is nothing to it"},
	{"web/auth/oidc/oidctest", []string{"engine/longtest"}, "tests share a process with it, and nothing of the product"},
	{"web/certificate", []string{"web/connlimit"}, "certificates are files and names; who shows them is nothing to it"},
	{"web/loglimit", nil, "lines of a log are text; what they are about is nothing to it"},
	{"web/auth/sas/...", []string{"engine/..."}, "what a signature allows, the same at every door"},
	{"web/docs", []string{"views/..."}, "Markdown becomes a page; whose pages they are is nothing to it"},
	{"web/webhook", []string{"engine/..."}, "tells addresses what rules found; which door made the rules is nothing to it"},
	{"web/prometheus", []string{"engine/...", "web/connlimit", "engine/stats", "web/connections/..."}, doorWhy},
	{"web/webtest", nil, "sends requests as clients do; what they want is nothing to it"},
	{"web/openapi", nil, "describes Go structs; of any API it knows nothing"},
	{"web/presentation", nil, "who shows pages to whom is places and names; what is on a page is nothing to it"},
	{"web/idempotency", nil, "remembers what was done under a word, whatever it was"},
	{"web/exchange", []string{"engine/...", "web/auth/origin/...", "web/amqp/codec"}, "messages out of files, the same at every door"},
	{"web/errorcodes", []string{"engine/...", "web/amqp/wire", "web/auth", "web/auth/origin", "web/auth/token", "web/connections"}, "what every door answers to a kind of error, as one table below the doors"},
	{"web/connections/...", []string{"engine/..."}, "what is told of clients that stay connected, the same at every door"},
	{"web/dashboard/recent", []string{"engine/...", "views/..."}, "events are kept and counted before any page is made of them"},
	{"web/dashboard/pages", []string{"engine/...", "views/...", "web/auth", "web/connections", "web/dashboard/recent", "web/docs", "web/errorcodes", "web/exchange", "web/openapi", "web/webhook"}, "what pages of all areas are made with; it knows none of them"},
	{"web/amqp/codec/...", []string{"engine/...", "web/amqp/wire/...", "web/errorcodes"}, "between bytes and messages; of connections it knows nothing"},
	{"web/amqp/scenario/...", []string{"engine/...", "web/amqp/..."}, "the engine's stories once more, told by a client to the server"},
	{"web/amqp/amqptest/...", []string{"web/amqp/wire/..."}, "a client for tests knows bytes, and nothing of the server"},
	{"web/amqp", []string{"engine/...", "web/auth/sas/...", "web/connlimit", "web/loglimit", "web/connections/...", "web/proxy", "web/cluster", "web/errorcodes", "web/amqp/..."}, doorWhy},
	{"web/amqp/websocket", nil, "a connection inside a WebSocket is a connection: what is said on it is nothing to it"},
	{"web/rest/...", []string{"web/loglimit", "engine/...", "web/connlimit", "web/auth/origin/...", "web/exchange", "web/auth/sas/...", "web/proxy", "web/errorcodes"}, doorWhy},
	{"web/api/...", []string{"web/amqp/codec/...", "engine/...", "engine/stats", "web/webhook", "web/auth/origin/...", "web/auth", "web/exchange", "web/auth/token", "web/idempotency", "web/openapi", "engine/history/...", "web/connections/...", "web/proxy", "web/dashboard/send", "web/timeout", "web/errorcodes"}, "a door like the others; what it imports may have AMQP in it, which is checked first"},
	{"web/amqp/wire/...", []string{"engine/value/..."}, "AMQP as bytes: values it shares with the rules, connections and links it knows nothing of"},
	{"web/dashboard", []string{"views/...", "engine/...", "web/webhook", "web/auth/origin/...", "web/auth", "web/exchange", "web/auth/token", "web/idempotency", "engine/history/...", "web/connections/...", "web/proxy", "web/dashboard/...", "web/presentation", "web/timeout", "web/errorcodes"}, doorWhy},
	{"web/dashboard/...", []string{"engine/...", "views/...", "web/auth", "web/exchange", "web/auth/token", "web/openapi", "web/connections/...", "web/presentation", "web/amqp/codec", "web/dashboard/pages", "web/dashboard/recent"}, "an area turns engine state into view models for page and push alike, and knows nothing of requests; what was sent is told as AMQP has it"},
	{"web/live/...", []string{"views/...", "engine/...", "web/auth", "web/proxy", "web/presentation"}, doorWhy},
	{"web", []string{"web/...", "engine/...", "views/...", "static/..."}, "the route table mounts every door; which store is behind them is not its business"},
}

const doorWhy = "a door parses, submits and presents: two doors share only what stands beside them, and none sees a store"

// testsMay lists what *_test.go files may import in addition to their folder's rule.
var testsMay = []string{
	"storage/memory/...",          // a store without a disk, for tests of APIs and of the broker
	"storage/storetest/...",       // drivers run the suite; others use its faulty and slow stores
	"web/auth/oidc/oidctest",      // a provider for sign-in tests
	"storage/mongo/mongotest/...", // a server for tests that open a store on one
	"storage/inspect/...",         // checks whether a test's store is sound
	"engine/brokertest",           // a broker that fails the test instead of returning errors
	"web/webtest",                 // an HTTP client for tests
	"engine/enginetest/...",       // scenarios and generators
	"engine/longtest",             // decides if long suites run
}

// confined lists where a third-party module, or a package of the standard library, may be
// imported. The command's own tests may import anything that is allowed somewhere.
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
	{"github.com/gorilla/websocket", []string{"web/live/...", "web/amqp/websocket", "cmd/livebench"}, false, "one package speaks to browsers' sockets, one makes connections of SDKs' sockets"},
	{"github.com/pires/go-proxyproto", []string{"web/proxy"}, true, "one package knows what proxies tell of clients"},
	{"github.com/alecthomas/kong", []string{"cmd/mayfly/cli"}, false, "only the command reads flags and environment"},
	{"github.com/yuin/goldmark", []string{"web/docs"}, false, "documentation is Markdown, and nothing else is"},
	{"github.com/skip2/go-qrcode", []string{"web/dashboard/admin"}, false, "a link is drawn where pages are made"},
	{"github.com/goccy/go-yaml", []string{"engine/demo"}, false, "scenes are written in it, and nothing else"},
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

// impure lists every folder that does input or output: all but the rules of the engine.
var impure = []string{
	"cmd/...", "engine/broker/...", "engine/namespaces/...", "engine/job/...", "engine/alert/...", "engine/demo/...", "engine/history/...",
	"storage/...", "static/...", "views/...", "web/...",
}

// clocks lists the functions of package time that a folder may not use. Tests may read a clock;
// a separate rule says where they may sleep, see sleeps.
var clocks = []struct {
	in, except []string
	funcs      []string
	why        string
}{
	{
		in:     []string{"engine/..."},
		except: []string{"engine/broker/...", "engine/namespaces/...", "engine/job/...", "engine/alert/...", "engine/demo/...", "engine/history/..."},
		funcs:  []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"},
		why:    "the instant is an argument; the rules neither ask for it nor wait for it",
	},
	{
		in:     []string{"storage/..."},
		except: []string{"storage/mongo"}, // leases need the time; two files have the clocks
		funcs:  []string{"Now", "Since", "Until"},
		why:    "a store that reads a clock is about to decide something",
	},
	{
		in:    []string{"views/..."},
		funcs: []string{"Now", "Since", "Until"},
		why:   "a page is true at the instant it was made for, which its view model carries",
	},
}

// drawers are names that describe a kind of thing and not what the package does. Anything would fit
// into such a package.
var drawers = []string{
	"util", "utils", "common", "helper", "helpers", "misc", "shared",
	"type", "types", "model", "models", "internal", "pkg", "lib",
}

// top lists what may be at the top of the tree. The last line lists what tools create there and git
// ignores.
var top = []string{
	"cmd", "web", "views", "engine", "storage", "static",
	"go.mod", "go.sum", "Dockerfile", "README.md", ".*",
	"mayfly", "*.test", "*.out",
}

// filesInFolder is the limit of hand-written Go and templ files in a folder, without tests: as many
// as a reader can take in at a glance.
const filesInFolder = 40

// roomFor has the limits of folders that may have more files than filesInFolder.
var roomFor = map[string]int{
	"engine": 55, // the state machine is one package, because its steps share the state
}

func TestLayout(t *testing.T) {
	t.Parallel()
	found, err := violations(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	unused, err := unusedPermissions(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	full, err := crowded(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range slices.Concat(found, unused, full) {
		t.Error(v)
	}
}
