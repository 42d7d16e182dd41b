package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine"
	"mayfly/engine/value"
	"mayfly/web/api"
)

// typed runs one command line as a shell would, and returns what it printed.
func typed(t *testing.T, in string, args ...string) (out, complaint string, code int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = execute(t.Context(), args, nil, streams{in: strings.NewReader(in), out: &stdout, err: &stderr})
	return stdout.String(), stderr.String(), code
}

func TestMisunderstoodCommandLines(t *testing.T) {
	for name, tc := range map[string]struct {
		args    []string
		environ []string
		code    int
		want    string
	}{
		"an unknown flag":       {[]string{"--bogus"}, nil, exitUsage, "unknown flag --bogus; mayfly serve --help says how"},
		"an unknown command":    {[]string{"frob"}, nil, exitUsage, "unexpected argument frob; mayfly --help says how"},
		"a flag of another":     {[]string{"peek", "q", "--insecure"}, nil, exitUsage, "unknown flag --insecure"},
		"no entity":             {[]string{"peek"}, nil, exitUsage, `expected "<entity>"; mayfly peek --help says how`},
		"nothing to send":       {[]string{"send"}, nil, exitUsage, `mayfly send --help says how`},
		"a folder to configure": {[]string{"--config", ".", "--store", "memory:"}, nil, exitFailed, "is a folder, not a file"},
		"an unknown variable":   {nil, []string{"PATH=x", "MAYFLY_HTPP=x", "MAYFLY_BOGUS="}, exitUsage, "no variable MAYFLY_BOGUS, MAYFLY_HTPP; mayfly serve --help names"},
		"an unknown level":      {[]string{"--log-level", "loud"}, nil, exitUsage, "--log-level"},
		"an unknown profile":    {[]string{"--profile", "gold"}, nil, exitUsage, `--profile must be one of "standard","premium","basic","emulator" but got "gold"; mayfly serve --help says how`},
		"an unknown feature":    {[]string{"--limit", "without=topics,dreams"}, nil, exitUsage, `there is no feature called "dreams"; there are topics, sessions, duplicate-detection`},
		"a bad limit":           {[]string{"--limit", "colour=red"}, nil, exitUsage, `there is no limit called "colour"`},
		"a limit without value": {[]string{"--limit", "entities"}, nil, exitUsage, "--limit is written NAME=VALUE"},
		"a bad value":           {[]string{"--limit", "entities=many"}, nil, exitUsage, "whole number"},
		"a bad address":         {[]string{"serve", "--http", "here"}, nil, exitUsage, "--http is an address"},
		"beyond loopback":       {[]string{"--http", "0.0.0.0:0"}, nil, exitUsage, "--insecure"},
		"a bad server":          {[]string{"peek", "q", "--server", "127.0.0.1:8080"}, nil, exitUsage, "--server is a URL"},
		"a bad duration":        {[]string{"--wait", "soon"}, nil, exitUsage, `--wait is a duration such as 30s, not "soon"`},
		"an endless lease":      {[]string{"--lease", "never"}, nil, exitUsage, "--lease is a duration"},
		"a short lease":         {[]string{"--lease", "200ms"}, nil, exitUsage, "--lease is at least 300ms, not 200ms"},
		"no history at all":     {[]string{"--history-for", "0s"}, nil, exitUsage, "--history-for is a duration"},
		"no pages at all":       {[]string{"--live-pages", "0"}, nil, exitUsage, "--live-pages is a number from 1, not 0"},
		"less than no sockets":  {[]string{"--live-sockets=-1"}, nil, exitUsage, "--live-sockets is a number from 0, not -1"},
		"a port of nobody":      {[]string{"--listen", "amqp:127.0.0.1:0"}, nil, exitUsage, "--listen is written NAMESPACE=KIND:ADDRESS, such as shop=amqp:127.0.0.1:5673"},
		"a port of no kind":     {[]string{"--listen", "shop=http:127.0.0.1:0"}, nil, exitUsage, "amqp, amqps, admin or https"},
		"a port of a bad name":  {[]string{"--listen", "a_b=amqp:127.0.0.1:0"}, nil, exitUsage, "--listen a_b=amqp:127.0.0.1:0: The name of a namespace has letters"},
		"a bad size":            {[]string{"--history-bytes", "much"}, nil, exitUsage, `--history-bytes: "much" is not a size`},
		"a bad advertisement":   {[]string{"--advertise", "here:80"}, nil, exitUsage, `--advertise is a URL such as http://host:8080, not "here:80"`},
		"a relative base path":  {[]string{"--base-path", "mayfly"}, nil, exitUsage, `--base-path is a path such as /mayfly, of letters, digits and -._~, without a slash at the end, not "mayfly"`},
		"a base path's slash":   {[]string{"--base-path", "/mayfly/"}, nil, exitUsage, `not "/mayfly/"`},
		"the root as base path": {[]string{"--base-path", "/"}, nil, exitUsage, `not "/"`},
		"an empty part":         {[]string{"--base-path", "/a//b"}, nil, exitUsage, `not "/a//b"`},
		"a base path that ends": {[]string{"--base-path", "/a/.."}, nil, exitUsage, `not "/a/.."`},
		"an escaped base path":  {[]string{"--base-path", "/a%2Fb"}, nil, exitUsage, `not "/a%2Fb"`},
		"a base path in words":  {[]string{"--base-path", "/a b"}, nil, exitUsage, `not "/a b"`},
		"no server":             {[]string{"peek", "q", "--server", "http://127.0.0.1:1"}, nil, exitUnreachable, "http://127.0.0.1:1 does not answer: "},
		"a bad count":           {[]string{"send", "q", "x", "--count", "0"}, nil, exitUsage, "--count is from 1 to 5000"},
		"a bad time":            {[]string{"send", "q", "x", "--at", "noon"}, nil, exitUsage, "--at is a time"},
		"a bad property":        {[]string{"send", "q", "x", "-p", "n"}, nil, exitUsage, "--property is written NAME=VALUE"},
		"a list property":       {[]string{"send", "q", "x", "-p", "n=[1]"}, nil, exitUsage, "cannot be a list"},
		"a bad wait":            {[]string{"receive", "q", "--wait", "long"}, nil, exitUsage, "--wait is a duration"},
		"a stray reason":        {[]string{"receive", "q", "--reason", "x"}, nil, exitUsage, "--reason and --describe are of --then dead-letter"},
		"a stray description":   {[]string{"receive", "q", "--describe", "x", "--then", "abandon"}, nil, exitUsage, "not of --then abandon"},
		"a bad end":             {[]string{"receive", "q", "--then", "explode"}, nil, exitUsage, "--then"},
		"a bad state":           {[]string{"purge", "q", "--state", "locked"}, nil, exitUsage, "--state"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, complaint bytes.Buffer
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			code := execute(ctx, tc.args, tc.environ, streams{in: strings.NewReader(""), out: &out, err: &complaint})
			if code != tc.code || !strings.Contains(complaint.String(), tc.want) || !strings.HasPrefix(complaint.String(), "mayfly: ") {
				t.Errorf("got %d %q, want %d %q", code, &complaint, tc.code, tc.want)
			}
			if strings.Count(complaint.String(), "\n") != 1 || out.Len() > 0 {
				t.Errorf("that is not one line: %q, printed %q", &complaint, &out)
			}
		})
	}
}

