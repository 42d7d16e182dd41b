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

	"mayfly/web/auth"
)

// The reasons why a sign-in fails. The provider's explanation is part of the error too, for
// the log; that of ErrDenied is in a *Denial.
var (
	ErrUnavailable = errors.New("the provider did not answer as expected")
	ErrState       = errors.New("the sign-in did not begin in this browser, or has expired")
	ErrDenied      = errors.New("the provider refused the sign-in")
	ErrToken       = errors.New("the provider's claims are not valid")
	ErrNoRole      = errors.New("the user has no role on this server")
)

// A Denial is the provider's refusal of a user, as untrusted text. It is an ErrDenied.
type Denial struct{ Code, Text string }

func (d *Denial) Error() string { return strings.TrimSuffix(d.Code+": "+d.Text, ": ") }

func (d *Denial) Unwrap() error { return ErrDenied }

const (
	requestTimeout = 10 * time.Second // for one answer of the provider
	maxResponse    = 1 << 20          // bytes of an answer
	retryInterval  = time.Second      // between a failed request for the document and the next
	clockSkew      = time.Minute      // by how much the provider's clock may differ
	maxCode        = 4 << 10          // bytes of a code in an address
)

// A Provider signs people in. Make it with New. It is safe for concurrent use.
type Provider struct {
	c          Config
	http       *http.Client
	key        atomic.Pointer[[32]byte] // seals the cookies of sign-ins
	requesting chan struct{}            // held by the call that requests the document

	mu          sync.Mutex
	discovery   *discovery // nil if not found yet; guarded by mu
	lastError   error      // the last failure; guarded by mu
	lastRequest time.Time  // of the last request; guarded by mu

	usedStates map[string]time.Time // finished sign-ins by their state, until they would have expired; guarded by mu
}

// discovery is the content of the provider's document.
type discovery struct {
	provider     *oidc.Provider
	verifier     *oidc.IDTokenVerifier
	oauth        oauth2.Config // without a redirect
	signOutURL   string        // where users sign out; empty if nowhere
	hintVerifier *oidc.IDTokenVerifier
}

// New returns a provider without contacting it. The error states what is wrong with c.
func New(c Config) (*Provider, error) {
	if err := c.complete(); err != nil {
		return nil, err
	}
	p := &Provider{c: c, requesting: make(chan struct{}, 1), usedStates: map[string]time.Time{}}
	p.key.Store(newKey())
	p.http = &http.Client{Transport: limitedTransport{c.Transport}, Timeout: requestTimeout, CheckRedirect: sameHost}
	return p, nil
}

// Title returns the provider's name for people.
func (p *Provider) Title() string { return p.c.Title }

// limitedTransport limits the size of answers.
type limitedTransport struct{ http.RoundTripper }

func (b limitedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	w, err := b.RoundTripper.RoundTrip(r)
	if w != nil {
		w.Body = http.MaxBytesReader(nil, w.Body, maxResponse)
	}
	return w, err
}

// sameHost allows redirects within a host only: requests may contain a secret.
func sameHost(r *http.Request, via []*http.Request) error {
	if first := via[0].URL; r.URL.Host != first.Host || r.URL.Scheme != first.Scheme {
		return errors.New("redirect to another host")
	}
	if len(via) > 3 {
		return errors.New("too many redirects")
	}
	return nil
}

