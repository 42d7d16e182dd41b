package keys_test

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
	"mayfly/storage/memory"
	"mayfly/web/identity"
	"mayfly/web/keys"
)

// A world is a ring that is served by a broker.
type world struct {
	*testing.T
	*keys.Ring
	b     *broker.Broker
	leave func()
}

func start(t *testing.T, o keys.Options) *world {
	t.Helper()
	o.Logger = slog.New(slog.DiscardHandler)
	w := &world{T: t, Ring: keys.New(o), b: open(t, new(memory.Store))}
	w.serve()
	t.Cleanup(w.Close)
	return w
}

func open(t *testing.T, s engine.Store) *broker.Broker {
	t.Helper()
	b, err := broker.Open(t.Context(), func(context.Context) (engine.Store, error) { return s, nil }, broker.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
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

func (w *world) token(who identity.Who, wish keys.Wish) (keys.Key, string) {
	w.Helper()
	k, secret, err := w.MakeToken(w.Context(), who, "somebody", wish)
	if err != nil {
		w.Fatal(err)
	}
	return k, secret
}

func (w *world) link(who identity.Who, wish keys.Wish) (keys.Key, string) {
	w.Helper()
	k, path, err := w.MakeLink(w.Context(), who, "somebody", wish)
	if err != nil {
		w.Fatal(err)
	}
	return k, path
}

// all are the keys that an admin is told of.
func (w *world) all() []keys.Key {
	w.Helper()
	all, err := w.List(ana)
	if err != nil {
		w.Fatal(err)
	}
	return all
}

// kept are the settings that they are.
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

// bearing is a request with a bearer token.
func bearing(secret string) *http.Request {
	r := httptest.NewRequestWithContext(context.Background(), "GET", "/api/v1/entities", nil)
	r.Header.Set("Authorization", "Bearer "+secret)
	return r
}

// refused is what an identity.Refused says; empty: it is none.
func refused(err error) string {
	if e, ok := errors.AsType[*identity.Refused](err); ok {
		return e.Text
	}
	return ""
}

var (
	ana = identity.Who{Name: "ana", Role: identity.Admin, Way: identity.Password}
	ben = identity.Who{Name: "ben", Role: identity.Operator, Way: identity.Password}
	eva = identity.Who{Name: "eva", Role: identity.Viewer, Way: identity.OIDC}
)

func TestToken(t *testing.T) {
	w := start(t, keys.Options{})
	k, secret := w.token(ben, keys.Wish{Name: " ci ", Role: identity.Viewer})
	who, err := w.Tokens().Identify(bearing(secret))
	if err != nil {
		t.Fatal(err)
	}
	if who.Over == nil {
		t.Error("nothing ends what it lets in")
	}
	who.Over = nil
	if d := cmp.Diff(identity.Who{Name: "token ci of ben", Role: identity.Viewer, Way: identity.Token, ID: k.ID}, who); d != "" {
		t.Error(d)
	}
	if !strings.HasPrefix(secret, "mft_"+k.ID+"_") || len(secret) < 40 {
		t.Errorf("it is %q", secret)
	}
	// The scheme's case does not matter (RFC 9110 §11.1).
	r := bearing(secret)
	r.Header.Set("Authorization", "bearer  "+secret)
	if _, err := w.Tokens().Identify(r); err != nil {
		t.Error(err)
	}
}

// TestWhatIsNoToken: whatever is not exactly a secret that was told lets nobody in.
func TestWhatIsNoToken(t *testing.T) {
	w := start(t, keys.Options{})
	k, secret := w.token(ana, keys.Wish{Name: "ci", Role: identity.Admin})
	_, other := w.token(ana, keys.Wish{Name: "other", Role: identity.Admin})
	_, path := w.link(ana, keys.Wish{Name: "demo", Namespace: "default"})
	link := strings.TrimPrefix(path, keys.LinkPath)
	for name, text := range map[string]string{
		"nothing": "", "its ID": k.ID, "without the rest": "mft_" + k.ID + "_", "cut": secret[:len(secret)-1], "longer": secret + "A",
		"another's rest": secret[:15] + other[15:], "in lower case": strings.ToLower(secret), "large": "mft_" + strings.Repeat("a", 1<<20),
		"a link": link, "a link called a token": "mft_" + link[4:], "an unknown one": "mft_aaaaaaaaaa_AAAAAAAAAAAAAAAAAAAAAAAAAA",
	} {
		if who, err := w.Tokens().Identify(bearing(text)); refused(err) == "" || who.Known() {
			t.Errorf("%s: %+v, %v", name, who, err)
		}
	}
	for name, header := range map[string]string{"none": "", "another scheme": "Basic abc", "SAS": "SharedAccessSignature sr=x"} {
		r := bearing("")
		r.Header.Set("Authorization", header)
		if _, err := w.Tokens().Identify(r); !errors.Is(err, identity.ErrNone) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// What is kept gives nothing away.
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

func TestWhatCannotBeMade(t *testing.T) {
	w := start(t, keys.Options{})
	long := strings.Repeat("é", 101)
	for name, tc := range map[string]struct {
		who  identity.Who
		link bool
		wish keys.Wish
		want error
	}{
		"without a name":         {ana, false, keys.Wish{Name: " ", Role: identity.Viewer}, engine.ErrArgument},
		"a long name":            {ana, false, keys.Wish{Name: long, Role: identity.Viewer}, engine.ErrArgument},
		"a name of two lines":    {ana, false, keys.Wish{Name: "a\nb", Role: identity.Viewer}, engine.ErrArgument},
		"without a role":         {ana, false, keys.Wish{Name: "a"}, engine.ErrArgument},
		"of an operator's admin": {ben, false, keys.Wish{Name: "a", Role: identity.Admin}, engine.ErrNotAllowed},
		"of nobody":              {identity.Who{}, false, keys.Wish{Name: "a", Role: identity.Viewer}, engine.ErrNotAllowed},
		"of a link":              {identity.Who{Name: "x", Role: identity.Viewer, Way: identity.Link, ID: "x"}, false, keys.Wish{Name: "a", Role: identity.Viewer}, engine.ErrNotAllowed},
		"too short":              {ana, false, keys.Wish{Name: "a", Role: identity.Viewer, For: time.Minute - 1}, engine.ErrArgument},
		"back in time":           {ana, false, keys.Wish{Name: "a", Role: identity.Viewer, For: -time.Hour}, engine.ErrArgument},
		"too long":               {ana, false, keys.Wish{Name: "a", Role: identity.Viewer, For: keys.MostFor + 1}, engine.ErrArgument},
		"a link of a month":      {ana, true, keys.Wish{Name: "a", Namespace: "default", For: keys.MostLinkFor + 1}, engine.ErrArgument},
		"a link of a viewer":     {eva, true, keys.Wish{Name: "a", Namespace: "default"}, engine.ErrNotAllowed},
		"a link to nowhere":      {ana, true, keys.Wish{Name: "a"}, engine.ErrArgument},
		"a link elsewhere":       {ana, true, keys.Wish{Name: "a", Namespace: "default", Page: "//evil.example"}, engine.ErrArgument},
		"a link next door":       {ana, true, keys.Wish{Name: "a", Namespace: "default", Page: "/n/defaults"}, engine.ErrArgument},
		"a header in a link":     {ana, true, keys.Wish{Name: "a", Namespace: "default", Page: "/n/default\r\nX: y"}, engine.ErrArgument},
		"a page of a token":      {ana, false, keys.Wish{Name: "a", Role: identity.Viewer, Page: "/n/default"}, engine.ErrArgument},
		"beyond one's namespace": {identity.Who{Name: "t", Role: identity.Admin, Way: identity.Token, ID: "x", Within: "shop"}, false, keys.Wish{Name: "a", Role: identity.Viewer}, engine.ErrNotAllowed},
	} {
		try := w.MakeToken
		if tc.link {
			try = w.MakeLink
		}
		if _, _, err := try(t.Context(), tc.who, "", tc.wish); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if all, err := w.List(ana); len(all) != 0 || err != nil {
		t.Error("something was made", all, err)
	}
}

// TestTokenEnds: at its deadline a token is over, not before, and what it let in is too.
func TestTokenEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, keys.Options{})
		_, secret := w.token(ana, keys.Wish{Name: "ci", Role: identity.Admin, For: time.Hour})
		who, err := w.Tokens().Identify(bearing(secret))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Until(who.Until) - 1)
		synctest.Wait()
		if _, err := w.Tokens().Identify(bearing(secret)); err != nil {
			t.Error("a moment early:", err)
		}
		select {
		case <-who.Over:
			t.Error("it was over early")
		default:
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if _, err := w.Tokens().Identify(bearing(secret)); !strings.Contains(refused(err), "expired") {
			t.Error("on the dot:", err)
		}
		select {
		case <-who.Over:
		default:
			t.Error("what it let in goes on")
		}
		if all := w.all(); len(all) != 1 {
			t.Error("that it is over is not to be seen", all)
		}
		time.Sleep(8 * 24 * time.Hour)
		synctest.Wait()
		if all := w.all(); len(all) != 0 {
			t.Error("it is there for ever")
		}
		if kept := w.kept(); len(kept) != 0 {
			t.Error("it is kept for ever")
		}
	})
}

// TestRevoked: a token that is revoked is over at once, with what it let in and all
// that was made with it, and stays so.
func TestRevoked(t *testing.T) {
	w := start(t, keys.Options{})
	k, secret := w.token(ana, keys.Wish{Name: "ci", Role: identity.Admin})
	parent, err := w.Tokens().Identify(bearing(secret))
	if err != nil {
		t.Fatal(err)
	}
	_, childs := w.token(parent, keys.Wish{Name: "child", Role: identity.Operator})
	child, err := w.Tokens().Identify(bearing(childs))
	if err != nil {
		t.Fatal(err)
	}
	_, grands := w.token(child, keys.Wish{Name: "grandchild", Role: identity.Viewer})
	_, others := w.token(ana, keys.Wish{Name: "other", Role: identity.Viewer})
	w.revoke(k.ID)
	for _, secret := range []string{secret, childs, grands} {
		if _, err := w.Tokens().Identify(bearing(secret)); refused(err) == "" {
			t.Error("it is still good", err)
		}
	}
	for _, who := range []identity.Who{parent, child} {
		select {
		case <-who.Over:
		default:
			t.Error("what it let in goes on")
		}
	}
	if _, err := w.Tokens().Identify(bearing(others)); err != nil {
		t.Error(err)
	}
	if _, err := w.Revoke(t.Context(), ana, "", k.ID); !errors.Is(err, engine.ErrNotFound) {
		t.Error("again:", err)
	}
	w.leave()
	w.serve()
	if _, err := w.Tokens().Identify(bearing(secret)); refused(err) == "" {
		t.Error("it is good again", err)
	}
	if _, _, err := w.MakeToken(t.Context(), parent, "", keys.Wish{Name: "late", Role: identity.Viewer}); !errors.Is(err, engine.ErrNotFound) {
		t.Error("with what was revoked:", err)
	}
}

// TestRevokedAsItIsUsed: writing when a token was used does not bring it back.
func TestRevokedAsItIsUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, keys.Options{})
		k, secret := w.token(ana, keys.Wish{Name: "ci", Role: identity.Admin})
		time.Sleep(2 * time.Minute)
		if _, err := w.Tokens().Identify(bearing(secret)); err != nil {
			t.Fatal(err)
		}
		w.revoke(k.ID)
		time.Sleep(time.Hour)
		synctest.Wait()
		if kept := w.kept(); len(kept) != 0 {
			t.Error("it is kept", kept)
		}
	})
}