func TestHelp(t *testing.T) {
	out, _, code := typed(t, "", "serve", "--help")
	for _, want := range []string{"--http=", "$MAYFLY_HTTP", "--amqp", "nothing", "--amqps", "--https", "--tls-name", "$MAYFLY_TLS_DIR", "$MAYFLY_ALLOW_RESET", "--limit", "min-auto-delete", "--profile=\"standard\"", "premium, basic, emulator", "$MAYFLY_PROFILE", "auto-delete-on-idle", "$MAYFLY_READY_JSON", "--allow-host", "$MAYFLY_WAIT", "$MAYFLY_LEASE", "$MAYFLY_HISTORY_BYTES"} {
		if code != exitOK || !strings.Contains(out, want) {
			t.Errorf("%d, and nothing is said of %s in\n%s", code, want, out)
		}
	}
	if out, _, code := typed(t, "", "--version"); code != exitOK || !strings.HasPrefix(out, "mayfly ") {
		t.Errorf("got %d %q", code, out)
	}
}

func TestVariablesAreFlags(t *testing.T) {
	for name, text := range map[string]string{
		"MAYFLY_HTTP": "127.0.0.1:0", "MAYFLY_ADMIN": "127.0.0.1:0", "MAYFLY_STORE": "memory:", "MAYFLY_READY_JSON": "true",
		"MAYFLY_NAMESPACE": "fromvariable", "MAYFLY_PROFILE": "emulator", "MAYFLY_LIMIT": "min-auto-delete=1s,without=topics,sessions,peek-count=3", "MAYFLY_ALLOW_HOST": "a.example,b.example",
		"MAYFLY_LOG_LEVEL": "error", "MAYFLY_LISTEN": "shop=amqp:127.0.0.1:0,shop=admin:127.0.0.1:0",
	} {
		t.Setenv(name, text)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	out := &once{line: make(chan string, 1)}
	ended := make(chan int, 1)
	go func() {
		ended <- execute(ctx, []string{"--namespace", "fromflag"}, os.Environ()[:0], streams{in: strings.NewReader(""), out: out, err: out})
	}()
	var r Ready
	select {
	case line := <-out.line:
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err, line)
		}
	case code := <-ended:
		t.Fatalf("it ended with %d", code)
	}
	cancel()
	if r.Namespace != "fromflag" || len(r.Listen) != 2 {
		t.Errorf("got %+v", r)
	}
	if code := <-ended; code != exitOK {
		t.Errorf("it ended with %d", code)
	}
}

