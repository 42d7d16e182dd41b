// Testprovider is an OpenID provider for tests of Mayfly: a real one, built on
// github.com/ory/fosite, that keeps everything in memory and signs in any user without a
// password. The test decides about its claims and faults.
//
// It is a module of its own, so that Mayfly does not depend on its dependencies, and a process
// of its own: its standard output is one line of JSON, {"issuer":"http://…"}, and it ends when
// its standard input does. The arguments are the redirect URIs of its client, which is called
// mayfly and has the secret "a secret for tests".
//
//	GET  /authorize    asks who it is, by a form
//	POST /authorize    believes the field "user"
//	POST /test         changes the behaviour: see trouble
package main

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v3"
	"github.com/ory/fosite"
	"github.com/ory/fosite/compose"
	"github.com/ory/fosite/handler/openid"
	"github.com/ory/fosite/storage"
	"github.com/ory/fosite/token/jwt"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(redirects []string) error {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	p, err := newProvider("http://"+l.Addr().String(), redirects)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: p.handler(), ReadHeaderTimeout: 10 * time.Second}
	go func() { // ends the process
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = server.Close()
	}()
	if err := json.NewEncoder(os.Stdout).Encode(map[string]string{"issuer": p.issuer}); err != nil {
		return err
	}
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// A trouble is the behaviour that a test sets. The zero value is a provider without faults.
type trouble struct {
	Claims map[string]any // in ID tokens, added or replaced; null removes a claim
	Info   map[string]any // what /userinfo returns beside sub; nil means that there is no /userinfo
	Rotate bool           // signs with a new key from now on, and forgets the others
	Stray  bool           // signs with an unpublished key
	Down   bool           // answers everything with 503
	Huge   bool           // answers the document and its keys with endless content
	Issuer string         // the issuer in its document
	Basic  bool           // accepts the client's secret in a header only; else as a field only
	NoEnd  bool           // has no sign-out endpoint
}

type provider struct {
	issuer string
	oauth  fosite.OAuth2Provider
	config *fosite.Config
	client *fosite.DefaultOpenIDConnectClient

	mu   sync.Mutex
	keys []*jose.JSONWebKey // the last one signs; guarded by mu
	is   trouble            // guarded by mu
}

func newProvider(issuer string, redirects []string) (*provider, error) {
	p := &provider{issuer: issuer}
	if err := p.rotate(); err != nil {
		return nil, err
	}
	hashed, err := (&fosite.BCrypt{Config: &fosite.Config{HashCost: 4}}).Hash(context.Background(), []byte("a secret for tests"))
	if err != nil {
		return nil, err
	}
	p.client = &fosite.DefaultOpenIDConnectClient{
		DefaultClient: &fosite.DefaultClient{
			ID: "mayfly", Secret: hashed, RedirectURIs: redirects,
			ResponseTypes: []string{"code"}, GrantTypes: []string{"authorization_code"}, Scopes: []string{"openid", "profile", "email"},
		},
		TokenEndpointAuthMethod: "client_secret_post",
	}
	store := storage.NewMemoryStore()
	store.Clients["mayfly"] = p.client
	secret := make([]byte, 32)
	_, _ = rand.Read(secret)
	p.config = &fosite.Config{
		GlobalSecret: secret, IDTokenIssuer: issuer, IDTokenLifespan: time.Hour, EnforcePKCE: true, MinParameterEntropy: 8,
		RedirectSecureChecker: func(context.Context, *url.URL) bool { return true }, // tests have no TLS
		ScopeStrategy:         fosite.ExactScopeStrategy, SendDebugMessagesToClients: true,
	}
	key := func(context.Context) (any, error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.keys[len(p.keys)-1], nil
	}
	signer := &signer{Signer: &jwt.DefaultSigner{GetPrivateKey: key}, p: p}
	p.oauth = compose.Compose(p.config, store,
		&compose.CommonStrategy{
			CoreStrategy:               compose.NewOAuth2HMACStrategy(p.config),
			OpenIDConnectTokenStrategy: &openid.DefaultStrategy{Signer: signer, Config: p.config},
			Signer:                     signer,
		},
		compose.OAuth2AuthorizeExplicitFactory, compose.OpenIDConnectExplicitFactory, compose.OAuth2PKCEFactory, compose.OAuth2TokenIntrospectionFactory)
	return p, nil
}

