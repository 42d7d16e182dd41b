package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"mayfly/cmd/mayfly/cli"
	"mayfly/cmd/mayfly/command"
	"mayfly/cmd/mayfly/server"
	"mayfly/engine"
	"mayfly/web/api"
)

// RunCommand runs a command line and returns its output.
func RunCommand(t *testing.T, in string, args ...string) (out, complaint string, code int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = cli.Execute(t.Context(), command.All(), args, nil, cli.Streams{In: strings.NewReader(in), Out: &stdout, Err: &stderr})
	return stdout.String(), stderr.String(), code
}

func TestMisunderstoodCommandLines(t *testing.T) {
	for name, tc := range map[string]struct {
		args    []string
		environ []string
		code    int
		want    string
	}{
		"an unknown flag":       {[]string{"--bogus"}, nil, cli.ExitUsage, "unknown flag --bogus; see mayfly serve --help"},
		"an unknown command":    {[]string{"frob"}, nil, cli.ExitUsage, "unexpected argument frob; see mayfly --help"},
		"a flag of another":     {[]string{"peek", "q", "--insecure"}, nil, cli.ExitUsage, "unknown flag --insecure"},
		"no entity":             {[]string{"peek"}, nil, cli.ExitUsage, `expected "<entity>"; see mayfly peek --help`},
		"nothing to send":       {[]string{"send"}, nil, cli.ExitUsage, `see mayfly send --help`},
		"a folder to configure": {[]string{"--config", ".", "--store", "memory:"}, nil, cli.ExitFailed, "is a folder, not a file"},
		"a renamed flag":        {[]string{"peek", "q", "--ns", "shop"}, nil, cli.ExitUsage, "unknown flag --ns; --ns is now --namespace; see mayfly peek --help"},
		"a renamed variable":    {nil, []string{"MAYFLY_BOGUS=", "MAYFLY_NS=shop"}, cli.ExitUsage, "variable MAYFLY_BOGUS, MAYFLY_NS; MAYFLY_NS is now MAYFLY_NAMESPACE; mayfly serve"},
		"an unknown variable":   {nil, []string{"PATH=x", "MAYFLY_HTPP=x", "MAYFLY_BOGUS="}, cli.ExitUsage, "unknown environment variable MAYFLY_BOGUS, MAYFLY_HTPP; mayfly serve --help lists"},
		"an unknown level":      {[]string{"--log-level", "loud"}, nil, cli.ExitUsage, "--log-level"},
		"an unknown profile":    {[]string{"--profile", "gold"}, nil, cli.ExitUsage, `--profile must be one of "standard","premium","basic","emulator" but got "gold"; see mayfly serve --help`},
		"an unknown feature":    {[]string{"--limit", "without=topics,dreams"}, nil, cli.ExitUsage, `the feature "dreams" does not exist; choose from topics, sessions, duplicate-detection`},
		"a bad limit":           {[]string{"--limit", "colour=red"}, nil, cli.ExitUsage, `the limit "colour" does not exist`},
		"a limit without value": {[]string{"--limit", "entities"}, nil, cli.ExitUsage, "--limit must be NAME=VALUE"},
		"a bad value":           {[]string{"--limit", "entities=many"}, nil, cli.ExitUsage, "whole number"},
		"a bad address":         {[]string{"serve", "--http", "here"}, nil, cli.ExitUsage, "--http must be an address"},
		"beyond loopback":       {[]string{"--http", "0.0.0.0:0"}, nil, cli.ExitUsage, "--insecure"},
		"a bad server":          {[]string{"peek", "q", "--server", "127.0.0.1:8080"}, nil, cli.ExitUsage, "--server must be a URL"},
		"a bad duration":        {[]string{"--store-wait", "soon"}, nil, cli.ExitUsage, `--store-wait must be a duration such as 30s, not "soon"`},
		"an endless lease":      {[]string{"--lease", "never"}, nil, cli.ExitUsage, "--lease must be a duration"},
		"a short lease":         {[]string{"--lease", "200ms"}, nil, cli.ExitUsage, "--lease must be at least 300ms, not 200ms"},
		"no history at all":     {[]string{"--history-retention", "0s"}, nil, cli.ExitUsage, "--history-retention must be a duration"},
		"no pages at all":       {[]string{"--live-pages", "0"}, nil, cli.ExitUsage, "--live-pages must be at least 1, not 0"},
		"less than no sockets":  {[]string{"--live-sockets=-1"}, nil, cli.ExitUsage, "--live-sockets must be at least 0, not -1"},
		"a port of nobody":      {[]string{"--listen", "amqp:127.0.0.1:0"}, nil, cli.ExitUsage, "--listen must be NAMESPACE=KIND:ADDRESS, such as shop=amqp:127.0.0.1:5673"},
		"a port of no kind":     {[]string{"--listen", "shop=http:127.0.0.1:0"}, nil, cli.ExitUsage, "amqp, amqps, admin or https"},
		"a port of a bad name":  {[]string{"--listen", "a_b=amqp:127.0.0.1:0"}, nil, cli.ExitUsage, "--listen a_b=amqp:127.0.0.1:0: 'a_b' cannot be the name of a namespace"},
		"a bad size":            {[]string{"--history-bytes", "much"}, nil, cli.ExitUsage, `--history-bytes: "much" is not a size`},
		"a bad advertisement":   {[]string{"--advertise", "here:80"}, nil, cli.ExitUsage, `--advertise must be a URL such as http://host:8080, not "here:80"`},
		"a relative base path":  {[]string{"--base-path", "mayfly"}, nil, cli.ExitUsage, `--base-path must be a path such as /mayfly, of letters, digits and -._~, without a slash at the end, not "mayfly"`},
		"a base path's slash":   {[]string{"--base-path", "/mayfly/"}, nil, cli.ExitUsage, `not "/mayfly/"`},
		"the root as base path": {[]string{"--base-path", "/"}, nil, cli.ExitUsage, `not "/"`},
		"an empty part":         {[]string{"--base-path", "/a//b"}, nil, cli.ExitUsage, `not "/a//b"`},
		"a base path that ends": {[]string{"--base-path", "/a/.."}, nil, cli.ExitUsage, `not "/a/.."`},
		"an escaped base path":  {[]string{"--base-path", "/a%2Fb"}, nil, cli.ExitUsage, `not "/a%2Fb"`},
		"a base path in words":  {[]string{"--base-path", "/a b"}, nil, cli.ExitUsage, `not "/a b"`},
		"no server":             {[]string{"peek", "q", "--server", "http://127.0.0.1:1"}, nil, cli.ExitUnreachable, "http://127.0.0.1:1 does not answer: "},
		"a bad count":           {[]string{"send", "q", "x", "--count", "0"}, nil, cli.ExitUsage, "--count must be from 1 to 5000"},
		"a bad time":            {[]string{"send", "q", "x", "--at", "noon"}, nil, cli.ExitUsage, "--at must be a time"},
		"a bad property":        {[]string{"send", "q", "x", "-p", "n"}, nil, cli.ExitUsage, "--property must be NAME=VALUE"},
		"a list property":       {[]string{"send", "q", "x", "-p", "n=[1]"}, nil, cli.ExitUsage, "cannot be a list"},
		"a bad wait":            {[]string{"receive", "q", "--wait", "long"}, nil, cli.ExitUsage, "--wait must be a duration"},
		"a stray reason":        {[]string{"receive", "q", "--reason", "x"}, nil, cli.ExitUsage, "--reason and --description require --then dead-letter"},
		"a stray description":   {[]string{"receive", "q", "--description", "x", "--then", "abandon"}, nil, cli.ExitUsage, "not --then abandon"},
		"a bad end":             {[]string{"receive", "q", "--then", "explode"}, nil, cli.ExitUsage, "--then"},
		"a bad state":           {[]string{"purge", "q", "--state", "locked"}, nil, cli.ExitUsage, "--state"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, complaint bytes.Buffer
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			code := cli.Execute(ctx, command.All(), tc.args, tc.environ, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &complaint})
			if code != tc.code || !strings.Contains(complaint.String(), tc.want) || !strings.HasPrefix(complaint.String(), "mayfly: ") {
				t.Errorf("got %d %q, want %d %q", code, &complaint, tc.code, tc.want)
			}
			if strings.Count(complaint.String(), "\n") != 1 || out.Len() > 0 {
				t.Errorf("the error is not one line: %q, printed %q", &complaint, &out)
			}
		})
	}
}

