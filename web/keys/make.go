package keys

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/web/identity"
)

// A Wish is what a key is to be.
type Wish struct {
	Name string        // for people, 1 to 100 characters
	Role identity.Role // of a token; a link is always a viewer's
	// Namespace is the only one that it is good for, in lower case; a link has one.
	// Empty: a token for all.
	Namespace string
	Page      string        // of a link: where it leads, such as /n/default/queues; empty: the namespace's overview
	For       time.Duration // how long it is good; zero: a token for ever, a link for LinkFor
}

// MakeToken makes a token on behalf of who, and tells its secret, once. The error is
// an engine.ErrArgument, engine.ErrNotAllowed for a role above who's own,
// engine.ErrQuota where there are too many, or that keys are kept elsewhere now.
func (r *Ring) MakeToken(ctx context.Context, who identity.Who, actor string, w Wish) (Key, string, error) {
	if w.Page != "" {
		return Key{}, "", argument("A token leads to no page.")
	}
	return r.make(ctx, who, actor, Token, w)
}

// MakeLink makes a read-only link on behalf of who, and tells the path that opens
// it, without the base path, once. Errors are as MakeToken's.
func (r *Ring) MakeLink(ctx context.Context, who identity.Who, actor string, w Wish) (Key, string, error) {
	w.Role = identity.Viewer
	if w.For == 0 {
		w.For = LinkFor
	}
	if w.Namespace == "" {
		return Key{}, "", argument("A link shows one namespace: say which.")
	}
	home := "/n/" + w.Namespace
	if w.Page == "" {
		w.Page = home
	}
	if !below(w.Page, home) || len(w.Page) > mostPage || !visible(w.Page) {
		return Key{}, "", argument("A link leads to a page of its namespace, such as %s, not to '%s'.", home, cut(w.Page))
	}
	if !who.Role.May(identity.Operator) {
		return Key{}, "", &engine.Refusal{Kind: engine.ErrNotAllowed, Text: "Links are made by operators and admins."}
	}
	k, secret, err := r.make(ctx, who, actor, Link, w)
	return k, LinkPath + secret, err
}

// below tells whether a page is of a namespace, by the address of its first page.
func below(page, home string) bool {
	if len(page) < len(home) || !strings.EqualFold(page[:len(home)], home) {
		return false
	}
	rest := page[len(home):]
	return rest == "" || rest[0] == '/' || rest[0] == '?'
}

// LinkPath is before a link's secret in the path that opens it.
const LinkPath = "/l/"

