package e2e

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gorilla/websocket"

	"mayfly/cmd/mayfly/cli"
	"mayfly/cmd/mayfly/command"
	"mayfly/cmd/mayfly/server"
	"mayfly/web/api"
)

// TestServersDoingsAreNotTheNamespaces checks that sign-ins and changes of the server are recorded
// in its own namespace, and shown to users with access to all namespaces, but not to clients whose
// token or link is for that namespace only.
func TestServersDoingsAreNotTheNamespaces(t *testing.T) {
	s := Start(t, server.Config{Store: "sqlite:" + filepath.Join(t.TempDir(), "mayfly.db"), Auth: UsersFile(t)})
	ana := Credentials{Jar: s.SignIn(t, "ana")}
	does := func(method, at, body string) string {
		t.Helper()
		code, text := ana.Request(t, method, s.API+at, body)
		if code >= http.StatusMultipleChoices {
			t.Fatal(method, at, code, text)
		}
		return text
	}
	makes := func(what, body string) (made api.Token) {
		t.Helper()
		if err := json.Unmarshal([]byte(does("POST", what, body)), &made); err != nil {
			t.Fatal(err)
		}
		return made
	}
	all := Credentials{Bearer: makes("/tokens", `{"name":"all","role":"admin"}`).Secret}
	one := Credentials{Bearer: makes("/tokens", `{"name":"one","role":"admin","namespace":"default"}`).Secret}
	guest := Credentials{Jar: &CookieJar{}}
	guest.Jar.Get(t, makes("/links", `{"name":"guest"}`).URL)
	looks := map[string]Credentials{"an admin's token": all, "a token for the namespace": one, "a link to it": guest}
	lines := map[string]*frames{}
	for name, who := range looks {
		lines[name] = listening(t, who, s.Dashboard, "/n/default", "/n/default/activity", "/n/default/activity?scope=all")
	}

	// Names of the server's own events contain "secretive".
	s.SignIn(t, "vera")
	(&CookieJar{}).Submit(t, s.Dashboard, "/login", url.Values{"user": {"vera"}, "password": {"wrong"}})
	does("POST", "/namespaces", `{"name":"secretive"}`)
	does("PATCH", "/namespaces/secretive", `{"profile":"premium"}`)
	does("DELETE", "/namespaces/secretive?confirm=secretive", "")
	does("PUT", "/scenes/secretive", `{title: secretive, summary: Nothing., entities: [{queue: kitchen}], steps: [{caption: Nothing., actions: [{send: {to: kitchen, body: soup}}]}]}`)
	does("DELETE", "/scenes/secretive", "")
	does("DELETE", "/tokens/"+makes("/tokens", `{"name":"secretive","role":"viewer"}`).ID, "")
	does("DELETE", "/tokens/"+makes("/links", `{"name":"secretive"}`).ID, "")
	does("POST", "/entities", `{"kind":"queue","path":"shown"}`)

	hidden := regexp.MustCompile(`secretive|vera|signed-in|sign-in-failed|sign-in as|signed in|token-created|link-created`)
	sees := map[string]func(*testing.T, Credentials, string) string{}
	for _, at := range []string{
		"/n/default", "/n/default/activity", "/n/default/activity?scope=all", "/n/default/activity?scope=audit", "/n/default/activity?group=entities",
		"/n/default/activity/export?format=csv", "/n/default/activity/export?format=jsonl&scope=all",
		"/api/v1/activity", "/api/v1/activity?scope=all&limit=1000", "/api/v1/n/default/activity?group=entities", "/api/v1/activity?scope=audit&actor=ana",
	} {
		sees[at] = func(t *testing.T, who Credentials, _ string) string {
			code, text := who.Request(t, "GET", s.Dashboard+at, "")
			if code != http.StatusOK {
				t.Fatal(code, text)
			}
			return text
		}
	}
	const watch = "mayfly watch" // a command that shows a token, and sends no cookies
	sees[watch] = func(t *testing.T, who Credentials, _ string) string {
		ctx, stop := context.WithCancelCause(t.Context())
		screen := &firstFrame{stop: func() { stop(cli.ErrStopped) }}
		terminal := cli.Terminal{Out: true, Size: func() (columns, lines int) { return 200, 200 }}
		args := []string{"watch", "--server", s.Dashboard, "--token", who.Bearer}
		if code := cli.Execute(ctx, command.All(), args, nil, cli.Streams{In: strings.NewReader(""), Out: screen, Err: screen, Terminal: terminal}); code != cli.ExitInterrupted {
			t.Fatalf("%d %s", code, &screen.text)
		}
		return screen.text.String()
	}
	sees["the socket of pages"] = func(t *testing.T, _ Credentials, name string) string { return lines[name].until(t, "shown") }
	for view, see := range sees {
		for name, who := range looks {
			if view == watch && who.Jar != nil {
				continue
			}
			t.Run(view+", "+name, func(t *testing.T) {
				told := see(t, who, name)
				if !strings.Contains(told, "shown") {
					t.Error("the activity lacks the operation in the namespace")
				}
				if is := hidden.FindString(told); (is != "") != (name == "an admin's token") {
					t.Errorf("the activity has %q", is)
				}
			})
		}
	}
	for _, group := range []string{"/n/default/activity?group=access", "/api/v1/activity?group=access"} {
		for name, who := range looks {
			_, told := who.Request(t, "GET", s.Dashboard+group, "")
			if is := hidden.FindString(told); (is != "") != (name == "an admin's token") {
				t.Errorf("%s shows %s the text %q", group, name, is)
			}
		}
	}
}

// frames is a page's socket and the frames it received.
type frames struct {
	ws   *websocket.Conn
	text strings.Builder
}

// listening opens a socket and subscribes to pages. It returns once it has received each of them.
func listening(t *testing.T, who Credentials, base string, pages ...string) *frames {
	t.Helper()
	ws, code := who.OpenLive(t, base, "/live")
	if ws == nil {
		t.Fatal(code)
	}
	f := &frames{ws: ws}
	for _, page := range pages {
		if err := ws.WriteJSON(map[string]any{"op": "sub", "topic": page}); err != nil {
			t.Fatal(err)
		}
		f.until(t, `"topic":"`+page+`"`)
	}
	f.text.Reset()
	return f
}

// until reads frames until one contains a word, and returns all frames.
func (f *frames) until(t *testing.T, word string) string {
	t.Helper()
	for !strings.Contains(f.text.String(), word) {
		_, b, err := f.ws.ReadMessage()
		if err != nil {
			t.Fatalf("%v before %q: %s", err, word, f.text.String())
		}
		f.text.Write(b)
	}
	return f.text.String()
}

// A firstFrame is a terminal that records the output of watch, and stops it at the first frame.
type firstFrame struct {
	text strings.Builder
	stop func()
}

func (f *firstFrame) Write(p []byte) (int, error) {
	if f.text.Len() > 0 { // the first write only opens the screen
		f.stop()
	}
	return f.text.Write(p)
}
