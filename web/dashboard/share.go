package dashboard

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/views/component"
	"mayfly/views/locale"
	adminpage "mayfly/views/page/admin"
	"mayfly/web/auth"
	"mayfly/web/dashboard/admin"
	"mayfly/web/dashboard/pages"
	"mayfly/web/presentation"
)

// Links creates and revokes read-only links.
type Links interface {
	// CreateLink makes a link that is valid for a while, in the namespace of its page, and returns
	// its address without the base path.
	CreateLink(ctx context.Context, who auth.Caller, actor string, w LinkRequest) (presentation.Link, error)
	// LinkOf returns the link for the audience of a presentation, by the presentation's id. The
	// address is missing, because it is not stored. ok is false if there is no link that the
	// caller may revoke.
	LinkOf(who auth.Caller, id string) (l presentation.Link, ok bool)
	RevokeLink(ctx context.Context, who auth.Caller, actor, id string) error
}

// A LinkRequest describes a link to make.
type LinkRequest struct {
	Name      string // for people
	Namespace string
	Page      string // the page it opens, without the base path
	Lifetime  time.Duration
}

// presentationCookie is the cookie with the key of the presentation that a browser has begun.
const presentationCookie = "mayfly_talk"

// setPresentationCookie stores a key in the browser for `age` seconds, or deletes it if `age` is
// negative.
func (d *Handler) setPresentationCookie(c echo.Context, key string, age int) {
	r := c.Request()
	auth.SetCookie(c.Response(), r, &http.Cookie{
		Name: auth.CookieName(r, presentationCookie), Value: key, Path: auth.CookiePath(d.base), MaxAge: age, HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
}

// followPresentation redirects to the presenter's page or, if there is no presenter, to the
// overview, where the script waits for one. Without the script, the browser stays on that page.
func (d *Handler) followPresentation(c echo.Context) error {
	to := d.pages.Home()
	if is := d.presentations.State(c.Param("id")); is.Page != "" {
		to = d.base + is.Page
	}
	return c.Redirect(http.StatusSeeOther, followerURL(to, c.Param("id")))
}

// followerURL returns the address of a page at which the browser follows a presentation.
func followerURL(page, id string) string {
	sep := "?"
	if strings.Contains(page, "?") {
		sep = "&"
	}
	return page + sep + url.Values{presentation.FollowParam: {id}}.Encode()
}

// currentPresentation returns the key of the presentation that the browser has begun, and its
// link, or "" if it has not begun one that still exists. After a restart the link's address is
// unknown.
func (d *Handler) currentPresentation(r *http.Request) (key string, l presentation.Link) {
	c, err := r.Cookie(auth.CookieName(r, presentationCookie))
	if err != nil {
		return "", l
	}
	l, ok := d.presentations.Link(c.Value)
	if id, err := presentation.ID(c.Value); !ok && err == nil && d.links != nil {
		l, ok = d.links.LinkOf(auth.FromRequest(r), id)
	}
	if !ok {
		return "", l
	}
	return c.Value, l
}

// sharePage shows the state of the presentation that this browser has begun. The tab that
// requests this page presents from now on, because the tab that began may be closed.
func (d *Handler) sharePage(c echo.Context) error {
	d.prepareContext(c)
	s := admin.ShareState{}
	if key, l := d.currentPresentation(c.Request()); key != "" {
		s.Active, s.Key, s.Link, s.State = true, key, l, d.presentationState(key)
	}
	return d.writeShare(c, http.StatusOK, s)
}

func (d *Handler) presentationState(key string) presentation.State {
	id, err := presentation.ID(key)
	if err != nil {
		return presentation.State{}
	}
	return d.presentations.State(id)
}

func (d *Handler) writeShare(c echo.Context, status int, s admin.ShareState) error {
	s.Addresses = d.publicURLs
	s.Name = auth.FromContext(c.Request().Context()).Name
	p, err := admin.Share(c.Request().Context(), d.pages, s)
	if err != nil {
		return err
	}
	return d.writePage(c, status, p)
}

// startSharing begins a presentation, and shows its link.
func (d *Handler) startSharing(c echo.Context, at pages.Address, typed url.Values) error {
	ctx, s := c.Request().Context(), admin.ShareState{FormState: pages.FormState{Values: typed}}
	stays, err := time.ParseDuration(typed.Get(adminpage.ShareFor))
	if err != nil || !slices.Contains(admin.ShareLifetimes(), stays) {
		return pages.ErrPageNotFound // not in the form
	}
	origin := d.parsePublicURL(c, typed)
	d.endPresentation(c) // a browser has one presentation at a time
	key := presentation.NewKey()
	s.State = d.presentationState(key)
	name := presentation.Name(typed.Get(adminpage.ShareName))
	l, err := d.createFollowerLink(c, at, s.State.ID, name, stays)
	if err != nil {
		if errorMessage(err).S == "" {
			return err
		}
		s.Refused = withError(component.Notice{Tone: component.Critical}, err)
		return d.writeShare(c, statusCode(err), s)
	}
	l.URL = origin + d.base + l.URL
	if err := d.presentations.Start(key, name, l); err != nil {
		d.revokeLink(c, l)
		s.Refused = component.Notice{Tone: component.Critical, Title: locale.T(ctx, "share.full")}
		return d.writeShare(c, http.StatusServiceUnavailable, s)
	}
	d.setPresentationCookie(c, key, int(stays.Seconds()))
	s.Active, s.Key, s.Link, s.State = true, key, l, d.presentationState(key)
	return d.writeShare(c, http.StatusOK, s)
}

// createFollowerLink returns a link for followers: a read-only one, if the server makes such links.
func (d *Handler) createFollowerLink(c echo.Context, at pages.Address, id, name string, stays time.Duration) (presentation.Link, error) {
	if d.links == nil {
		return presentation.Link{URL: "/follow/" + id}, nil
	}
	ctx := c.Request().Context()
	w := LinkRequest{Name: locale.T(ctx, "share.link.name"), Namespace: at.Namespace, Page: followerURL("/n/"+url.PathEscape(at.Namespace), id), Lifetime: stays}
	if name != "" {
		w.Name = name
	}
	return d.links.CreateLink(ctx, auth.FromContext(ctx), actor(c), w)
}

// stopSharing ends the presentation of this browser, and its link.
func (d *Handler) stopSharing(c echo.Context, _ pages.Address, _ url.Values) error {
	d.endPresentation(c)
	d.setPresentationCookie(c, "", -1)
	return d.writeShare(c, http.StatusOK, admin.ShareState{Ended: true})
}

func (d *Handler) endPresentation(c echo.Context) {
	key, l := d.currentPresentation(c.Request())
	if key == "" {
		return
	}
	d.revokeLink(c, l)
	d.presentations.Stop(key)
}

// revokeLink revokes a link, or does nothing if the link no longer exists. It logs any other
// failure, after which the link stays valid until it expires.
func (d *Handler) revokeLink(c echo.Context, l presentation.Link) {
	if d.links == nil || l.ID == "" {
		return
	}
	ctx := c.Request().Context()
	if err := d.links.RevokeLink(ctx, auth.FromContext(ctx), actor(c), l.ID); err != nil && !errors.Is(err, engine.ErrNotFound) {
		d.log.WarnContext(ctx, "the link of a presentation could not be revoked", "id", l.ID, "err", err)
	}
}
