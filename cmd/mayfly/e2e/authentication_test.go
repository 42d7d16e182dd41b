package e2e

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/websocket"

	"mayfly/cmd/mayfly/client"
	"mayfly/cmd/mayfly/server"
	"mayfly/engine/history"
	"mayfly/web/api"
)

// SignIn returns the cookies of a browser in which a user of the server has signed in.
func (s *Server) SignIn(t *testing.T, name string) *CookieJar {
	t.Helper()
	jar := &CookieJar{}
	if code, text := jar.Submit(t, s.Dashboard, "/login", url.Values{"user": {name}, "password": {"password of " + name}}); code != http.StatusSeeOther {
		t.Fatalf("%s does not sign in: %d %s", name, code, text)
	}
	return jar
}

var FormToken = regexp.MustCompile(`name="csrf" value="([^"]+)"`)

// Submit sends the form of a page.
func (j *CookieJar) Submit(t *testing.T, base, at string, form url.Values) (int, string) {
	t.Helper()
	_, text := j.Get(t, base+at)
	token := FormToken.FindStringSubmatch(text)
	if token == nil {
		t.Fatalf("%s has no form: %s", at, text)
	}
	form.Set("csrf", token[1])
	return j.Post(t, base+at, form)
}

// CreateToken creates a token on the page.
func (s *Server) CreateToken(t *testing.T, who *CookieJar, role string) string {
	t.Helper()
	_, text := who.Submit(t, s.Dashboard, "/tokens/new", url.Values{"name": {"test"}, "role": {role}, "for": {"24h0m0s"}})
	secret := regexp.MustCompile(`mft_\w{10}_\w{26}`).FindString(text)
	if secret == "" {
		t.Fatalf("there is no token in %s", text)
	}
	return secret
}

// TestPrintedLineWithPeople checks that if the API requires sign-in, the printed command works
// once the printed instructions are followed.
func TestPrintedLineWithPeople(t *testing.T) {
	RequirePrograms(t, "sh", "curl")
	s := Start(t, server.Config{Store: "memory:", Auth: UsersFile(t)})
	if printed := s.Out.String(); !strings.Contains(printed, s.Curl) || !strings.Contains(printed, "Set MAYFLY_TOKEN to an admin token: sign in, and create one at "+s.Dashboard+"/tokens.") {
		t.Errorf("printed %q", printed)
	}
	token := s.CreateToken(t, s.SignIn(t, "ana"), "admin")
	line := func(token string) error {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", s.Curl+" -sS --fail-with-body")
		cmd.Env = append(cmd.Environ(), "MAYFLY_TOKEN="+token)
		return cmd.Run()
	}
	if err := line(token); err != nil {
		t.Errorf("%s: %v", s.Curl, err)
	}
	if err := line("mft_wrong"); err == nil {
		t.Error("the command also sends without a token")
	}
	code, text := s.RequestWithToken(t, token, http.MethodGet, client.APIPath("entities", "hello"), "")
	var e api.Entity
	if err := json.Unmarshal([]byte(text), &e); err != nil || e.Counts.Active != 1 {
		t.Errorf("%d %s", code, text)
	}
}

// RequestWithToken sends a request with a token to the API.
func (s *Server) RequestWithToken(t *testing.T, token, method, at, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.Dashboard+at, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	return (&CookieJar{}).Do(t, r)
}

// A wireline is the socket of live pages, with its pongs and the error that ended it.
type wireline struct {
	*websocket.Conn
	pongs chan struct{}
	ended chan error
}

// OpenLive opens the socket of live pages with the given request headers, which have the
// credentials.
func (s *Server) OpenLive(t *testing.T, with http.Header) *wireline {
	t.Helper()
	with.Set("Origin", s.Dashboard)
	ws, w, err := websocket.DefaultDialer.DialContext(t.Context(), "ws"+strings.TrimPrefix(s.Dashboard, "http")+"/live", with)
	if err != nil {
		t.Fatal(w, err)
	}
	w.Body.Close()
	l := &wireline{ws, make(chan struct{}, 1), make(chan error, 1)}
	ws.SetPongHandler(func(string) error { l.pongs <- struct{}{}; return nil })
	go func() { // ends with the socket
		for {
			if _, _, err := ws.ReadMessage(); err != nil {
				l.ended <- err
				return
			}
		}
	}()
	t.Cleanup(func() { ws.Close() })
	return l
}

// open sends a ping and returns nil once it is answered, or an error if the socket ends or 20 s
// pass first.
func (l *wireline) open() error {
	if err := l.WriteControl(websocket.PingMessage, nil, time.Now().Add(20*time.Second)); err != nil {
		return err
	}
	select {
	case <-l.pongs:
		return nil
	case err := <-l.ended:
		return err
	case <-time.After(20 * time.Second):
		return errors.New("a ping is not answered")
	}
}

