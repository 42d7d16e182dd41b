package token_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/brokertest"
	"mayfly/storage/memory"
	"mayfly/web/auth"
	"mayfly/web/auth/token"
)

// A world is a Registry whose keys are stored by a broker.
type world struct {
	*testing.T
	*token.Registry
	b     *broker.Broker
	leave func()
}

func start(t *testing.T, o token.Options) *world {
	t.Helper()
	o.Logger = slog.New(slog.DiscardHandler)
	w := &world{T: t, Registry: token.New(o), b: open(t, new(memory.Store))}
	w.serve()
	t.Cleanup(w.Close)
	return w
}

func open(t *testing.T, s engine.Store) *broker.Broker {
	t.Helper()
	return brokertest.OpenOn(t, s, broker.Options{}).Broker
}

func (w *world) serve() {
	w.Helper()
	leave, err := w.Serve(w.Context(), w.b)
	if err != nil {
		w.Fatal(err)
	}
	w.leave = leave
	w.Cleanup(leave)
}

func (w *world) token(caller auth.Caller, request token.Request) (token.Key, string) {
	w.Helper()
	k, secret, err := w.CreateToken(w.Context(), caller, "somebody", request)
	if err != nil {
		w.Fatal(err)
	}
	return k, secret
}

func (w *world) link(caller auth.Caller, request token.Request) (token.Key, string) {
	w.Helper()
	k, path, err := w.CreateLink(w.Context(), caller, "somebody", request)
	if err != nil {
		w.Fatal(err)
	}
	return k, path
}

// all returns the keys that an admin can list.
func (w *world) all() []token.Key {
	w.Helper()
	all, err := w.List(ana)
	if err != nil {
		w.Fatal(err)
	}
	return all
}

// kept returns the settings in which the keys are stored.
func (w *world) kept() []engine.Setting {
	w.Helper()
	kept, err := w.b.Settings(w.Context(), "key/")
	if err != nil {
		w.Fatal(err)
	}
	return kept
}

func (w *world) revoke(id string) {
	w.Helper()
	if _, err := w.Revoke(w.Context(), ana, "somebody", id); err != nil {
		w.Fatal(err)
	}
}

// bearing returns a request with a bearer token.
func bearing(secret string) *http.Request {
	r := httptest.NewRequestWithContext(context.Background(), "GET", "/api/v1/entities", nil)
	r.Header.Set("Authorization", "Bearer "+secret)
	return r
}

// refused returns the text of an identity.Refused, or "" for other errors.
func refused(err error) string {
	if e, ok := errors.AsType[*auth.CredentialError](err); ok {
		return e.Text
	}
	return ""
}

var (
	ana = auth.Caller{Name: "ana", Role: auth.Admin, Method: auth.Password}
	ben = auth.Caller{Name: "ben", Role: auth.Operator, Method: auth.Password}
	eva = auth.Caller{Name: "eva", Role: auth.Viewer, Method: auth.OIDC}
)

func TestToken(t *testing.T) {
	w := start(t, token.Options{})
	k, secret := w.token(ben, token.Request{Name: " ci ", Role: auth.Viewer})
	caller, err := w.Tokens().Identify(bearing(secret))
	if err != nil {
		t.Fatal(err)
	}
	if caller.Done == nil {
		t.Error("the caller has no Done channel")
	}
	caller.Done = nil
	if d := cmp.Diff(auth.Caller{Name: "token ci of ben", Role: auth.Viewer, Method: auth.Token, ID: k.ID}, caller); d != "" {
		t.Error(d)
	}
	if !strings.HasPrefix(secret, "mft_"+k.ID+"_") || len(secret) < 40 {
		t.Errorf("got %q", secret)
	}
	// The scheme's case does not matter (RFC 9110 §11.1).
	r := bearing(secret)
	r.Header.Set("Authorization", "bearer  "+secret)
	if _, err := w.Tokens().Identify(r); err != nil {
		t.Error(err)
	}
}