// once passes on the first thing that is written.
type once struct{ line chan string }

func (o *once) Write(p []byte) (int, error) {
	select {
	case o.line <- string(p):
	default:
	}
	return len(p), nil
}

func TestClientCommands(t *testing.T) {
	s := serving(t, Config{Store: "memory:"})
	t.Setenv("MAYFLY_SERVER", s.Dashboard)
	step := func(in string, want string, args ...string) {
		t.Helper()
		out, complaint, code := typed(t, in, args...)
		if code != exitOK || !strings.Contains(out, want) {
			t.Errorf("%q: got %d %q %q, want %q", args, code, out, complaint, want)
		}
	}
	refused := func(exit int, in, want string, args ...string) {
		t.Helper()
		out, complaint, code := typed(t, in, args...)
		if code != exit || !strings.Contains(complaint, want) {
			t.Errorf("%q: got %d %q %q, want %q", args, code, out, complaint, want)
		}
	}
	step("", "ok", "healthcheck")
	step("", `"status":"ok"`, "healthcheck", "--json")
	refused(exitNotFound, "", "The messaging entity 'a/b' could not be found.", "send", "a/b", "x")
	step("", "Sent 1 message to a/b: #1.", "send", "a/b", "hello\x1b[31m", "--create", "--ttl", "1h", "-p", "n=5", "-p", "who=me", "--subject", "greeting", "--message-id", "m1")
	step("from a pipe", "Sent 3 messages to a/b: #2 to #4.", "send", "a/b", "--count", "3")
	step("\xff\x00", `{"sequenceNumbers":[5]}`, "send", "a/b", "--json")
	step("", "Sent 1 message to a/b: #6, scheduled for 20", "send", "a/b", "later", "--at", "1h")
	step("", "#1      active     ", "peek", "a/b")
	step("", "hello·[31m", "peek", "a/b")
	step("", "(2 bytes, not text)", "peek", "a/b", "--from", "5")
	step("", "due in ", "peek", "a/b", "--from", "6")
	step("", `"state":"scheduled"`, "peek", "a/b", "--from", "6", "--json")
	refused(exitRefused, "", "at least 1", "receive", "a/b", "--max", "0")
	step("", "#1  id m1  subject greeting  expires in 1h0m\n  n = 5\n  who = me\nhello·[31m\n", "receive", "a/b")
	step("", "lock token ", "receive", "a/b", "--then", "nothing")
	step("", "from a pipe", "receive", "a/b", "--then", "dead-letter", "--reason", "bad")
	step("", "DeadLetterReason = bad", "receive", "a/b/$DeadLetterQueue", "--then", "abandon")
	step("", "from a pipe", "receive", "a/b", "--then", "defer")
	step("", "from a pipe", "receive", "a/b", "--number", "4", "--then", "release")
	if c := entity(t, s, "a/b").Counts; c != (api.Counts{Active: 1, Locked: 1, Deferred: 1, Scheduled: 1, DeadLetter: 1}) {
		t.Errorf("there are %+v", c)
	}
	refused(exitFailed, "", "it was not confirmed", "purge", "a/b")
	refused(exitFailed, "2\n", "it was not confirmed", "purge", "a/b", "--state", "active,deferred,scheduled")
	step("3\n", "Removed 3 messages from a/b. 1 message locked and stayed.", "purge", "a/b", "--state", "active,deferred", "--state", "scheduled")
	step("", `{"removed":1,"skipped":0}`, "purge", "A/B/$deadletterqueue", "--yes", "--json")
	if c := entity(t, s, "a/b").Counts; c != (api.Counts{Locked: 1}) {
		t.Errorf("there are %+v", c)
	}
	step("", "There is no message.", "receive", "a/b", "--wait", "10ms")
	step("", "There is no message.", "peek", "a/b/$DeadLetterQueue")
	step("", "There is nothing to remove from a/b (scheduled).", "purge", "a/b", "--state", "scheduled")
	refused(exitNotFound, "", "could not be found", "purge", "Ⱥ", "--yes") // longer in lower case
	refused(exitNotFound, "", "could not be found", "receive", "nowhere", "--server", s.Dashboard+"/")
}