// rotate replaces the signing key. The caller holds mu, or is the only one.
func (p *provider) rotate() error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	p.keys = []*jose.JSONWebKey{{Key: key, KeyID: rand.Text(), Algorithm: "RS256", Use: "sig"}}
	return nil
}

// A signer signs the claims of a test, which fosite would not.
type signer struct {
	jwt.Signer
	p *provider
}

func (s *signer) Generate(ctx context.Context, claims jwt.MapClaims, header jwt.Mapper) (string, string, error) {
	s.p.mu.Lock()
	is, key := s.p.is, s.p.keys[len(s.p.keys)-1]
	s.p.mu.Unlock()
	claims = maps.Clone(claims)
	for name, value := range is.Claims {
		if claims[name] = value; value == nil {
			delete(claims, name)
		}
	}
	header.Add("kid", key.KeyID)
	if is.Stray {
		stray, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			return "", "", err
		}
		return (&jwt.DefaultSigner{GetPrivateKey: func(context.Context) (any, error) {
			return &jose.JSONWebKey{Key: stray, KeyID: key.KeyID, Algorithm: "RS256"}, nil
		}}).Generate(ctx, claims, header)
	}
	return s.Signer.Generate(ctx, claims, header)
}

func (p *provider) handler() http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("GET /.well-known/openid-configuration", p.document)
	m.HandleFunc("GET /keys", p.publish)
	m.HandleFunc("/authorize", p.authorize)
	m.HandleFunc("POST /token", p.token)
	m.HandleFunc("GET /userinfo", p.userinfo)
	m.HandleFunc("GET /end", p.end)
	m.HandleFunc("POST /test", p.test)
	m.HandleFunc("GET /favicon.ico", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		down := p.is.Down
		p.mu.Unlock()
		if down && r.URL.Path != "/test" {
			http.Error(w, "out of order", http.StatusServiceUnavailable)
			return
		}
		m.ServeHTTP(w, r)
	})
}

// test sets the provider's behaviour.
func (p *provider) test(w http.ResponseWriter, r *http.Request) {
	var is trouble
	if err := json.NewDecoder(r.Body).Decode(&is); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.is = is
	p.client.TokenEndpointAuthMethod = "client_secret_post"
	if is.Basic {
		p.client.TokenEndpointAuthMethod = "client_secret_basic"
	}
	if is.Rotate {
		if err := p.rotate(); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}
}

func (p *provider) answer(w http.ResponseWriter, v any) {
	p.mu.Lock()
	huge := p.is.Huge
	p.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	for huge {
		if _, err := io.WriteString(w, strings.Repeat(" ", 64<<10)); err != nil {
			return
		}
	}
	_ = json.NewEncoder(w).Encode(v)
}

func (p *provider) document(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	is := p.is
	method := p.client.TokenEndpointAuthMethod
	p.mu.Unlock()
	d := map[string]any{
		"issuer": p.issuer, "authorization_endpoint": p.issuer + "/authorize", "token_endpoint": p.issuer + "/token", "jwks_uri": p.issuer + "/keys",
		"end_session_endpoint": p.issuer + "/end", "token_endpoint_auth_methods_supported": []string{method},
		"response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"}, "id_token_signing_alg_values_supported": []string{"RS256"},
	}
	if is.Issuer != "" {
		d["issuer"] = is.Issuer
	}
	if is.NoEnd {
		delete(d, "end_session_endpoint")
	}
	if is.Info != nil {
		d["userinfo_endpoint"] = p.issuer + "/userinfo"
	}
	p.answer(w, d)
}

func (p *provider) publish(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	var set jose.JSONWebKeySet
	for _, k := range p.keys {
		set.Keys = append(set.Keys, k.Public())
	}
	p.mu.Unlock()
	p.answer(w, set)
}

var page = template.Must(template.New("").Parse(`<!doctype html><html lang="en"><title>Who are you?</title>
<form method="post" action="/authorize?{{.}}"><label>User <input id="user" name="user" autofocus></label> <button id="go">Sign in</button> <button name="no" value="1">No</button></form>`))

