package e2e

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Azure/go-amqp"
	"github.com/gorilla/websocket"

	"mayfly/cmd/mayfly/server"
	"mayfly/storage/mongo/mongotest"
	"mayfly/web/api"
	"mayfly/web/auth/sas"
	"mayfly/web/cluster"
)

// signedIn returns a browser in which a user of the server has signed in.
func signedIn(t *testing.T, at, name string) *CookieJar {
	t.Helper()
	jar := &CookieJar{}
	_, page := jar.Get(t, at+"/login")
	_, form, ok := strings.Cut(page, `name="csrf" value="`)
	if !ok {
		t.Fatalf("there is no form in %.3000s", page)
	}
	token, _, _ := strings.Cut(form, `"`)
	if code, text := jar.Post(t, at+"/login", url.Values{"csrf": {token}, "user": {name}, "password": {"password of " + name}}); code != http.StatusSeeOther {
		t.Fatalf("%s cannot sign in: %d %.2000s", name, code, text)
	}
	return jar
}

// A Credentials is a client with its credentials.
type Credentials struct {
	Jar    *CookieJar // nil if there is none
	Bearer string     // a token; empty for none
	header http.Header
}

func (a Credentials) Request(t *testing.T, method, at, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, at, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(r.Header, a.header)
	if a.Bearer != "" {
		r.Header.Set("Authorization", "Bearer "+a.Bearer)
	}
	jar := a.Jar
	if jar == nil {
		jar = &CookieJar{}
	}
	return jar.Do(t, r)
}

// OpenLive opens the socket of a namespace's pages, and returns the status of the response.
func (a Credentials) OpenLive(t *testing.T, base, path string) (*websocket.Conn, int) {
	t.Helper()
	h := http.Header{"Origin": {base}}
	if a.Bearer != "" {
		h.Set("Authorization", "Bearer "+a.Bearer)
	}
	if a.Jar != nil {
		for _, c := range a.Jar.Sent(base[strings.LastIndexByte(base, ':')+1:]) {
			h.Add("Cookie", c.Name+"="+c.Value)
		}
	}
	ws, w, err := websocket.DefaultDialer.DialContext(t.Context(), "ws"+strings.TrimPrefix(base, "http")+path, h)
	if w == nil {
		t.Fatal(err)
	}
	defer w.Body.Close()
	if err == nil {
		t.Cleanup(func() { ws.Close() })
	}
	return ws, w.StatusCode
}

// A shared is two servers on one MongoDB, which require sign-in and tokens: a owns the namespace
// default, and b owns shop, which has a queue q.
type shared struct {
	a, b server.Ready
	ana  *CookieJar // an admin, at a
}

func sharing(t *testing.T, c server.Config) shared {
	t.Helper()
	c.Store, c.Auth = mongotest.URL(t), UsersFile(t)
	s := shared{a: StartStandby(t, c).Next(server.StateReady), b: StartStandby(t, c).Next(server.StateStandby)}
	s.ana = signedIn(t, s.a.Dashboard, "ana")
	makes := Credentials{Jar: signedIn(t, s.b.Dashboard, "ana")}
	if code, text := makes.Request(t, "POST", s.b.Dashboard+"/api/v1/namespaces", `{"name":"shop","definitions":{"UserConfig":{"Namespaces":[{"Name":"n","Queues":[{"Name":"q"}]}]}}}`); code != http.StatusCreated {
		t.Fatal(code, text)
	}
	Eventually(t, "server a forwards to server b", func() bool {
		code, text := Credentials{Jar: s.ana}.Request(t, "GET", s.a.Dashboard+"/readyz?namespace=shop", "")
		return code == http.StatusOK && strings.Contains(text, "are forwarded to the server at "+s.b.Dashboard)
	})
	return s
}