// TestInvalidTokens: anything that is not exactly an issued secret is refused.
func TestInvalidTokens(t *testing.T) {
	w := start(t, token.Options{})
	k, secret := w.token(ana, token.Request{Name: "ci", Role: auth.Admin})
	_, other := w.token(ana, token.Request{Name: "other", Role: auth.Admin})
	_, path := w.link(ana, token.Request{Name: "demo", Namespace: "default"})
	link := strings.TrimPrefix(path, token.LinkPath)
	for name, text := range map[string]string{
		"nothing": "", "its ID": k.ID, "without the rest": "mft_" + k.ID + "_", "cut": secret[:len(secret)-1], "longer": secret + "A",
		"another's rest": secret[:15] + other[15:], "in lower case": strings.ToLower(secret), "large": "mft_" + strings.Repeat("a", 1<<20),
		"a link": link, "a link called a token": "mft_" + link[4:], "an unknown one": "mft_aaaaaaaaaa_AAAAAAAAAAAAAAAAAAAAAAAAAA",
	} {
		if caller, err := w.Tokens().Identify(bearing(text)); refused(err) == "" || caller.IsKnown() {
			t.Errorf("%s: %+v, %v", name, caller, err)
		}
	}
	for name, header := range map[string]string{"none": "", "another scheme": "Basic abc", "SAS": "SharedAccessSignature sr=x"} {
		r := bearing("")
		r.Header.Set("Authorization", header)
		if _, err := w.Tokens().Identify(r); !errors.Is(err, auth.ErrNoCredential) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Stored keys reveal no secret.
	kept, err := w.b.Settings(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range kept {
		for _, secret := range []string{secret, link} {
			if strings.Contains(s.Value, secret[15:]) {
				t.Errorf("%s has a secret", s.Key)
			}
		}
	}
}

func TestInvalidRequests(t *testing.T) {
	w := start(t, token.Options{})
	long := strings.Repeat("é", 101)
	for name, tc := range map[string]struct {
		caller  auth.Caller
		link    bool
		request token.Request
		want    error
	}{
		"without a name":         {ana, false, token.Request{Name: " ", Role: auth.Viewer}, engine.ErrArgument},
		"a long name":            {ana, false, token.Request{Name: long, Role: auth.Viewer}, engine.ErrArgument},
		"a name of two lines":    {ana, false, token.Request{Name: "a\nb", Role: auth.Viewer}, engine.ErrArgument},
		"without a role":         {ana, false, token.Request{Name: "a"}, engine.ErrArgument},
		"of an operator's admin": {ben, false, token.Request{Name: "a", Role: auth.Admin}, engine.ErrNotAllowed},
		"of nobody":              {auth.Caller{}, false, token.Request{Name: "a", Role: auth.Viewer}, engine.ErrNotAllowed},
		"of a link":              {auth.Caller{Name: "x", Role: auth.Viewer, Method: auth.Link, ID: "x"}, false, token.Request{Name: "a", Role: auth.Viewer}, engine.ErrNotAllowed},
		"too short":              {ana, false, token.Request{Name: "a", Role: auth.Viewer, Lifetime: time.Minute - 1}, engine.ErrArgument},
		"back in time":           {ana, false, token.Request{Name: "a", Role: auth.Viewer, Lifetime: -time.Hour}, engine.ErrArgument},
		"too long":               {ana, false, token.Request{Name: "a", Role: auth.Viewer, Lifetime: token.MaxTokenLifetime + 1}, engine.ErrArgument},
		"a link of a month":      {ana, true, token.Request{Name: "a", Namespace: "default", Lifetime: token.MaxLinkLifetime + 1}, engine.ErrArgument},
		"a link of a viewer":     {eva, true, token.Request{Name: "a", Namespace: "default"}, engine.ErrNotAllowed},
		"a link to nowhere":      {ana, true, token.Request{Name: "a"}, engine.ErrArgument},
		"a link elsewhere":       {ana, true, token.Request{Name: "a", Namespace: "default", Page: "//evil.example"}, engine.ErrArgument},
		"a link next door":       {ana, true, token.Request{Name: "a", Namespace: "default", Page: "/n/defaults"}, engine.ErrArgument},
		"a header in a link":     {ana, true, token.Request{Name: "a", Namespace: "default", Page: "/n/default\r\nX: y"}, engine.ErrArgument},
		"a page of a token":      {ana, false, token.Request{Name: "a", Role: auth.Viewer, Page: "/n/default"}, engine.ErrArgument},
		"beyond one's namespace": {auth.Caller{Name: "t", Role: auth.Admin, Method: auth.Token, ID: "x", Namespace: "shop"}, false, token.Request{Name: "a", Role: auth.Viewer}, engine.ErrNotAllowed},
	} {
		try := w.CreateToken
		if tc.link {
			try = w.CreateLink
		}
		if _, _, err := try(t.Context(), tc.caller, "", tc.request); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if all, err := w.List(ana); len(all) != 0 || err != nil {
		t.Error("a key was made", all, err)
	}
}

// TestTokenEnds: a token ends at its deadline, not before, and so do the requests that it let
// in.
func TestTokenEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, token.Options{})
		_, secret := w.token(ana, token.Request{Name: "ci", Role: auth.Admin, Lifetime: time.Hour})
		caller, err := w.Tokens().Identify(bearing(secret))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Until(caller.Expires) - 1)
		synctest.Wait()
		if _, err := w.Tokens().Identify(bearing(secret)); err != nil {
			t.Error("a moment early:", err)
		}
		select {
		case <-caller.Done:
			t.Error("the token ended early")
		default:
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if _, err := w.Tokens().Identify(bearing(secret)); !strings.Contains(refused(err), "expired") {
			t.Error("at the deadline:", err)
		}
		select {
		case <-caller.Done:
		default:
			t.Error("a request that the key authenticated was not ended")
		}
		if all := w.all(); len(all) != 1 {
			t.Error("the list lacks the expired token", all)
		}
		time.Sleep(8 * 24 * time.Hour)
		synctest.Wait()
		if all := w.all(); len(all) != 0 {
			t.Error("an expired token is listed for ever")
		}
		if kept := w.kept(); len(kept) != 0 {
			t.Error("an expired token is kept for ever")
		}
	})
}