// TestUsed: when a token was used the last time is known to the minute, also after a
// restart.
func TestUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, keys.Options{})
		_, secret := w.token(ana, keys.Wish{Name: "ci", Role: identity.Admin})
		if all := w.all(); !all[0].Used.IsZero() {
			t.Error("it was never used", all[0].Used)
		}
		time.Sleep(90 * time.Second)
		at := time.Now().UTC()
		if _, err := w.Tokens().Identify(bearing(secret)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Minute)
		synctest.Wait()
		again := keys.New(keys.Options{Logger: slog.New(slog.DiscardHandler)})
		leave, err := again.Serve(t.Context(), w.b)
		if err != nil {
			t.Fatal(err)
		}
		defer leave()
		all, err := again.List(ana)
		if err != nil || len(all) != 1 || !all[0].Used.Equal(at.Truncate(time.Minute)) {
			t.Errorf("%+v, used %s", all, at)
		}
	})
}

// TestUsedOnceMade: a token that is used in the minute in which it was made was not used
// before, also after a restart.
func TestUsedOnceMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, keys.Options{})
		time.Sleep(30*time.Second + 5*time.Millisecond)
		made, secret := w.token(ana, keys.Wish{Name: "ci", Role: identity.Admin})
		time.Sleep(time.Second)
		if _, err := w.Tokens().Identify(bearing(secret)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Minute) // it is written
		synctest.Wait()
		again := keys.New(keys.Options{Logger: slog.New(slog.DiscardHandler)})
		leave, err := again.Serve(t.Context(), w.b)
		if err != nil {
			t.Fatal(err)
		}
		defer leave()
		for _, r := range []*keys.Ring{w.Ring, again} {
			all, err := r.List(ana)
			one, none := r.Find(ana, made.ID)
			if err != nil || none != nil || len(all) != 1 || !all[0].Used.Equal(made.Made) || !one.Used.Equal(made.Made) {
				t.Errorf("made %s: %+v, %+v, %v, %v", made.Made, all, one, err, none)
			}
		}
	})
}