// TestNobodyGetsAroundByAnotherServer checks that permissions are as strict for requests that
// another server forwards, and that clients cannot pretend to be a server.
func TestNobodyGetsAroundByAnotherServer(t *testing.T) {
	s := sharing(t, server.Config{})
	ana := Credentials{Jar: s.ana}
	makes := func(at, body string) (is api.Token) {
		t.Helper()
		code, text := ana.Request(t, "POST", s.a.Dashboard+"/api/v1/"+at, body)
		if err := json.Unmarshal([]byte(text), &is); code != http.StatusCreated || err != nil {
			t.Fatal(code, text, err)
		}
		return is
	}
	link := makes("links", `{"name":"demo","namespace":"shop"}`)
	opened := &CookieJar{}
	if code, text := opened.Get(t, link.URL); code != http.StatusSeeOther {
		t.Fatalf("the link was not opened: %d %s", code, text)
	}
	lies, err := json.Marshal(cluster.ClientInfo{Namespace: "shop", Port: cluster.Dashboard})
	if err != nil {
		t.Fatal(err)
	}
	forged := http.Header{"Mayfly-Passed-On": {base64.StdEncoding.EncodeToString([]byte(strings.TrimSuffix(string(lies), "}") + `,"who":{"Name":"ana","Role":3,"Way":1}}`))}}
	revoked := makes("tokens", `{"name":"old","role":"admin"}`)
	if code, text := ana.Request(t, "DELETE", s.a.Dashboard+"/api/v1/tokens/"+revoked.ID, ""); code != http.StatusOK {
		t.Fatal(code, text)
	}
	for name, tc := range map[string]struct {
		who Credentials
		// statuses of: the pages of shop and of default, a send to shop's queue, the creation of a
		// queue in shop, its form, the socket, and the list of users' sessions
		look, beside, send, make, form, live, sessions int
	}{
		"nobody":             {Credentials{}, 401, 401, 401, 401, 401, 401, 401},
		"a header":           {Credentials{header: forged}, 401, 401, 401, 401, 401, 401, 401},
		"a viewer":           {Credentials{Jar: signedIn(t, s.a.Dashboard, "vera")}, 200, 200, 403, 403, 403, 101, 403},
		"an admin":           {ana, 200, 200, 201, 201, 403, 101, 200}, // the form has no form token
		"a viewer's token":   {Credentials{Bearer: makes("tokens", `{"name":"v","role":"viewer"}`).Secret}, 200, 200, 403, 403, 403, 101, 403},
		"an operator's":      {Credentials{Bearer: makes("tokens", `{"name":"o","role":"operator"}`).Secret}, 200, 200, 201, 403, 403, 101, 403},
		"one for default":    {Credentials{Bearer: makes("tokens", `{"name":"d","role":"admin","namespace":"default"}`).Secret}, 403, 200, 403, 403, 403, 403, 403},
		"one for shop":       {Credentials{Bearer: makes("tokens", `{"name":"s","role":"operator","namespace":"shop"}`).Secret}, 200, 403, 201, 403, 403, 101, 403},
		"one that is over":   {Credentials{Bearer: revoked.Secret}, 401, 401, 401, 401, 401, 401, 401},
		"a link":             {Credentials{Jar: opened}, 200, 403, 403, 403, 403, 101, 403},
		"a viewer's, forged": {Credentials{header: forged, Bearer: makes("tokens", `{"name":"f","role":"viewer"}`).Secret}, 200, 200, 403, 403, 403, 101, 403},
	} {
		t.Run(name, func(t *testing.T) {
			shop := s.a.Dashboard + "/api/v1/n/shop"
			for _, q := range []struct {
				method, at, body string
				want             int
			}{
				{"GET", shop + "/entities", "", tc.look},
				{"GET", s.a.Dashboard + "/n/shop/queues", "", tc.look},
				{"GET", s.a.Dashboard + "/api/v1/entities", "", tc.beside},
				{"POST", shop + "/send/q", `{"body":"x"}`, tc.send},
				{"POST", shop + "/entities", `{"kind":"queue","path":"of-` + strings.ReplaceAll(strings.ToLower(name), " ", "-")[:6] + `"}`, tc.make},
				{"POST", s.a.Dashboard + "/n/shop/queues", "name=formed", tc.form},
				{"GET", s.a.Dashboard + "/sessions", "", tc.sessions},
			} {
				if code, text := tc.who.Request(t, q.method, q.at, q.body); code != q.want {
					t.Errorf("%s %s: %d, want %d: %.500s", q.method, q.at, code, q.want, text)
				}
			}
			if _, code := tc.who.OpenLive(t, s.a.Dashboard, "/n/shop/live"); code != tc.live {
				t.Errorf("the socket: %d, want %d", code, tc.live)
			}
		})
	}
}