func TestHelp(t *testing.T) {
	out, _, code := RunCommand(t, "", "serve", "--help")
	for _, want := range []string{"--http=", "$MAYFLY_HTTP", "--amqp", "nothing", "--amqps", "--https", "--tls-name", "$MAYFLY_TLS_DIR", "$MAYFLY_ALLOW_RESET", "--limit", "min-auto-delete", "--profile=\"standard\"", "premium, basic, emulator", "$MAYFLY_PROFILE", "auto-delete-on-idle", "$MAYFLY_READY_JSON", "--allow-host", "$MAYFLY_STORE_WAIT", "$MAYFLY_LEASE", "$MAYFLY_HISTORY_BYTES"} {
		if code != cli.ExitOK || !strings.Contains(strings.Join(strings.Fields(out), " "), want) {
			t.Errorf("got %d, and %s is missing in\n%s", code, want, out)
		}
	}
	if out, _, code := RunCommand(t, "", "--version"); code != cli.ExitOK || !strings.HasPrefix(out, "mayfly ") {
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
		ended <- cli.Execute(ctx, command.All(), []string{"--namespace", "fromflag"}, os.Environ()[:0], cli.Streams{In: strings.NewReader(""), Out: out, Err: out})
	}()
	var r server.Ready
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
	if code := <-ended; code != cli.ExitOK {
		t.Errorf("it ended with %d", code)
	}
}

