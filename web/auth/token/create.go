package token

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
	"mayfly/engine/shorten"
	"mayfly/web/auth"
)

// A Request describes a key to make.
type Request struct {
	Name string    // for people, 1 to 100 characters
	Role auth.Role // of a token; a link is always a viewer's
	// Namespace is the only namespace for which the key is valid, in lower case. A link requires one.
	// Empty means that a token is valid for all namespaces, and the server itself.
	Namespace string
	Page      string        // of a link: its address, such as /n/default/queues; empty means the namespace's overview
	Lifetime  time.Duration // how long it is valid; zero means no end for a token, and DefaultLinkLifetime for a link
}

// CreateToken makes a token on behalf of caller, and returns its secret, which cannot be read
// again. The error is an engine.ErrArgument, engine.ErrNotAllowed for a role above caller's own,
// engine.ErrQuota if there are too many, or states that keys are stored elsewhere now.
func (r *Registry) CreateToken(ctx context.Context, caller auth.Caller, actor string, w Request) (Key, string, error) {
	if w.Page != "" {
		return Key{}, "", engine.Refuse(engine.ErrArgument, "A token cannot have a page.")
	}
	return r.create(ctx, caller, actor, Token, w)
}

// CreateLink makes a read-only link on behalf of caller, and returns the path that opens it,
// without the base path. The path cannot be read again. Errors are as CreateToken's.
func (r *Registry) CreateLink(ctx context.Context, caller auth.Caller, actor string, w Request) (Key, string, error) {
	w.Role = auth.Viewer
	if w.Lifetime == 0 {
		w.Lifetime = DefaultLinkLifetime
	}
	if w.Namespace == "" {
		return Key{}, "", engine.Refuse(engine.ErrArgument, "A link needs the name of a namespace.")
	}
	home := "/n/" + w.Namespace
	if w.Page == "" {
		w.Page = home
	}
	if !isBelow(w.Page, home) || len(w.Page) > maxPage || !isPrintable(w.Page) {
		return Key{}, "", engine.Refuse(engine.ErrArgument, "A link must open a page of its namespace, such as %s, not '%s'.", home, shorten.Quote(w.Page))
	}
	if !caller.Role.Includes(auth.Operator) {
		return Key{}, "", engine.Refuse(engine.ErrNotAllowed, "Only operators and admins can create links.")
	}
	k, secret, err := r.create(ctx, caller, actor, Link, w)
	return k, LinkPath + secret, err
}

// isBelow reports whether `page` is the address `home` of a namespace, in any case, or one below it.
func isBelow(page, home string) bool {
	if len(page) < len(home) || !strings.EqualFold(page[:len(home)], home) {
		return false
	}
	rest := page[len(home):]
	return rest == "" || rest[0] == '/' || rest[0] == '?'
}

// LinkPath precedes a link's secret in the path that opens it.
const LinkPath = "/l/"