// TestPeerPortIsForServers checks that the port for other servers does not respond to clients
// without the secret of the database.
func TestPeerPortIsForServers(t *testing.T) {
	url := mongotest.URL(t)
	const at = "127.0.0.1:0"
	on := NewSharedStore()
	r := StartStandby(t, server.Config{Store: url, Auth: UsersFile(t), Peer: at, OpenStore: on.Open})
	r.Next(server.StateReady)
	place, ok := cluster.ParseEndpoint(on.Owner().Peer)
	if !ok {
		t.Fatalf("the owner has no valid peer address: %+v", on.Owner())
	}
	for _, plain := range []bool{true, false} {
		c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, ServerName: place.Name}}}
		scheme := "https"
		if plain {
			scheme = "http"
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, scheme+"://"+place.Addresses[0]+"/api/v1/entities", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Mayfly-Passed-On", base64.StdEncoding.EncodeToString([]byte(`{"namespace":"default","port":"dashboard","who":{"Name":"ana","Role":3,"Way":1}}`)))
		w, err := c.Do(req)
		if err == nil {
			text, _ := io.ReadAll(w.Body) //nolint:errcheck // reported below
			w.Body.Close()
			if w.StatusCode != http.StatusBadRequest || !plain || strings.Contains(string(text), "entities") {
				t.Errorf("%s: answered %d %s", scheme, w.StatusCode, text)
			}
		}
		c.CloseIdleConnections()
	}
}

// TestRevokedThroughAnotherServer checks that a socket that a token opened at one server ends
// when the token is revoked, even if another server serves it.
func TestRevokedThroughAnotherServer(t *testing.T) {
	s := sharing(t, server.Config{})
	ana := Credentials{Jar: s.ana}
	var is api.Token
	code, text := ana.Request(t, "POST", s.a.Dashboard+"/api/v1/tokens", `{"name":"ci","role":"viewer"}`)
	if err := json.Unmarshal([]byte(text), &is); code != http.StatusCreated || err != nil {
		t.Fatal(code, text, err)
	}
	vera := Credentials{Jar: signedIn(t, s.a.Dashboard, "vera")}
	for name, who := range map[string]Credentials{"a token": {Bearer: is.Secret}, "a session": vera} {
		ws, code := who.OpenLive(t, s.a.Dashboard, "/n/shop/live")
		if code != http.StatusSwitchingProtocols {
			t.Fatalf("%s: %d", name, code)
		}
		ended := make(chan struct{})
		go func() { // ends with the socket
			defer close(ended)
			for {
				if _, _, err := ws.ReadMessage(); err != nil {
					return
				}
			}
		}()
		if who.Bearer != "" {
			code, text = ana.Request(t, "DELETE", s.a.Dashboard+"/api/v1/tokens/"+is.ID, "")
		} else {
			_, page := ana.Request(t, "GET", s.a.Dashboard+"/sessions", "")
			_, form, _ := strings.Cut(page, `name="csrf" value="`)
			csrf, _, _ := strings.Cut(form, `"`)
			code, text = ana.Jar.Post(t, s.a.Dashboard+"/sessions/end", url.Values{"csrf": {csrf}, "all": {"vera"}})
		}
		if code != http.StatusOK && code != http.StatusSeeOther {
			t.Fatalf("%s cannot be revoked: %d %.1000s", name, code, text)
		}
		select {
		case <-ended:
		case <-time.After(soon):
			t.Errorf("the socket of %s stays open", name)
		}
	}
}