// once is a writer that sends its first write to a channel, and drops writes while that is unread.
type once struct{ line chan string }

func (o *once) Write(p []byte) (int, error) {
	select {
	case o.line <- string(p):
	default:
	}
	return len(p), nil
}

func TestClientCommands(t *testing.T) {
	s := Start(t, server.Config{Store: "memory:"})
	t.Setenv("MAYFLY_SERVER", s.Dashboard)
	step := func(in string, want string, args ...string) {
		t.Helper()
		out, complaint, code := RunCommand(t, in, args...)
		if code != cli.ExitOK || !strings.Contains(out, want) {
			t.Errorf("%q: got %d %q %q, want %q", args, code, out, complaint, want)
		}
	}
	refused := func(exit int, in, want string, args ...string) {
		t.Helper()
		out, complaint, code := RunCommand(t, in, args...)
		if code != exit || !strings.Contains(complaint, want) {
			t.Errorf("%q: got %d %q %q, want %q", args, code, out, complaint, want)
		}
	}
	step("", "ok", "healthcheck")
	step("", `"status":"ok"`, "healthcheck", "--json")
	refused(cli.ExitNotFound, "", "The messaging entity 'a/b' could not be found.", "send", "a/b", "x")
	step("", "Sent 1 message to a/b: #1.", "send", "a/b", "hello\x1b[31m", "--create", "--ttl", "1h", "-p", "n=5", "-p", "who=me", "--subject", "greeting", "--message-id", "m1")
	step("from a pipe", "Sent 3 messages to a/b: #2 to #4.", "send", "a/b", "--count", "3")
	step("\xff\x00", `{"sequenceNumbers":[5]}`, "send", "a/b", "--json")
	step("", "Sent 1 message to a/b: #6, scheduled for 20", "send", "a/b", "later", "--at", "1h")
	step("", "#1      active     ", "peek", "a/b")
	step("", "hello·[31m", "peek", "a/b")
	step("", "(2 bytes, not text)", "peek", "a/b", "--from", "5")
	step("", "due in ", "peek", "a/b", "--from", "6")
	step("", `"state":"scheduled"`, "peek", "a/b", "--from", "6", "--json")
	refused(cli.ExitRefused, "", "must be from 1 to", "receive", "a/b", "--limit", "0")
	step("", "#1  id m1  subject greeting  expires in 1h0m\n  n = 5\n  who = me\nhello·[31m\n", "receive", "a/b")
	step("", "lock token ", "receive", "a/b", "--then", "nothing")
	step("", "from a pipe", "receive", "a/b", "--then", "dead-letter", "--reason", "bad")
	step("", "DeadLetterReason = bad", "receive", "a/b/$DeadLetterQueue", "--then", "abandon")
	step("", "from a pipe", "receive", "a/b", "--then", "defer")
	step("", "from a pipe", "receive", "a/b", "--sequence-number", "4", "--then", "release")
	if c := Entity(t, s, "a/b").Counts; c != (api.Counts{Active: 1, Locked: 1, Deferred: 1, Scheduled: 1, DeadLetter: 1}) {
		t.Errorf("got %+v", c)
	}
	refused(cli.ExitFailed, "", "not confirmed, so nothing was changed", "purge", "a/b")
	refused(cli.ExitFailed, "2\n", "not confirmed, so nothing was changed", "purge", "a/b", "--state", "active,deferred,scheduled")
	step("3\n", "Deleted 3 messages from a/b. 1 message locked and stayed.", "purge", "a/b", "--state", "active,deferred", "--state", "scheduled")
	step("", `{"removed":1,"skipped":0}`, "purge", "A/B/$deadletterqueue", "--yes", "--json")
	if c := Entity(t, s, "a/b").Counts; c != (api.Counts{Locked: 1}) {
		t.Errorf("got %+v", c)
	}
	step("", "No message was found.", "receive", "a/b", "--wait", "10ms")
	step("", "No message was found.", "peek", "a/b/$DeadLetterQueue")
	step("", "There is nothing to delete from a/b (scheduled).", "purge", "a/b", "--state", "scheduled")
	refused(cli.ExitNotFound, "", "could not be found", "purge", "Ⱥ", "--yes") // the name has more bytes in lower case
	refused(cli.ExitNotFound, "", "could not be found", "receive", "nowhere", "--server", s.Dashboard+"/")
}