// discover returns the provider's document. If it is not known yet, discover requests it and waits
// no longer than `patience`. For retryInterval after a failed request it returns that failure again.
// The error is ErrUnavailable, or the cause for which ctx ended.
func (p *Provider) discover(ctx context.Context, patience time.Duration) (*discovery, error) {
	asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience) // the result outlives the caller
	defer cancel()
	select {
	case p.requesting <- struct{}{}:
		defer func() { <-p.requesting }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-asking.Done():
		return nil, fmt.Errorf("%w: it did not answer the request for its discovery document in time", ErrUnavailable)
	}
	p.mu.Lock()
	f, failed, at := p.discovery, p.lastError, p.lastRequest
	p.mu.Unlock()
	if f != nil || failed != nil && time.Since(at) < retryInterval {
		return f, failed
	}
	f, err := p.requestDiscovery(asking)
	if err != nil {
		p.c.Logger.Warn("the OpenID provider is unavailable", "issuer", p.c.Issuer, "err", err)
		err = fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if err != nil && patience < requestTimeout && asking.Err() != nil {
		return nil, err // callers with more patience may still succeed
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.discovery, p.lastError, p.lastRequest = f, err, time.Now()
	return f, err
}

func (p *Provider) requestDiscovery(ctx context.Context) (*discovery, error) {
	o, err := oidc.NewProvider(oidc.ClientContext(ctx, p.http), p.c.Issuer)
	if err != nil {
		return nil, err
	}
	var more struct {
		Methods []string `json:"token_endpoint_auth_methods_supported"`
		End     string   `json:"end_session_endpoint"`
	}
	if err := o.Claims(&more); err != nil {
		return nil, err
	}
	at := o.Endpoint()
	var keys struct {
		At string `json:"jwks_uri"`
	}
	if err := o.Claims(&keys); err != nil {
		return nil, err
	}
	for _, a := range []string{at.AuthURL, at.TokenURL, keys.At, cmp.Or(o.UserInfoEndpoint(), at.TokenURL)} { // userinfo is optional
		if !p.isSafeURL(a) {
			return nil, fmt.Errorf("its discovery document has the issuer %q", a)
		}
	}
	at.AuthStyle = oauth2.AuthStyleInHeader
	if p.c.Secret == "" || len(more.Methods) > 0 && !slices.Contains(more.Methods, "client_secret_basic") {
		at.AuthStyle = oauth2.AuthStyleInParams
	}
	if !p.isSafeURL(more.End) {
		more.End = ""
	}
	return &discovery{
		provider: o, signOutURL: more.End,
		verifier:     o.Verifier(&oidc.Config{ClientID: p.c.ClientID, Now: func() time.Time { return time.Now().Add(-clockSkew) }}),
		hintVerifier: o.Verifier(&oidc.Config{ClientID: p.c.ClientID, SkipExpiryCheck: true, InsecureSkipSignatureCheck: true}),
		oauth:        oauth2.Config{ClientID: p.c.ClientID, ClientSecret: p.c.Secret, Endpoint: at, Scopes: p.c.Scopes},
	}, nil
}

// isSafeURL reports whether an address of the document may be used: it must not be less safe than
// the issuer's.
func (p *Provider) isSafeURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http" && strings.HasPrefix(p.c.Issuer, "http:"))
}

// Begin returns the provider's address at which the user signs in, and sets a cookie by which
// Finish recognizes the browser. After the sign-in the provider redirects the browser to `redirect`,
// and User.ReturnTo is `back`. The error is ErrUnavailable.
func (p *Provider) Begin(w http.ResponseWriter, r *http.Request, redirect, back string) (string, error) {
	f, err := p.discover(r.Context(), requestTimeout)
	if err != nil {
		return "", err
	}
	b := newPendingLogin(redirect, back)
	p.saveLogin(w, r, b)
	o := f.oauth
	o.RedirectURL = redirect
	return o.AuthCodeURL(b.State, oidc.Nonce(b.Nonce), oauth2.S256ChallengeOption(b.Verifier)), nil
}

// A User is a user who has signed in.
type User struct {
	Name     string
	Subject  string // the issuer and its identifier of the user, which is never given to another user
	Role     auth.Role
	ReturnTo string // as passed to Begin
	Hint     string // the ID token, by which the provider identifies the user to sign out
}

