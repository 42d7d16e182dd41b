package oidc

import (
	"cmp"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"mayfly/web/identity"
)

// Why a sign-in comes to nothing. What the provider had to say is in the error too, for
// the log; of ErrDenied it is in a *Denial.
var (
	ErrDown   = errors.New("the provider does not answer as it should")
	ErrState  = errors.New("the sign-in was not begun in this browser, or too long ago")
	ErrDenied = errors.New("the provider refuses it")
	ErrToken  = errors.New("what the provider says of somebody cannot be trusted")
	ErrNoRole = errors.New("the provider knows them, but they have no role here")
)

// A Denial is what a provider says when it refuses somebody: text of a stranger. It is
// an ErrDenied.
type Denial struct{ Code, Text string }

func (d *Denial) Error() string { return strings.TrimSuffix(d.Code+": "+d.Text, ": ") }

func (d *Denial) Unwrap() error { return ErrDenied }

const (
	longest    = 10 * time.Second // for one answer of the provider
	mostAnswer = 1 << 20          // bytes of one
	restFor    = time.Second      // after the document could not be had, before it is asked for again
	skew       = time.Minute      // by how much the provider's clock may differ
	mostCode   = 4 << 10          // bytes of what comes back in an address
)

// A Provider signs people in. Make it with New. It is safe for concurrent use.
type Provider struct {
	c    Config
	http *http.Client
	key  atomic.Pointer[[32]byte] // seals what browsers keep
	turn chan struct{}            // held by who asks for the document

	mu     sync.Mutex
	found  *found    // nil: not yet; guarded by mu
	failed error     // the last time; guarded by mu
	at     time.Time // of that; guarded by mu

	used map[string]time.Time // sign-ins that came to their end, by their state, until they would have been over; guarded by mu
}

// found is what the provider's document says.
type found struct {
	provider *oidc.Provider
	verifier *oidc.IDTokenVerifier
	oauth    oauth2.Config // without a redirect
	end      string        // where people sign out; empty: nowhere
	hints    *oidc.IDTokenVerifier
}

// New is a provider that nothing was asked of yet. The error says what is wrong with c.
func New(c Config) (*Provider, error) {
	if err := c.complete(); err != nil {
		return nil, err
	}
	p := &Provider{c: c, turn: make(chan struct{}, 1), used: map[string]time.Time{}}
	p.key.Store(newKey())
	p.http = &http.Client{Transport: bounded{c.Transport}, Timeout: longest, CheckRedirect: near}
	return p, nil
}

// Title is what people know the provider by.
func (p *Provider) Title() string { return p.c.Title }

// bounded cuts answers off.
type bounded struct{ http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	w, err := b.RoundTripper.RoundTrip(r)
	if w != nil {
		w.Body = http.MaxBytesReader(nil, w.Body, mostAnswer)
	}
	return w, err //nolint:wrapcheck // it only passes it on
}

// near allows redirects within a host: what is sent may be a secret.
func near(r *http.Request, via []*http.Request) error {
	if first := via[0].URL; r.URL.Host != first.Host || r.URL.Scheme != first.Scheme {
		return errors.New("it leads to another host")
	}
	if len(via) > 3 {
		return errors.New("it leads round and round")
	}
	return nil
}

// find asks for the provider's document, unless it is known, for no longer than patience.
func (p *Provider) find(ctx context.Context, patience time.Duration) (*found, error) {
	asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience) // what it finds outlives who asks
	defer cancel()
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-asking.Done():
		return nil, fmt.Errorf("%w: it has been asked for its document, and says nothing", ErrDown)
	}
	p.mu.Lock()
	f, failed, at := p.found, p.failed, p.at
	p.mu.Unlock()
	if f != nil || failed != nil && time.Since(at) < restFor {
		return f, failed
	}
	f, err := p.ask(asking)
	if err != nil {
		p.c.Logger.Warn("the OpenID provider cannot be used now", "issuer", p.c.Issuer, "error", err)
		err = fmt.Errorf("%w: %w", ErrDown, err)
	}
	if err != nil && patience < longest && asking.Err() != nil {
		return nil, err // says nothing of those who have longer
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.found, p.failed, p.at = f, err, time.Now()
	return f, err
}

func (p *Provider) ask(ctx context.Context) (*found, error) {
	o, err := oidc.NewProvider(oidc.ClientContext(ctx, p.http), p.c.Issuer)
	if err != nil {
		return nil, err //nolint:wrapcheck // it says what it is about
	}
	var more struct {
		Methods []string `json:"token_endpoint_auth_methods_supported"`
		End     string   `json:"end_session_endpoint"`
	}
	if err := o.Claims(&more); err != nil {
		return nil, err //nolint:wrapcheck // it says what it is about
	}
	at := o.Endpoint()
	var keys struct {
		At string `json:"jwks_uri"`
	}
	if err := o.Claims(&keys); err != nil {
		return nil, err //nolint:wrapcheck // it says what it is about
	}
	for _, a := range []string{at.AuthURL, at.TokenURL, keys.At, cmp.Or(o.UserInfoEndpoint(), at.TokenURL)} { // there need be no userinfo
		if !p.usable(a) {
			return nil, fmt.Errorf("its document has the address %q", a)
		}
	}
	at.AuthStyle = oauth2.AuthStyleInHeader
	if p.c.Secret == "" || len(more.Methods) > 0 && !slices.Contains(more.Methods, "client_secret_basic") {
		at.AuthStyle = oauth2.AuthStyleInParams
	}
	if !p.usable(more.End) {
		more.End = ""
	}
	return &found{
		provider: o, end: more.End,
		verifier: o.Verifier(&oidc.Config{ClientID: p.c.ClientID, Now: func() time.Time { return time.Now().Add(-skew) }}),
		hints:    o.Verifier(&oidc.Config{ClientID: p.c.ClientID, SkipExpiryCheck: true, InsecureSkipSignatureCheck: true}),
		oauth:    oauth2.Config{ClientID: p.c.ClientID, ClientSecret: p.c.Secret, Endpoint: at, Scopes: p.c.Scopes},
	}, nil
}