// TestActivityTellsOfEachServer checks that sign-ins and actions at a server that does not own
// the server's own namespace appear in its activity at the owner.
func TestActivityTellsOfEachServer(t *testing.T) {
	s := sharing(t, server.Config{})
	at := s.b.Dashboard
	jar := signedIn(t, at, "vera")
	ana := Credentials{Jar: signedIn(t, at, "ana")}
	var is api.Token
	code, text := ana.Request(t, "POST", at+"/api/v1/tokens", `{"name":"ci","role":"viewer"}`)
	if err := json.Unmarshal([]byte(text), &is); code != http.StatusCreated || err != nil {
		t.Fatal(code, text, err)
	}
	if code, text := ana.Request(t, "DELETE", at+"/api/v1/tokens/"+is.ID, ""); code != http.StatusOK {
		t.Fatal(code, text)
	}
	_, page := Credentials{Jar: jar}.Request(t, "GET", at+"/settings", "")
	_, form, _ := strings.Cut(page, `name="csrf" value="`)
	csrf, _, _ := strings.Cut(form, `"`)
	if code, text := jar.Post(t, at+"/logout", url.Values{"csrf": {csrf}}); code != http.StatusSeeOther {
		t.Fatalf("signing out is %d %.500s", code, text)
	}
	want := []string{"namespace-created ana shop", "signed-in vera viewer · password · 127.0.0.1", "token-created ana ci (viewer)", "token-revoked ana ci (viewer)", "signed-out vera "}
	for _, server := range []server.Ready{s.a, s.b} {
		Eventually(t, "the activity has all events", func() bool {
			_, text := Credentials{Jar: s.ana}.Request(t, "GET", server.Dashboard+"/api/v1/activity?limit=100", "")
			var is api.Activity
			if err := json.Unmarshal([]byte(text), &is); err != nil {
				t.Fatal(err, text)
			}
			told := map[string]int{}
			for _, e := range is.Events {
				told[e.Kind+" "+e.Actor+" "+e.Reason]++
			}
			return !slices.ContainsFunc(want, func(w string) bool { return told[w] != 1 })
		})
	}
}

// TestKeysBehindAnotherServer checks SAS keys of clients whose requests are forwarded.
func TestKeysBehindAnotherServer(t *testing.T) {
	s := sharing(t, server.Config{SAS: sas.Enforce})
	const rule = "RootManageSharedAccessKey"
	key := map[string]string{}
	for ns, at := range map[string]string{"default": "/api/v1", "shop": "/api/v1/n/shop"} {
		var is api.AccessRule
		code, text := Credentials{Jar: s.ana}.Request(t, "POST", s.a.Dashboard+at+"/access-rules/"+rule+"/regenerate?key=primary", "")
		if err := json.Unmarshal([]byte(text), &is); code != http.StatusOK || err != nil || is.PrimaryKey == "" {
			t.Fatal(code, text, err)
		}
		key[ns] = is.PrimaryKey
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	token := func(ns string) string {
		return sas.Sign("sb://shop.localhost/q", rule, key[ns], time.Now().Add(time.Hour))
	}
	for name, tc := range map[string]struct {
		token, key string
		want       int
	}{
		"none":               {"", "", 401},
		"its own":            {token("shop"), key["shop"], 201},
		"another space's":    {token("default"), key["default"], 401},
		"one that is forged": {token("shop") + "x", key["shop"] + "x", 401},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.a.Admin+"/q/messages", strings.NewReader("x"))
			if err != nil {
				t.Fatal(err)
			}
			r.Host = "shop.localhost"
			if tc.token != "" {
				r.Header.Set("Authorization", tc.token)
			}
			w, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			w.Body.Close()
			if w.StatusCode != tc.want {
				t.Errorf("REST: %d, want %d", w.StatusCode, tc.want)
			}
			how := amqp.SASLTypeAnonymous()
			if tc.key != "" {
				how = amqp.SASLTypePlain(rule, tc.key)
			}
			c, err := amqp.Dial(ctx, "amqp://"+s.a.AMQP, &amqp.ConnOptions{SASLType: how, HostName: "shop.localhost"})
			if err == nil {
				defer c.Close()
				var session *amqp.Session
				if session, err = c.NewSession(ctx, nil); err == nil {
					var snd *amqp.Sender
					if snd, err = session.NewSender(ctx, "q", nil); err == nil {
						err = snd.Send(ctx, amqp.NewMessage([]byte("x")), nil)
					}
				}
			}
			if (err == nil) != (tc.want == 201) {
				t.Errorf("AMQP: %v", err)
			}
		})
	}
}