// Finish returns the user who has come back from the provider, once for each Begin. The error
// is ErrState, ErrUnavailable, ErrDenied, ErrToken or ErrNoRole. ReturnTo is set even with an error,
// except with ErrState.
func (p *Provider) Finish(w http.ResponseWriter, r *http.Request) (User, error) {
	ctx, q := r.Context(), r.URL.Query()
	b, ok := p.takeLogin(w, r)
	if !ok || len(r.URL.RawQuery) > 4*maxCode || subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(b.State)) != 1 || !p.finishOnce(b) {
		return User{}, ErrState
	}
	user := User{ReturnTo: b.ReturnTo}
	if iss := q.Get("iss"); iss != "" && iss != p.c.Issuer { // RFC 9207
		return user, fmt.Errorf("%w: the answer comes from the issuer %q", ErrToken, iss)
	}
	code := q.Get("code")
	if failure := q.Get("error"); failure != "" || code == "" || len(code) > maxCode {
		return user, &Denial{Code: failure, Text: q.Get("error_description")}
	}
	f, err := p.discover(ctx, requestTimeout)
	if err != nil {
		return user, err
	}
	c, hint, err := p.exchangeCode(ctx, f, b, code)
	if err != nil {
		return user, err
	}
	user.Hint = hint
	sub := c.text("sub")
	if sub == "" {
		return user, fmt.Errorf("%w: they have no subject", ErrToken)
	}
	user.Subject = p.subject(sub)
	user.Role = c.role(p.c.RoleClaim, p.c.Roles)
	if user.Name, ok = c.name(p.c.NameClaim); !ok {
		return user, fmt.Errorf("%w: they have no valid user name", ErrToken)
	}
	if user.Role == auth.None {
		return user, ErrNoRole
	}
	return user, nil
}

// exchangeCode exchanges a code for the user's claims and the ID token with them.
func (p *Provider) exchangeCode(ctx context.Context, f *discovery, b pendingLogin, code string) (claims, string, error) {
	ctx = oidc.ClientContext(ctx, p.http)
	o := f.oauth
	o.RedirectURL = b.Redirect
	t, err := o.Exchange(ctx, code, oauth2.VerifierOption(b.Verifier))
	if e, ok := errors.AsType[*oauth2.RetrieveError](err); ok && e.Response.StatusCode < http.StatusInternalServerError {
		return nil, "", &Denial{Code: e.ErrorCode, Text: e.ErrorDescription}
	}
	if err != nil {
		return nil, "", fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	raw, _ := t.Extra("id_token").(string)
	id, err := f.verifier.Verify(ctx, raw)
	switch {
	case err != nil && strings.Contains(err.Error(), "fetching keys"):
		return nil, "", fmt.Errorf("%w: %w", ErrUnavailable, err)
	case err != nil:
		return nil, "", fmt.Errorf("%w: %w", ErrToken, err)
	case subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(b.Nonce)) != 1:
		return nil, "", fmt.Errorf("%w: the ID token has another nonce", ErrToken)
	}
	c := claims{}
	if err := id.Claims(&c); err != nil {
		return nil, "", fmt.Errorf("%w: %w", ErrToken, err)
	}
	if azp, ok := c["azp"]; ok && azp != p.c.ClientID || !ok && len(id.Audience) > 1 {
		return nil, "", fmt.Errorf("%w: the ID token is for another client", ErrToken)
	}
	return c, raw, p.requestUserInfo(ctx, f, t, id.Subject, c)
}

// requestUserInfo requests claims that the ID token lacks from the userinfo endpoint, if there is one:
// some providers give groups only there.
func (p *Provider) requestUserInfo(ctx context.Context, f *discovery, t *oauth2.Token, subject string, c claims) error {
	_, named := c.name(p.c.NameClaim)
	if c.claim(p.c.RoleClaim) != nil && named || f.provider.UserInfoEndpoint() == "" {
		return nil
	}
	info, err := f.provider.UserInfo(ctx, oauth2.StaticTokenSource(t))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if info.Subject != subject { // Core §5.3.2
		return fmt.Errorf("%w: the userinfo is about another subject", ErrToken)
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