// OPS-7: what a filter matches is counted, agreed to and removed.
func TestPurgeCommandByFilter(t *testing.T) {
	limits := engine.DefaultLimits()
	limits.BatchSize = 1 << 30
	s := serving(t, Config{Store: "memory:", Limits: &limits})
	t.Setenv("MAYFLY_SERVER", s.Dashboard)
	for _, of := range [][]string{
		{"send", "q", "x", "--create", "-p", "price=11", "--subject", "x"}, {"send", "q", "x", "-p", "price=10"}, {"send", "q", "x", "-p", "price=dear"},
		{"send", "q", "x", "--at", "1h", "-p", "price=11"}, {"send", "many", "x", "--create", "--count", "5000"}, {"send", "many", "x", "--count", "5000"},
		{"send", "many", "x", "--count", "2", "--subject", "x"},
	} {
		if _, complaint, code := typed(t, "", of...); code != exitOK {
			t.Fatal(complaint)
		}
	}
	const dear, odd = "price > 10 AND sys.Label = 'x'", "0 < -price"
	for _, step := range []struct {
		in, out, complaint string
		args               []string
	}{
		{"", "", "The filter is not valid: The text ends at character 8, where", []string{"q", "--filter", "price >"}},
		{"", "", "The filter is not valid: The text ends at character 1, where", []string{"q", "--filter", "", "--yes"}},
		{"2\n", "", "This removes 1 message (active where " + dear + ") from q for good.\nType 1 to go on: ", []string{"q", "--filter", dear}},
		{"1\n", "Removed 1 message from q.\n", "", []string{"q", "--filter", dear}},
		{"", "There is nothing to remove from q (active, scheduled where 0 < -price). The filter could not be evaluated for 1 message, which stayed.\n", "",
			[]string{"q", "--filter", odd, "--state", "active,scheduled"}},
		{"", `{"removed":1,"skipped":0,"spared":2}` + "\n", "", []string{"q", "--filter", "price = 11", "--state", "active,scheduled", "--yes", "--json"}},
		{"0\n", "", "This removes at least 0 and at most 2 messages (active where sys.Label = 'x')", []string{"many", "--filter", "sys.Label = 'x'"}},
		{"2\n", "Removed 2 messages from many.\n", "", []string{"many", "--filter", "sys.Label = 'x'"}},
	} {
		out, complaint, code := typed(t, step.in, append([]string{"purge"}, step.args...)...)
		if out != step.out || (code == exitOK) != (step.out != "") || !strings.Contains(complaint, step.complaint) {
			t.Errorf("%q: got %d %q %q", step.args, code, out, complaint)
		}
	}
	if q, many := entity(t, s, "q").Counts, entity(t, s, "many").Counts; q != (api.Counts{Active: 2}) || many != (api.Counts{Active: 10_000}) {
		t.Errorf("left %+v, %+v", q, many)
	}
}