// TestRevoked: a revoked token ends at once, with the requests that it let in and all keys
// that were made with it, and stays revoked.
func TestRevoked(t *testing.T) {
	w := start(t, token.Options{})
	k, secret := w.token(ana, token.Request{Name: "ci", Role: auth.Admin})
	parent, err := w.Tokens().Identify(bearing(secret))
	if err != nil {
		t.Fatal(err)
	}
	_, childs := w.token(parent, token.Request{Name: "child", Role: auth.Operator})
	child, err := w.Tokens().Identify(bearing(childs))
	if err != nil {
		t.Fatal(err)
	}
	_, grands := w.token(child, token.Request{Name: "grandchild", Role: auth.Viewer})
	_, others := w.token(ana, token.Request{Name: "other", Role: auth.Viewer})
	w.revoke(k.ID)
	for _, secret := range []string{secret, childs, grands} {
		if _, err := w.Tokens().Identify(bearing(secret)); refused(err) == "" {
			t.Error("the token is still valid", err)
		}
	}
	for _, caller := range []auth.Caller{parent, child} {
		select {
		case <-caller.Done:
		default:
			t.Error("a request that the key authenticated was not ended")
		}
	}
	if _, err := w.Tokens().Identify(bearing(others)); err != nil {
		t.Error(err)
	}
	if _, err := w.Revoke(t.Context(), ana, "", k.ID); !errors.Is(err, engine.ErrNotFound) {
		t.Error("revoked again:", err)
	}
	w.leave()
	w.serve()
	if _, err := w.Tokens().Identify(bearing(secret)); refused(err) == "" {
		t.Error("the token is valid again", err)
	}
	if _, _, err := w.CreateToken(t.Context(), parent, "", token.Request{Name: "late", Role: auth.Viewer}); !errors.Is(err, engine.ErrNotFound) {
		t.Error("with a revoked token:", err)
	}
}

// TestRevokedAsItIsUsed: writing a token's last use does not bring a revoked token back.
func TestRevokedAsItIsUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, token.Options{})
		k, secret := w.token(ana, token.Request{Name: "ci", Role: auth.Admin})
		time.Sleep(2 * time.Minute)
		if _, err := w.Tokens().Identify(bearing(secret)); err != nil {
			t.Fatal(err)
		}
		w.revoke(k.ID)
		time.Sleep(time.Hour)
		synctest.Wait()
		if kept := w.kept(); len(kept) != 0 {
			t.Error("the token is still stored", kept)
		}
	})
}