// TestRestart: keys are there again, with all that is known of them.
func TestRestart(t *testing.T) {
	w := start(t, keys.Options{})
	_, secret := w.token(ben, keys.Wish{Name: "ci", Role: identity.Operator, Namespace: "Shop", For: time.Hour})
	w.link(ben, keys.Wish{Name: "demo", Namespace: "shop", Page: "/n/shop/queues?filter=a"})
	was, err := w.List(ana)
	if err != nil {
		t.Fatal(err)
	}
	again := keys.New(keys.Options{Logger: slog.New(slog.DiscardHandler)})
	if _, err := again.Tokens().Identify(bearing(secret)); !errors.Is(err, engine.ErrBusy) {
		t.Error("before it serves:", err)
	}
	leave, err := again.Serve(t.Context(), w.b)
	if err != nil {
		t.Fatal(err)
	}
	is, err := again.List(ana)
	if d := cmp.Diff(was, is); d != "" || err != nil {
		t.Error(d, err)
	}
	if who, err := again.Tokens().Identify(bearing(secret)); err != nil || who.Within != "shop" {
		t.Error(who, err)
	}
	leave()
	if _, err := again.Tokens().Identify(bearing(secret)); !errors.Is(err, engine.ErrBusy) {
		t.Error("after it served:", err)
	}
	if _, err := again.List(ana); !errors.Is(err, engine.ErrBusy) {
		t.Error(err)
	}
	if _, _, err := again.MakeToken(t.Context(), ana, "", keys.Wish{Name: "x", Role: identity.Viewer}); !errors.Is(err, engine.ErrBusy) {
		t.Error(err)
	}
}