// usable tells whether an address of the document is one to go to: no less safe than
// the issuer's.
func (p *Provider) usable(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http" && strings.HasPrefix(p.c.Issuer, "http:"))
}

// Begin is where the provider asks somebody who he is, and leaves a cookie in the
// browser by which Finish knows it again. The provider is to send it back to redirect;
// back is where it was to go. The error is ErrDown.
func (p *Provider) Begin(w http.ResponseWriter, r *http.Request, redirect, back string) (string, error) {
	f, err := p.find(r.Context(), longest)
	if err != nil {
		return "", err
	}
	b := newBegun(redirect, back)
	p.leave(w, r, b)
	o := f.oauth
	o.RedirectURL = redirect
	return o.AuthCodeURL(b.State, oidc.Nonce(b.Nonce), oauth2.S256ChallengeOption(b.Verifier)), nil
}

// A Person is who has signed in.
type Person struct {
	Name    string
	Subject string // what the issuer knows them by, and the issuer; nobody else is it, now or later
	Role    identity.Role
	Back    string // as Begin was told
	Hint    string // by which the provider knows whom to sign out: their ID token
}

// Finish says who has come back, once for each Begin. The error is ErrState, ErrDown,
// ErrDenied, ErrToken or ErrNoRole; Back of the person is known where the state was.
func (p *Provider) Finish(w http.ResponseWriter, r *http.Request) (Person, error) {
	ctx, q := r.Context(), r.URL.Query()
	b, ok := p.take(w, r)
	if !ok || len(r.URL.RawQuery) > 4*mostCode || subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(b.State)) != 1 || !p.ends(b) {
		return Person{}, ErrState
	}
	who := Person{Back: b.Back}
	if iss := q.Get("iss"); iss != "" && iss != p.c.Issuer { // RFC 9207
		return who, fmt.Errorf("%w: the answer is of %q", ErrToken, iss)
	}
	code := q.Get("code")
	if said := q.Get("error"); said != "" || code == "" || len(code) > mostCode {
		return who, &Denial{Code: said, Text: q.Get("error_description")}
	}
	f, err := p.find(ctx, longest)
	if err != nil {
		return who, err
	}
	c, hint, err := p.exchange(ctx, f, b, code)
	if err != nil {
		return who, err
	}
	who.Hint = hint
	sub := c.text("sub")
	if sub == "" {
		return who, fmt.Errorf("%w: it does not say who they are", ErrToken)
	}
	who.Subject = p.subject(sub)
	who.Role = c.role(p.c.RoleClaim, p.c.Roles)
	if who.Name, ok = c.name(p.c.NameClaim); !ok {
		return who, fmt.Errorf("%w: it does not say what they are called", ErrToken)
	}
	if who.Role == identity.None {
		return who, ErrNoRole
	}
	return who, nil
}

// exchange changes a code for what the provider says of who has signed in, and the ID
// token that says it.
func (p *Provider) exchange(ctx context.Context, f *found, b begun, code string) (claims, string, error) {
	ctx = oidc.ClientContext(ctx, p.http)
	o := f.oauth
	o.RedirectURL = b.Redirect
	t, err := o.Exchange(ctx, code, oauth2.VerifierOption(b.Verifier))
	if e, ok := errors.AsType[*oauth2.RetrieveError](err); ok && e.Response.StatusCode < http.StatusInternalServerError {
		return nil, "", &Denial{Code: e.ErrorCode, Text: e.ErrorDescription}
	}
	if err != nil {
		return nil, "", fmt.Errorf("%w: %w", ErrDown, err)
	}
	raw, _ := t.Extra("id_token").(string)
	id, err := f.verifier.Verify(ctx, raw)
	switch {
	case err != nil && strings.Contains(err.Error(), "fetching keys"):
		return nil, "", fmt.Errorf("%w: %w", ErrDown, err)
	case err != nil:
		return nil, "", fmt.Errorf("%w: %w", ErrToken, err)
	case subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(b.Nonce)) != 1:
		return nil, "", fmt.Errorf("%w: its nonce is another", ErrToken)
	}
	c := claims{}
	if err := id.Claims(&c); err != nil {
		return nil, "", fmt.Errorf("%w: %w", ErrToken, err)
	}
	if azp, ok := c["azp"]; ok && azp != p.c.ClientID || !ok && len(id.Audience) > 1 {
		return nil, "", fmt.Errorf("%w: it is for another client", ErrToken)
	}
	return c, raw, p.inquire(ctx, f, t, id.Subject, c)
}

// inquire asks for claims that the ID token does not have, where there is somewhere to
// ask: some providers tell groups there alone.
func (p *Provider) inquire(ctx context.Context, f *found, t *oauth2.Token, subject string, c claims) error {
	_, named := c.name(p.c.NameClaim)
	if c.at(p.c.RoleClaim) != nil && named || f.provider.UserInfoEndpoint() == "" {
		return nil
	}
	info, err := f.provider.UserInfo(ctx, oauth2.StaticTokenSource(t))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDown, err)
	}
	if info.Subject != subject { // Core §5.3.2
		return fmt.Errorf("%w: it tells of somebody else", ErrToken)
	}
	more := claims{}
	if err := info.Claims(&more); err != nil {
		return fmt.Errorf("%w: %w", ErrToken, err)
	}
	for name, value := range more {
		if _, ok := c[name]; !ok {
			c[name] = value
		}
	}
	return nil
}