// TestUsed: the last use of a token is stored rounded down to the minute, and survives a restart.
// An unused token has none.
func TestUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, token.Options{})
		_, secret := w.token(ana, token.Request{Name: "ci", Role: auth.Admin})
		if all := w.all(); !all[0].LastUsed.IsZero() {
			t.Error("an unused token has a last use:", all[0].LastUsed)
		}
		time.Sleep(90 * time.Second)
		at := time.Now().UTC()
		if _, err := w.Tokens().Identify(bearing(secret)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Minute)
		synctest.Wait()
		again := token.New(token.Options{Logger: slog.New(slog.DiscardHandler)})
		leave, err := again.Serve(t.Context(), w.b)
		if err != nil {
			t.Fatal(err)
		}
		defer leave()
		all, err := again.List(ana)
		if err != nil || len(all) != 1 || !all[0].LastUsed.Equal(at.Truncate(time.Minute)) {
			t.Errorf("%+v, used %s", all, at)
		}
	})
}

// TestLastUseIsNotBeforeCreation: a token used in the minute in which it was made has no use before it was
// made, also after a restart.
func TestLastUseIsNotBeforeCreation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, token.Options{})
		time.Sleep(30*time.Second + 5*time.Millisecond)
		made, secret := w.token(ana, token.Request{Name: "ci", Role: auth.Admin})
		time.Sleep(time.Second)
		if _, err := w.Tokens().Identify(bearing(secret)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Minute) // it is written by then
		synctest.Wait()
		again := token.New(token.Options{Logger: slog.New(slog.DiscardHandler)})
		leave, err := again.Serve(t.Context(), w.b)
		if err != nil {
			t.Fatal(err)
		}
		defer leave()
		for _, r := range []*token.Registry{w.Registry, again} {
			all, err := r.List(ana)
			one, none := r.Find(ana, made.ID)
			if err != nil || none != nil || len(all) != 1 || !all[0].LastUsed.Equal(made.Made) || !one.LastUsed.Equal(made.Made) {
				t.Errorf("made %s: %+v, %+v, %v, %v", made.Made, all, one, err, none)
			}
		}
	})
}

// TestRestart: keys and all their properties survive a restart.
func TestRestart(t *testing.T) {
	w := start(t, token.Options{})
	_, secret := w.token(ben, token.Request{Name: "ci", Role: auth.Operator, Namespace: "Shop", Lifetime: time.Hour})
	w.link(ben, token.Request{Name: "demo", Namespace: "shop", Page: "/n/shop/queues?filter=a"})
	was, err := w.List(ana)
	if err != nil {
		t.Fatal(err)
	}
	again := token.New(token.Options{Logger: slog.New(slog.DiscardHandler)})
	if _, err := again.Tokens().Identify(bearing(secret)); !errors.Is(err, engine.ErrBusy) {
		t.Error("before the store is open:", err)
	}
	leave, err := again.Serve(t.Context(), w.b)
	if err != nil {
		t.Fatal(err)
	}
	is, err := again.List(ana)
	if d := cmp.Diff(was, is); d != "" || err != nil {
		t.Error(d, err)
	}
	if caller, err := again.Tokens().Identify(bearing(secret)); err != nil || caller.Namespace != "shop" {
		t.Error(caller, err)
	}
	leave()
	if _, err := again.Tokens().Identify(bearing(secret)); !errors.Is(err, engine.ErrBusy) {
		t.Error("after the store was closed:", err)
	}
	if _, err := again.List(ana); !errors.Is(err, engine.ErrBusy) {
		t.Error(err)
	}
	if _, _, err := again.CreateToken(t.Context(), ana, "", token.Request{Name: "x", Role: auth.Viewer}); !errors.Is(err, engine.ErrBusy) {
		t.Error(err)
	}
}