func (r *Registry) create(ctx context.Context, caller auth.Caller, actor string, kind Kind, w Request) (Key, string, error) {
	now := time.Now().UTC().Truncate(time.Millisecond)
	id := strings.ToLower(rand.Text()[:idLength])
	secret := kind.prefix() + id + "_" + rand.Text()
	k := Key{
		ID: id, Kind: kind, Name: strings.TrimSpace(w.Name), Role: w.Role, Namespace: strings.ToLower(w.Namespace), Page: w.Page,
		MadeBy: caller.Name, Method: caller.Method, MakerSubject: caller.Subject, Made: now,
	}
	if err := k.check(w.Lifetime); err != nil {
		return Key{}, "", err
	}
	if w.Lifetime != 0 {
		k.Expires = now.Add(w.Lifetime)
	}
	b, err := r.inherit(&k, caller)
	if err != nil {
		return Key{}, "", err
	}
	h := hashOf(secret)
	_, err = b.UpdateSettings(ctx, settingPrefix, actor, func(all []engine.Setting) (c broker.SettingsUpdate, err error) {
		switch there := slices.ContainsFunc(all, func(s engine.Setting) bool { return s.Key == settingPrefix+k.Parent }); {
		case k.Parent != "" && !there: // revoked in the meantime
			return c, ErrNotFound
		case len(all) >= MaxKeys:
			return c, engine.Refuse(engine.ErrQuota, "The server already has %d tokens and links, the maximum. Revoke one first.", MaxKeys)
		case k.Method != auth.Open && countOfMaker(all, k) >= MaxKeysPerUser:
			return c, engine.Refuse(engine.ErrQuota, "%s already has %d tokens and links, the maximum for a user. Revoke one first.", k.MadeBy, MaxKeysPerUser)
		}
		c.Set = []engine.Setting{k.setting(h)}
		c.Entries = []broker.AuditEntry{k.auditEntry(engine.EventTokenCreated, engine.EventReadLinkCreated)}
		return c, nil
	})
	if err != nil {
		return Key{}, "", err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lastChange = time.Now()
	if k.Parent == "" || r.byID[k.Parent] != nil { // else the parent was revoked with all its keys, this one included
		r.byID[id] = &entry{Key: k, hash: h, done: make(chan struct{})}
	}
	r.changed()
	return k, secret, nil
}

// countOfMaker counts the keys of k's maker, expired ones too.
func countOfMaker(all []engine.Setting, k Key) (n int) {
	maker := auth.Caller{Name: k.MadeBy, Method: k.Method, Subject: k.MakerSubject}
	for _, s := range all {
		if other, _, err := decode(s); err == nil && other.madeBy(maker) {
			n++
		}
	}
	return n
}

// check returns an error if k's name, lifetime (`stays`; zero means no end) or page is invalid.
func (k Key) check(stays time.Duration) error {
	most := MaxTokenLifetime
	if k.Kind == Link {
		most = MaxLinkLifetime
	}
	switch n := utf8.RuneCountInString(k.Name); {
	case n == 0:
		return engine.Refuse(engine.ErrArgument, "A %s needs a name, by which you find it when you revoke it.", k.Kind)
	case n > maxName || !isPrintable(k.Name):
		return engine.Refuse(engine.ErrArgument, "The name of a %s may have at most %d characters, all of them printable.", k.Kind, maxName)
	}
	switch {
	case !k.Role.Includes(auth.Viewer):
		return engine.Refuse(engine.ErrArgument, "A token needs a role: viewer, operator or admin.")
	case stays != 0 && (stays < MinLifetime || stays > most):
		return engine.Refuse(engine.ErrArgument, "The lifetime of a %s must be from %s to %s.", k.Kind, formatDuration(MinLifetime), formatDuration(most))
	}
	return nil
}

// formatDuration returns a duration in words.
func formatDuration(d time.Duration) string {
	if d == time.Minute {
		return "a minute"
	}
	return fmt.Sprintf("%d days", d/(24*time.Hour))
}

// inherit limits k to the rights of caller, and returns the store for it.
func (r *Registry) inherit(k *Key, caller auth.Caller) (keyStore, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	switch {
	case r.isUnavailable():
		return nil, errUnavailable
	case !caller.IsKnown() || caller.Method == auth.Link:
		return nil, engine.Refuse(engine.ErrNotAllowed, "A read-only link cannot create tokens or links.")
	case !caller.Role.Includes(k.Role):
		return nil, engine.Refuse(engine.ErrNotAllowed, "Your role is %s, so you cannot create a token or link with the role %s.", caller.Role, k.Role)
	case caller.Namespace != "" && k.Namespace != caller.Namespace:
		return nil, engine.Refuse(engine.ErrNotAllowed, "Your token is valid for the namespace '%s' only, so it can create tokens and links for that namespace only.", caller.Namespace)
	}
	if caller.Method != auth.Token {
		return r.store, nil
	}
	p := r.byID[caller.ID]
	if p == nil {
		return nil, ErrNotFound // revoked in the meantime
	}
	k.MadeBy, k.Method, k.MakerSubject, k.Parent = p.MadeBy, p.Method, p.MakerSubject, p.ID
	if !p.Expires.IsZero() && (k.Expires.IsZero() || p.Expires.Before(k.Expires)) {
		k.Expires = p.Expires
	}
	return r.store, nil
}

// auditEntry returns an entry of activity about the key, of the kind `token` or `link` depending on
// the key's kind.
func (k Key) auditEntry(token, link engine.EventKind) broker.AuditEntry {
	if k.Kind == Link {
		return broker.AuditEntry{Kind: link, About: fmt.Sprintf("%s (%s)", k.Name, k.Page)}
	}
	in := ""
	if k.Namespace != "" {
		in = ", " + k.Namespace
	}
	return broker.AuditEntry{Kind: token, About: fmt.Sprintf("%s (%s%s)", k.Name, k.Role, in)}
}

// Revoke revokes a key and all keys that were made with it, and ends the requests that they let in.
// The error is ErrNotFound, also for a key that is not visible to caller.
func (r *Registry) Revoke(ctx context.Context, caller auth.Caller, actor, id string) (Key, error) {
	if r.reader != nil { // it may have been made at another server just now
		if err := r.reader.Refresh(ctx); err != nil {
			return Key{}, unavailable(err)
		}
	}
	k, err := r.Find(caller, id)
	if err != nil {
		return Key{}, err
	}
	r.mu.RLock()
	b := r.store
	r.mu.RUnlock()
	if b == nil {
		return Key{}, errUnavailable
	}
	var gone []Key
	_, err = b.UpdateSettings(ctx, settingPrefix, actor, func(all []engine.Setting) (c broker.SettingsUpdate, err error) {
		if gone = descendants(all, id); gone == nil {
			return c, ErrNotFound
		}
		for _, k := range gone {
			c.Drop = append(c.Drop, settingPrefix+k.ID)
			c.Entries = append(c.Entries, k.auditEntry(engine.EventTokenRevoked, engine.EventReadLinkRevoked))
		}
		return c, nil
	})
	if err != nil {
		return Key{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lastChange = time.Now()
	for _, k := range gone {
		if e := r.byID[k.ID]; e != nil {
			e.end()
			delete(r.byID, k.ID)
		}
	}
	r.changed()
	return k, nil
}

// descendants returns a key and all keys that were made with it, or nil if it does not exist.
func descendants(all []engine.Setting, id string) (of []Key) {
	made, seen := map[string][]Key{}, map[string]bool{} // by parent
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

// isPrintable reports whether a text has only printable characters.
func isPrintable(s string) bool {
	return utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}