// TestSignedInAtEveryServer checks that one sign-in works at all servers, as do tokens and
// links, and that a revocation at one ends access at the others, including open sockets.
func TestSignedInAtEveryServer(t *testing.T) {
	s := sharing(t, server.Config{})
	ana, vera := Credentials{Jar: s.ana}, Credentials{Jar: signedIn(t, s.b.Dashboard, "vera")}
	says := func(who Credentials, want int, method, at, body string) string {
		t.Helper()
		code, text := who.Request(t, method, at, body)
		if code != want {
			t.Errorf("%s %s: %d, want %d: %.500s", method, at, code, want, text)
		}
		return text
	}
	over := func(what string, who Credentials, at string, ws *websocket.Conn) {
		t.Helper()
		if err := ws.SetReadDeadline(time.Now().Add(soon)); err != nil {
			t.Fatal(err)
		}
		for {
			if _, _, err := ws.ReadMessage(); err != nil {
				if !websocket.IsUnexpectedCloseError(err) && !strings.Contains(err.Error(), "EOF") {
					t.Errorf("the socket of %s stays open: %v", what, err)
				}
				break
			}
		}
		Eventually(t, what+" is over", func() bool {
			code, _ := who.Request(t, "GET", at, "")
			return code == http.StatusUnauthorized
		})
	}
	for _, r := range []server.Ready{s.a, s.b} {
		for _, at := range []string{"/n/default/queues", "/n/shop/queues", "/api/v1/n/shop/entities", "/api/v1/entities"} {
			says(ana, 200, "GET", r.Dashboard+at, "")
			says(vera, 200, "GET", r.Dashboard+at, "")
		}
		says(vera, 403, "POST", r.Dashboard+"/api/v1/n/shop/send/q", `{"body":"x"}`)
		if text := says(ana, 200, "GET", r.Dashboard+"/sessions", ""); !strings.Contains(text, "vera") {
			t.Errorf("%s does not list vera", r.Dashboard)
		}
	}
	makes := func(r server.Ready, at, body string) (is api.Token) {
		t.Helper()
		if err := json.Unmarshal([]byte(says(ana, 201, "POST", r.Dashboard+at, body)), &is); err != nil {
			t.Fatal(err)
		}
		return is
	}
	one, two := makes(s.a, "/api/v1/tokens", `{"name":"one","role":"operator"}`), makes(s.b, "/api/v1/n/shop/tokens", `{"name":"two","role":"viewer"}`)
	link := makes(s.b, "/api/v1/n/shop/links", `{"name":"demo"}`)
	for _, r := range []server.Ready{s.a, s.b} {
		says(Credentials{Bearer: one.Secret}, 201, "POST", r.Dashboard+"/api/v1/n/shop/send/q", `{"body":"x"}`)
		says(Credentials{Bearer: two.Secret}, 200, "GET", r.Dashboard+"/api/v1/entities", "")
		opened := Credentials{Jar: &CookieJar{}}
		says(opened, 303, "GET", r.Dashboard+strings.TrimPrefix(link.URL, s.b.Dashboard), "")
		says(opened, 200, "GET", r.Dashboard+"/n/shop/queues", "")
		for _, at := range []string{"/api/v1/tokens", "/api/v1/n/shop/tokens"} {
			Eventually(t, "all sessions are listed", func() bool {
				text := says(ana, 200, "GET", r.Dashboard+at, "")
				return strings.Contains(text, one.ID) && strings.Contains(text, two.ID) && strings.Contains(text, link.ID)
			})
		}
	}
	// A token revoked at one server ends its socket at the other.
	ws, code := Credentials{Bearer: one.Secret}.OpenLive(t, s.a.Dashboard, "/live")
	if code != http.StatusSwitchingProtocols {
		t.Fatal(code)
	}
	says(ana, 200, "DELETE", s.b.Dashboard+"/api/v1/n/shop/tokens/"+one.ID, "")
	over("a token", Credentials{Bearer: one.Secret}, s.a.Dashboard+"/api/v1/entities", ws)

	if ws, code = vera.OpenLive(t, s.b.Dashboard, "/n/shop/live"); code != http.StatusSwitchingProtocols {
		t.Fatal(code)
	}
	_, page := ana.Request(t, "GET", s.a.Dashboard+"/sessions", "")
	_, form, _ := strings.Cut(page, `name="csrf" value="`)
	csrf, _, _ := strings.Cut(form, `"`)
	if code, text := ana.Jar.Post(t, s.a.Dashboard+"/sessions/end", url.Values{"csrf": {csrf}, "all": {"vera"}}); code != http.StatusSeeOther {
		t.Fatal(code, text)
	}
	over("a session", vera, s.b.Dashboard+"/api/v1/entities", ws)
}