// TestDamagedKeys: a stored key that cannot be read lets no request in, and breaks
// nothing.
func TestDamagedKeys(t *testing.T) {
	w := start(t, token.Options{})
	_, secret := w.token(ana, token.Request{Name: "ci", Role: auth.Admin})
	w.leave()
	for i, text := range []string{"", "{", `{"kind":"token","role":"root","way":"open"}`, `{"kind":"pass","role":"admin","way":"open"}`, `{"kind":"token","role":"admin","way":"luck"}`, `{"kind":"token","role":"admin","way":"open","sha256":"AAAA"}`} {
		if _, err := w.b.SetSetting(t.Context(), fmt.Sprintf("key/aaaaaaaaa%d", i), text, nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.b.SetSetting(t.Context(), "key/short", "{}", nil); err != nil {
		t.Fatal(err)
	}
	w.serve()
	if all, err := w.List(ana); len(all) != 1 || err != nil {
		t.Error(all, err)
	}
	if _, err := w.Tokens().Identify(bearing(secret)); err != nil {
		t.Error(err)
	}
}

// TestQuota: once MaxKeys keys are stored, no more can be made.
func TestQuota(t *testing.T) {
	w := start(t, token.Options{})
	for i := range token.MaxKeys {
		if _, err := w.b.SetSetting(t.Context(), fmt.Sprintf("key/%010d", i), "", nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := w.CreateToken(t.Context(), ana, "", token.Request{Name: "x", Role: auth.Viewer}); !errors.Is(err, engine.ErrQuota) {
		t.Error(err)
	}
}

// TestQuotaOfOne: a user can make MaxKeysPerUser keys, which include those made with the user's
// tokens.
func TestQuotaOfOne(t *testing.T) {
	w := start(t, token.Options{})
	first, secret := w.token(eva, token.Request{Name: "first", Role: auth.Viewer})
	found, err := w.Tokens().Identify(bearing(secret))
	if err != nil {
		t.Fatal(err)
	}
	var last token.Key
	for i := 1; i < token.MaxKeysPerUser; i++ {
		last, _ = w.token([]auth.Caller{eva, found}[i%2], token.Request{Name: fmt.Sprint(i), Role: auth.Viewer})
	}
	for name, caller := range map[string]auth.Caller{"the maker": eva, "a token": found} {
		if _, _, err := w.CreateToken(t.Context(), caller, "", token.Request{Name: "x", Role: auth.Viewer}); !errors.Is(err, engine.ErrQuota) {
			t.Errorf("%s: %v", name, err)
		}
	}
	namesake := auth.Caller{Name: eva.Name, Role: auth.Viewer, Method: auth.Password}
	for _, caller := range []auth.Caller{ana, namesake} {
		w.token(caller, token.Request{Name: "x", Role: auth.Viewer})
	}
	w.revoke(last.ID)
	w.token(eva, token.Request{Name: "y", Role: auth.Viewer})
	w.revoke(first.ID)
	open := start(t, token.Options{Open: true})
	for i := range token.MaxKeysPerUser + 1 {
		open.token(auth.OpenCaller(), token.Request{Name: fmt.Sprint(i), Role: auth.Viewer})
	}
}

// TestKeyActivity: activity shows who made and revoked a key, and no secret.
func TestKeyActivity(t *testing.T) {
	w := start(t, token.Options{})
	k, secret, err := w.CreateToken(t.Context(), ana, "ana", token.Request{Name: "ci", Role: auth.Operator})
	if err != nil {
		t.Fatal(err)
	}
	with, err := w.Tokens().Identify(bearing(secret))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.CreateLink(t.Context(), with, "token ci of ana", token.Request{Name: "demo", Namespace: "shop"}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Revoke(t.Context(), ana, "eva", k.ID); err != nil {
		t.Fatal(err)
	}
	events, _, err := w.b.Events().After(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range events {
		if e.Audit {
			got = append(got, e.Actor+" "+e.Kind.String()+" "+e.Reason)
		}
		if strings.Contains(e.Reason, secret[15:]) {
			t.Error("a secret is in", e.Reason)
		}
	}
	if d := cmp.Diff([]string{
		"ana token-created ci (operator)", "token ci of ana link-created demo (/n/shop)", "eva token-revoked ci (operator)", "eva link-revoked demo (/n/shop)",
	}, got); d != "" {
		t.Error(d)
	}
}