// TestWhatIsKeptWrongly: a key that cannot be read lets nobody in, and breaks nothing.
func TestWhatIsKeptWrongly(t *testing.T) {
	w := start(t, keys.Options{})
	_, secret := w.token(ana, keys.Wish{Name: "ci", Role: identity.Admin})
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

// TestQuota: there is an end to keys.
func TestQuota(t *testing.T) {
	w := start(t, keys.Options{})
	for i := range keys.MostKeys {
		if _, err := w.b.SetSetting(t.Context(), fmt.Sprintf("key/%010d", i), "", nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := w.MakeToken(t.Context(), ana, "", keys.Wish{Name: "x", Role: identity.Viewer}); !errors.Is(err, engine.ErrQuota) {
		t.Error(err)
	}
}

// TestQuotaOfOne: nobody alone uses up what there may be, with tokens' tokens neither.
func TestQuotaOfOne(t *testing.T) {
	w := start(t, keys.Options{})
	first, secret := w.token(eva, keys.Wish{Name: "first", Role: identity.Viewer})
	token, err := w.Tokens().Identify(bearing(secret))
	if err != nil {
		t.Fatal(err)
	}
	var last keys.Key
	for i := 1; i < keys.MostOfOne; i++ {
		last, _ = w.token([]identity.Who{eva, token}[i%2], keys.Wish{Name: fmt.Sprint(i), Role: identity.Viewer})
	}
	for name, who := range map[string]identity.Who{"the maker": eva, "a token": token} {
		if _, _, err := w.MakeToken(t.Context(), who, "", keys.Wish{Name: "x", Role: identity.Viewer}); !errors.Is(err, engine.ErrQuota) {
			t.Errorf("%s: %v", name, err)
		}
	}
	namesake := identity.Who{Name: eva.Name, Role: identity.Viewer, Way: identity.Password}
	for _, who := range []identity.Who{ana, namesake} {
		w.token(who, keys.Wish{Name: "x", Role: identity.Viewer})
	}
	w.revoke(last.ID)
	w.token(eva, keys.Wish{Name: "y", Role: identity.Viewer})
	w.revoke(first.ID)
	open := start(t, keys.Options{Open: true})
	for i := range keys.MostOfOne + 1 {
		open.token(identity.Anybody(), keys.Wish{Name: fmt.Sprint(i), Role: identity.Viewer})
	}
}

// TestTold: who made and revoked what is in activity, and no secret is.
func TestTold(t *testing.T) {
	w := start(t, keys.Options{})
	k, secret, err := w.MakeToken(t.Context(), ana, "ana", keys.Wish{Name: "ci", Role: identity.Operator})
	if err != nil {
		t.Fatal(err)
	}
	with, err := w.Tokens().Identify(bearing(secret))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.MakeLink(t.Context(), with, "token ci of ana", keys.Wish{Name: "demo", Namespace: "shop"}); err != nil {
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
		"ana token-made ci (operator)", "token ci of ana link-made demo (/n/shop)", "eva token-revoked ci (operator)", "eva link-revoked demo (/n/shop)",
	}, got); d != "" {
		t.Error(d)
	}
}