// TestTemporaryOfAnother checks that the namespace of a scene that is played at one server is
// reachable through another until the scene ends.
func TestTemporaryOfAnother(t *testing.T) {
	owner, other, _, _ := StartTwo(t, server.Config{})
	if code, text := Request(t, http.MethodGet, other.Dashboard+"/n/demo", ""); code != http.StatusNotFound {
		t.Errorf("before the namespace exists: %d %.500s", code, text)
	}
	if code, text := Request(t, http.MethodPost, owner.Dashboard+"/api/v1/namespaces", `{"name":"demo","temporary":true}`); code != http.StatusCreated {
		t.Fatal(code, text)
	}
	Eventually(t, "the namespace is reachable", func() bool {
		code, _ := Request(t, http.MethodGet, other.Dashboard+"/n/demo", "")
		return code == http.StatusOK
	})
	if code, text := Request(t, http.MethodPost, other.Dashboard+"/api/v1/n/demo/send/q?create=queue", `{"body":"x"}`); code != http.StatusCreated {
		t.Error(code, text)
	}
	if code, text := Request(t, http.MethodGet, owner.Dashboard+"/api/v1/n/demo/peek/q", ""); code != http.StatusOK || !strings.Contains(text, `"x"`) {
		t.Error(code, text)
	}
	if ws, code := (Credentials{}).OpenLive(t, other.Dashboard, "/n/demo/live"); code != http.StatusSwitchingProtocols {
		t.Errorf("the namespace's socket: %d", code)
	} else if _, hello, err := ws.ReadMessage(); err != nil || !strings.Contains(string(hello), `"epoch"`) {
		t.Errorf("the namespace's socket begins with %s, %v", hello, err)
	}
	if code, text := Request(t, http.MethodDelete, owner.Dashboard+"/api/v1/namespaces/demo?confirm=demo", ""); code != http.StatusOK {
		t.Fatal(code, text)
	}
	Eventually(t, "the namespace is removed", func() bool {
		code, _ := Request(t, http.MethodGet, other.Dashboard+"/n/demo", "")
		return code == http.StatusNotFound
	})
}

// TestWhoOwnsWhat checks that each server reports which of its namespaces another server owns,
// and whether that server is reachable.
func TestWhoOwnsWhat(t *testing.T) {
	owner, other, first, second := StartTwo(t, server.Config{})
	if code, text := Request(t, http.MethodPost, owner.Dashboard+"/api/v1/namespaces", `{"name":"shop","definitions":{"UserConfig":{"Namespaces":[{"Name":"n"}]}}}`); code != http.StatusCreated {
		t.Fatal(code, text)
	}
	// The AMQP connection keeps namespace shop at this server, though the other one owns fewer
	// namespaces than its share.
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, err := amqp.Dial(ctx, "amqp://"+owner.AMQP, &amqp.ConnOptions{SASLType: amqp.SASLTypeAnonymous(), HostName: "shop.localhost"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	Eventually(t, "the other server reports the owner of shop", func() bool {
		code, text := Request(t, http.MethodGet, other.Dashboard+"/readyz", "")
		return code == http.StatusOK && strings.Contains(text, "namespace shop: forwarded to the server at "+owner.Dashboard+", which owns it\n")
	})
	for at, want := range map[string][]string{
		owner.Dashboard: {`mayfly_namespace_owner{namespace="default",owner="` + owner.Dashboard + `"} 1`, `mayfly_namespace_owner{namespace="shop",owner="` + owner.Dashboard + `"} 1`, `mayfly_namespace_ready{namespace="shop"} 1`},
		other.Dashboard: {`mayfly_namespace_owner{namespace="default",owner="` + owner.Dashboard + `"} 1`, `mayfly_namespace_owner{namespace="shop",owner="` + owner.Dashboard + `"} 1`, `mayfly_namespace_ready{namespace="shop"} 0`},
	} {
		_, text := Request(t, http.MethodGet, at+"/metrics", "")
		for _, line := range want {
			if !strings.Contains(text, line) {
				t.Errorf("the metrics of %s lack the line %s", at, line)
			}
		}
	}
	if _, text := Request(t, http.MethodGet, owner.Dashboard+"/readyz", ""); strings.Contains(text, "shop") {
		t.Errorf("the owner reports %s", text)
	}
	first.End()
	second.Next(server.StateReady)
	Eventually(t, "the server owns both namespaces", func() bool {
		code, text := Request(t, http.MethodGet, other.Dashboard+"/readyz", "")
		_, metrics := Request(t, http.MethodGet, other.Dashboard+"/metrics", "")
		return code == http.StatusOK && text == "ready\n" && strings.Contains(metrics, `mayfly_namespace_owner{namespace="shop",owner="`+other.Dashboard+`"} 1`)
	})
}