func (r *Ring) make(ctx context.Context, who identity.Who, actor string, kind Kind, w Wish) (Key, string, error) {
	now := time.Now().UTC().Truncate(time.Millisecond)
	id := strings.ToLower(rand.Text()[:idLength])
	secret := kind.mark() + id + "_" + rand.Text()
	k := Key{
		ID: id, Kind: kind, Name: strings.TrimSpace(w.Name), Role: w.Role, Namespace: strings.ToLower(w.Namespace), Page: w.Page,
		By: who.Name, Way: who.Way, Of: who.Subject, Made: now,
	}
	if err := k.check(w.For); err != nil {
		return Key{}, "", err
	}
	if w.For != 0 {
		k.Until = now.Add(w.For)
	}
	b, err := r.inherit(&k, who)
	if err != nil {
		return Key{}, "", err
	}
	h := hashOf(secret)
	_, err = b.ChangeSettings(ctx, prefix, actor, func(all []engine.Setting) (c broker.SettingsChange, err error) {
		switch there := slices.ContainsFunc(all, func(s engine.Setting) bool { return s.Key == prefix+k.Parent }); {
		case k.Parent != "" && !there: // revoked meanwhile
			return c, ErrNone
		case len(all) >= MostKeys:
			return c, &engine.Refusal{Kind: engine.ErrQuota, Text: fmt.Sprintf("There are %d tokens and links, which is the most there may be: revoke some.", MostKeys)}
		case k.Way != identity.Open && ofMaker(all, k) >= MostOfOne:
			return c, &engine.Refusal{Kind: engine.ErrQuota, Text: fmt.Sprintf("%s has made %d tokens and links that are kept, which is the most there may be of one: revoke some.", k.By, MostOfOne)}
		}
		c.Set = []engine.Setting{k.setting(h)}
		c.Deeds = []broker.Deed{k.deed(engine.EventTokenMade, engine.EventLinkMade)}
		return c, nil
	})
	if err != nil {
		return Key{}, "", err //nolint:wrapcheck // it says what it is about
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.altered = time.Now()
	if k.Parent == "" || r.byID[k.Parent] != nil { // else that was revoked with all that it made, this too
		r.byID[id] = &entry{Key: k, hash: h, over: make(chan struct{})}
	}
	r.changed()
	return k, secret, nil
}

// ofMaker is how many there are of whoever makes k, those that are over too.
func ofMaker(all []engine.Setting, k Key) (n int) {
	maker := identity.Who{Name: k.By, Way: k.Way, Subject: k.Of}
	for _, s := range all {
		if other, _, err := decode(s); err == nil && other.madeBy(maker) {
			n++
		}
	}
	return n
}

// check says what is wrong with what somebody asks for.
func (k Key) check(stays time.Duration) error {
	most := MostFor
	if k.Kind == Link {
		most = MostLinkFor
	}
	switch n := utf8.RuneCountInString(k.Name); {
	case n == 0:
		return argument("A %s has a name, by which it is known when it is to be revoked.", k.Kind)
	case n > mostName || !visible(k.Name):
		return argument("The name of a %s has up to %d characters, all of them visible.", k.Kind, mostName)
	}
	switch {
	case !k.Role.May(identity.Viewer):
		return argument("A token has a role: viewer, operator or admin.")
	case stays != 0 && (stays < LeastFor || stays > most):
		return argument("A %s is good for %s to %s.", k.Kind, spell(LeastFor), spell(most))
	}
	return nil
}

// spell is a duration in words.
func spell(d time.Duration) string {
	if d == time.Minute {
		return "a minute"
	}
	return fmt.Sprintf("%d days", d/(24*time.Hour))
}

// inherit has k be no more than who, and returns where it is to be kept.
func (r *Ring) inherit(k *Key, who identity.Who) (place, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	switch {
	case r.away():
		return nil, errAway
	case !who.Known() || who.Way == identity.Link:
		return nil, &engine.Refusal{Kind: engine.ErrNotAllowed, Text: "Whoever looks on by a link makes no tokens or links."}
	case !who.Role.May(k.Role):
		return nil, &engine.Refusal{Kind: engine.ErrNotAllowed, Text: fmt.Sprintf("You are %s: what you make cannot be %s.", who.Role, k.Role)}
	case who.Within != "" && k.Namespace != who.Within:
		return nil, &engine.Refusal{Kind: engine.ErrNotAllowed, Text: fmt.Sprintf("Yours is for the namespace '%s' alone: so is what you make.", who.Within)}
	}
	if who.Way != identity.Token {
		return r.at, nil
	}
	p := r.byID[who.ID]
	if p == nil {
		return nil, ErrNone // revoked meanwhile
	}
	k.By, k.Way, k.Of, k.Parent = p.By, p.Way, p.Of, p.ID
	if !p.Until.IsZero() && (k.Until.IsZero() || p.Until.Before(k.Until)) {
		k.Until = p.Until
	}
	return r.at, nil
}

// deed is what was done with the key as activity tells of it, if it is a token, or a link.
func (k Key) deed(token, link engine.EventKind) broker.Deed {
	if k.Kind == Link {
		return broker.Deed{Kind: link, About: fmt.Sprintf("%s (%s)", k.Name, k.Page)}
	}
	in := ""
	if k.Namespace != "" {
		in = ", " + k.Namespace
	}
	return broker.Deed{Kind: token, About: fmt.Sprintf("%s (%s%s)", k.Name, k.Role, in)}
}

// Revoke has a key, and all that was made with it, let nobody in from now on, and
// ends what they let in. The error is ErrNone, also for one that who may not know of.
func (r *Ring) Revoke(ctx context.Context, who identity.Who, actor, id string) (Key, error) {
	if r.reader != nil { // it may have just been made at another server
		if err := r.reader.Fresh(ctx); err != nil {
			return Key{}, away(err)
		}
	}
	k, err := r.Find(who, id)
	if err != nil {
		return Key{}, err
	}
	r.mu.RLock()
	b := r.at
	r.mu.RUnlock()
	if b == nil {
		return Key{}, errAway
	}
	var gone []Key
	_, err = b.ChangeSettings(ctx, prefix, actor, func(all []engine.Setting) (c broker.SettingsChange, err error) {
		if gone = family(all, id); gone == nil {
			return c, ErrNone
		}
		for _, k := range gone {
			c.Drop = append(c.Drop, prefix+k.ID)
			c.Deeds = append(c.Deeds, k.deed(engine.EventTokenRevoked, engine.EventLinkRevoked))
		}
		return c, nil
	})
	if err != nil {
		return Key{}, err //nolint:wrapcheck // it says what it is about
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.altered = time.Now()
	for _, k := range gone {
		if e := r.byID[k.ID]; e != nil {
			e.end()
			delete(r.byID, k.ID)
		}
	}
	r.changed()
	return k, nil
}

// family are a key and all that was made with it; nil: it is not there.
func family(all []engine.Setting, id string) (of []Key) {
	made, seen := map[string][]Key{}, map[string]bool{} // by the parent
	for _, s := range all {
		switch k, _, err := decode(s); {
		case err != nil:
		case k.ID == id:
			of = []Key{k}
		default:
			made[k.Parent] = append(made[k.Parent], k)
		}
	}
	for i := 0; i < len(of); i++ {
		for _, child := range made[of[i].ID] {
			if !seen[child.ID] {
				seen[child.ID] = true
				of = append(of, child)
			}
		}
	}
	return of
}

func argument(format string, args ...any) error {
	return &engine.Refusal{Kind: engine.ErrArgument, Text: fmt.Sprintf(format, args...)}
}

// visible tells whether a text has nothing in it that is not seen.
func visible(s string) bool {
	return utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}

// cut shortens what somebody sent for use in an error.
func cut(s string) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	if len(s) <= 64 {
		return s
	}
	return strings.ToValidUTF8(s[:64], "") + "…"
}