// OPS-7: matches of a filter are counted, confirmed and deleted.
func TestPurgeCommandByFilter(t *testing.T) {
	limits := engine.DefaultLimits()
	limits.BatchSize = 1 << 30
	s := Start(t, server.Config{Store: "memory:", Limits: &limits})
	t.Setenv("MAYFLY_SERVER", s.Dashboard)
	for _, of := range [][]string{
		{"send", "q", "x", "--create", "-p", "price=11", "--subject", "x"}, {"send", "q", "x", "-p", "price=10"}, {"send", "q", "x", "-p", "price=dear"},
		{"send", "q", "x", "--at", "1h", "-p", "price=11"}, {"send", "many", "x", "--create", "--count", "5000"}, {"send", "many", "x", "--count", "5000"},
		{"send", "many", "x", "--count", "2", "--subject", "x"},
	} {
		if _, complaint, code := RunCommand(t, "", of...); code != cli.ExitOK {
			t.Fatal(complaint)
		}
	}
	const dear, odd = "price > 10 AND sys.Label = 'x'", "0 < -price"
	for _, step := range []struct {
		in, out, complaint string
		args               []string
	}{
		{"", "", "The filter is not valid: Expected a value at character 8, where the text ends", []string{"q", "--filter", "price >"}},
		{"", "", "The filter is not valid: Expected a value at character 1, where the text ends", []string{"q", "--filter", "", "--yes"}},
		{"2\n", "", "This permanently deletes 1 message (active where " + dear + ") from q.\nType 1 to confirm: ", []string{"q", "--filter", dear}},
		{"1\n", "Deleted 1 message from q.\n", "", []string{"q", "--filter", dear}},
		{"", "There is nothing to delete from q (active, scheduled where 0 < -price). The filter could not be evaluated for 1 message, which stayed.\n", "",
			[]string{"q", "--filter", odd, "--state", "active,scheduled"}},
		{"", `{"removed":1,"skipped":0,"notMatching":2}` + "\n", "", []string{"q", "--filter", "price = 11", "--state", "active,scheduled", "--yes", "--json"}},
		{"0\n", "", "This permanently deletes at least 0 and at most 2 messages (active where sys.Label = 'x')", []string{"many", "--filter", "sys.Label = 'x'"}},
		{"2\n", "Deleted 2 messages from many.\n", "", []string{"many", "--filter", "sys.Label = 'x'"}},
	} {
		out, complaint, code := RunCommand(t, step.in, append([]string{"purge"}, step.args...)...)
		if out != step.out || (code == cli.ExitOK) != (step.out != "") || !strings.Contains(complaint, step.complaint) {
			t.Errorf("%q: got %d %q %q", step.args, code, out, complaint)
		}
	}
	if q, many := Entity(t, s, "q").Counts, Entity(t, s, "many").Counts; q != (api.Counts{Active: 2}) || many != (api.Counts{Active: 10_000}) {
		t.Errorf("left %+v, %+v", q, many)
	}
}

func TestPeekSaysThatThereIsMore(t *testing.T) {
	limits := engine.DefaultLimits()
	limits.PeekCount = 3
	t.Setenv("MAYFLY_SERVER", Start(t, server.Config{Store: "memory:", Limits: &limits}).Dashboard)
	if _, complaint, code := RunCommand(t, "", "send", "q", "x", "--create", "--count", "5"); code != cli.ExitOK {
		t.Fatal(complaint)
	}
	for args, want := range map[string]string{"20000": "3 shown; continue with --from 4\n", "3": ""} {
		if _, said, code := RunCommand(t, "", "peek", "q", "--limit", args); code != cli.ExitOK || said != want {
			t.Errorf("%s: got %d %q", args, code, said)
		}
	}
	if _, said, code := RunCommand(t, "", "peek", "q", "--limit", "20000", "--from", "4"); code != cli.ExitOK || said != "" {
		t.Errorf("got %d %q", code, said)
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
		if got := cli.StoreLocation(store); got != want {
			t.Errorf("%s: got %q, want %q", store, got, want)
		}
	}
}