func (p *provider) authorize(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	ask, err := p.oauth.NewAuthorizeRequest(ctx, r)
	if err != nil {
		p.oauth.WriteAuthorizeError(ctx, w, ask, err)
		return
	}
	if r.Method != http.MethodPost {
		if err := page.Execute(w, template.URL(r.URL.RawQuery)); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		return
	}
	user := r.PostFormValue("user")
	if user == "" || r.PostFormValue("no") != "" {
		p.oauth.WriteAuthorizeError(ctx, w, ask, fosite.ErrAccessDenied.WithHint("<b>No</b> is no."))
		return
	}
	for _, scope := range ask.GetRequestedScopes() {
		ask.GrantScope(scope)
	}
	now := time.Now().UTC()
	answer, err := p.oauth.NewAuthorizeResponse(ctx, ask, &openid.DefaultSession{
		Claims:  &jwt.IDTokenClaims{Subject: "id-" + user, RequestedAt: now, AuthTime: now, Extra: map[string]any{"preferred_username": user}},
		Headers: &jwt.Headers{}, Subject: "id-" + user, Username: user,
	})
	if err != nil {
		p.oauth.WriteAuthorizeError(ctx, w, ask, err)
		return
	}
	p.oauth.WriteAuthorizeResponse(ctx, w, ask, answer)
}

func (p *provider) token(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	ask, err := p.oauth.NewAccessRequest(ctx, r, openid.NewDefaultSession())
	if err != nil {
		p.oauth.WriteAccessError(ctx, w, ask, err)
		return
	}
	answer, err := p.oauth.NewAccessResponse(ctx, ask)
	if err != nil {
		p.oauth.WriteAccessError(ctx, w, ask, err)
		return
	}
	p.oauth.WriteAccessResponse(ctx, w, ask, answer)
}

func (p *provider) userinfo(w http.ResponseWriter, r *http.Request) {
	_, ask, err := p.oauth.IntrospectToken(r.Context(), fosite.AccessTokenFromRequest(r), fosite.AccessToken, openid.NewDefaultSession())
	if err != nil {
		http.Error(w, "who asks?", http.StatusUnauthorized)
		return
	}
	out := map[string]any{"sub": ask.GetSession().GetSubject()}
	p.mu.Lock()
	maps.Copy(out, p.is.Info)
	p.mu.Unlock()
	p.answer(w, out)
}

// end serves the end-session endpoint (RP-initiated logout). The page shows the user of the
// id_token_hint, or "Who are you?" without one, and links back only to the host and path of a
// registered redirect URI; the port may differ (RFC 8252 §7.3).
func (p *provider) end(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	to, err := url.Parse(q.Get("post_logout_redirect_uri"))
	known := slices.ContainsFunc(p.client.RedirectURIs, func(uri string) bool {
		u, err := url.Parse(uri)
		return err == nil && to != nil && u.Hostname() == to.Hostname() && u.Path == to.Path
	})
	subject := "Who are you?"
	if q.Has("id_token_hint") {
		subject = p.subject(q.Get("id_token_hint"))
	}
	if err != nil || q.Get("client_id") != "mayfly" || !known || subject == "" {
		http.Error(w, "who has signed out of what?", http.StatusBadRequest)
		return
	}
	to.RawQuery = url.Values{"state": {q.Get("state")}}.Encode()
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprintf(w, `<!doctype html><html lang="en"><title>Signed out</title><p>%s</p><a href="%s">Back</a></html>`, template.HTMLEscapeString(subject), template.HTMLEscapeString(to.String()))
}

// subject returns the user of an ID token of this provider, or "" if it is not one.
func (p *provider) subject(token string) string {
	t, err := jose.ParseSigned(token)
	if err != nil {
		return ""
	}
	p.mu.Lock()
	key := p.keys[len(p.keys)-1].Public()
	p.mu.Unlock()
	raw, err := t.Verify(key)
	if err != nil {
		return ""
	}
	var claims struct {
		Subject string `json:"sub"`
	}
	if err := json.Unmarshal(raw, &claims); err != nil {
		return ""
	}
	return claims.Subject
}