// TestSocketsEndWithTheirKeys checks that a socket opened with a token or a link is closed, with
// the reason, when that token or link is revoked, and that other sockets stay open.
func TestSocketsEndWithTheirKeys(t *testing.T) {
	s := Start(t, server.Config{Store: "memory:", Auth: UsersFile(t)})
	admin := s.CreateToken(t, s.SignIn(t, "ana"), "admin")
	var token, link api.Token
	for body, made := range map[string]*api.Token{`{"name":"ci","role":"viewer"}`: &token, `{"name":"demo"}`: &link} {
		at := "/api/v1/tokens"
		if made == &link {
			at = "/api/v1/links"
		}
		if code, text := s.RequestWithToken(t, admin, http.MethodPost, at, body); code != http.StatusCreated || json.Unmarshal([]byte(text), made) != nil {
			t.Fatal(code, text)
		}
	}
	guest := &CookieJar{}
	if code, text := guest.Get(t, link.URL); code != http.StatusSeeOther || len(guest.All) != 1 {
		t.Fatal(code, text)
	}
	sockets := map[string]*wireline{
		"link":  s.OpenLive(t, http.Header{"Cookie": {guest.All[0].Name + "=" + guest.All[0].Value}}),
		"token": s.OpenLive(t, http.Header{"Authorization": {"Bearer " + token.Secret}}),
		"admin": s.OpenLive(t, http.Header{"Authorization": {"Bearer " + admin}}),
	}
	for _, end := range []struct{ who, id string }{{"link", link.ID}, {"token", token.ID}, {"admin", strings.Split(admin, "_")[1]}} {
		for name, socket := range sockets {
			if err := socket.open(); err != nil {
				t.Errorf("before the end of the %s, that of the %s: %v", end.who, name, err)
			}
		}
		if code, text := s.RequestWithToken(t, admin, http.MethodDelete, "/api/v1/tokens/"+end.id, ""); code != http.StatusOK {
			t.Fatal(code, text)
		}
		var err error
		select {
		case err = <-sockets[end.who].ended:
		case <-time.After(20 * time.Second):
			err = errors.New("nothing")
		}
		if e, ok := errors.AsType[*websocket.CloseError](err); !ok || e.Code != websocket.ClosePolicyViolation || e.Text != "signed out" {
			t.Errorf("the %s was revoked, but its socket returned %v", end.who, err)
		}
		delete(sockets, end.who)
	}
}

// TestActivityOfPeople checks that sign-ins, failed sign-ins, sign-outs and created tokens and
// links are recorded with the user.
func TestActivityOfPeople(t *testing.T) {
	s := Start(t, server.Config{Store: "memory:", Auth: UsersFile(t)})
	(&CookieJar{}).Submit(t, s.Dashboard, "/login", url.Values{"user": {"ana"}, "password": {"wrong"}})
	(&CookieJar{}).Submit(t, s.Dashboard, "/login", url.Values{"user": {"my secret"}, "password": {"wrong"}})
	vera := s.SignIn(t, "vera")
	ana := s.SignIn(t, "ana")
	admin := s.CreateToken(t, ana, "admin")
	_, text := vera.Get(t, s.Dashboard+"/n/default")
	vera.Post(t, s.Dashboard+"/logout", url.Values{"csrf": {FormToken.FindStringSubmatch(text)[1]}})
	_, text = ana.Get(t, s.Dashboard+"/sessions")
	ana.Post(t, s.Dashboard+"/sessions/end", url.Values{"csrf": {FormToken.FindStringSubmatch(text)[1]}, "all": {"ana"}})
	s.RequestWithToken(t, admin, http.MethodDelete, "/api/v1/tokens/"+strings.Split(admin, "_")[1], "")

	again := s.CreateToken(t, s.SignIn(t, "ana"), "viewer")
	_, text = s.RequestWithToken(t, again, http.MethodGet, "/api/v1/activity?group=access", "")
	var all struct{ Events []history.Event }
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		t.Fatal(err, text)
	}
	var told []string
	for _, e := range all.Events {
		if told = append(told, e.Kind+" "+e.Actor+": "+e.Reason); !e.Audited || e.Path != "" {
			t.Errorf("%+v", e)
		}
	}
	if d := cmp.Diff([]string{
		"token-created ana: test (viewer)", "signed-in ana: admin · password · 127.0.0.1", "token-revoked token test of ana: test (admin)", "sign-ins-ended ana: ana",
		"signed-out vera: ", "token-created ana: test (admin)", "signed-in ana: admin · password · 127.0.0.1", "signed-in vera: viewer · password · 127.0.0.1",
		"sign-in-failed dashboard 127.0.0.1: ", "sign-in-failed dashboard 127.0.0.1: ana",
	}, told); d != "" {
		t.Error(d)
	}
	if _, text = s.RequestWithToken(t, again, http.MethodGet, "/api/v1/activity?q=secret", ""); strings.Contains(text, "my secret") {
		t.Error("the activity has the text typed as a user name")
	}
}