func TestPeekSaysThatThereIsMore(t *testing.T) {
	limits := engine.DefaultLimits()
	limits.PeekCount = 3
	t.Setenv("MAYFLY_SERVER", serving(t, Config{Store: "memory:", Limits: &limits}).Dashboard)
	if _, complaint, code := typed(t, "", "send", "q", "x", "--create", "--count", "5"); code != exitOK {
		t.Fatal(complaint)
	}
	for args, want := range map[string]string{"20000": "3 shown; go on with --from 4\n", "3": ""} {
		if _, said, code := typed(t, "", "peek", "q", "--count", args); code != exitOK || said != want {
			t.Errorf("%s: got %d %q", args, code, said)
		}
	}
	if _, said, code := typed(t, "", "peek", "q", "--count", "20000", "--from", "4"); code != exitOK || said != "" {
		t.Errorf("got %d %q", code, said)
	}
}

func TestClientFindsTheServersPort(t *testing.T) {
	t.Setenv("MAYFLY_SERVER", "")
	for variable, want := range map[string]string{
		"": "http://127.0.0.1:8080", "0.0.0.0:9000": "http://127.0.0.1:9000", "127.0.0.1:0": "http://127.0.0.1:8080", "nonsense": "http://127.0.0.1:8080",
	} {
		t.Setenv("MAYFLY_HTTP", variable)
		if got, err := (client{}).base(); err != nil || got != want {
			t.Errorf("%q: got %s %v, want %s", variable, got, err, want)
		}
	}
}

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "4096": 4096, "64KiB": 64 << 10, "64k": 64 << 10, "256 MiB": 256 << 20, "1.5gb": 3 << 29, "2TiB": 2 << 40, "7B": 7,
	} {
		if got, err := parseSize(text); err != nil || got != want {
			t.Errorf("%s: got %d %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "much", "-1", "1e9", "5XB", "5KM", "KiB", "99999999TiB", "0x10", "1_000", "Inf", "NaN", "1 2"} {
		if got, err := parseSize(text); err == nil {
			t.Errorf("%q is %d", text, got)
		}
	}
}

func TestKeptNamesNoPassword(t *testing.T) {
	for store, want := range map[string]string{
		"memory:":                          "",
		"mongodb://db.example":             "MongoDB at db.example, database mayfly",
		"mongodb://db.example/":            "MongoDB at db.example, database mayfly",
		"mongodb://db.example?w=1":         "MongoDB at db.example, database mayfly",
		"mongodb://a:1,b:2/shop?tls=true":  "MongoDB at a:1,b:2, database shop",
		"mongodb://me:secret@a:1,b:2/shop": "MongoDB at a:1,b:2, database shop",
		"mongodb://me:sec/re@t@a/shop":     "MongoDB at a, database shop",
		"mongodb://me:sec?re@a/shop":       "MongoDB at a, database shop",
		"MongoDB+srv://me:secret@cluster":  "MongoDB at cluster, database mayfly",
	} {
		if got := keptIn(store); got != want {
			t.Errorf("%s: got %q, want %q", store, got, want)
		}
	}
}

func TestParseProperty(t *testing.T) {
	for text, want := range map[string]value.Property{
		"a=":                           {Name: "a", Value: value.OfString("")},
		"a=b=c":                        {Name: "a", Value: value.OfString("b=c")},
		"a=5":                          {Name: "a", Value: value.OfLong(5)},
		"a=5.5":                        {Name: "a", Value: value.OfDouble(5.5)},
		"a=true":                       {Name: "a", Value: value.OfBool(true)},
		`a="5"`:                        {Name: "a", Value: value.OfString("5")},
		"a=null":                       {Name: "a"},
		"a=5 days":                     {Name: "a", Value: value.OfString("5 days")},
		`a={"type":"int","value":"5"}`: {Name: "a", Value: value.OfInt(5)},
	} {
		if got, err := parseProperty(text); err != nil || !cmp.Equal(got, want) {
			t.Errorf("%s: got %v %v", text, got, err)
		}
	}
}
