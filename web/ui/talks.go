package ui

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
	"mayfly/views/page"
	"mayfly/web/identity"
	"mayfly/web/show"
	"mayfly/web/talk"
)

// Links make links by which people look and do nothing else, and take them back.
type Links interface {
	// Make makes one that is good for a while, in the namespace that the page is of,
	// and returns its address without the base path.
	Make(ctx context.Context, who identity.Who, actor string, w LinkWish) (talk.Link, error)
	// Of is the one that the audience of a talk was given, by the talk's id, without its
	// address, which is not kept; not ok: there is none that who may take back.
	Of(who identity.Who, id string) (l talk.Link, ok bool)
	Revoke(ctx context.Context, who identity.Who, actor, id string) error
}

// A LinkWish is what a link is to be.
type LinkWish struct {
	Name      string // for people
	Namespace string
	Page      string // where it leads, without the base path
	For       time.Duration
}

// talkCookie has the key of the talk that this browser has begun.
const talkCookie = "mayfly_talk"

// keepTalk has the browser keep a key for a while, or forget it.
func (d *Door) keepTalk(c echo.Context, key string, age int) {
	r := c.Request()
	c.SetCookie(&http.Cookie{
		Name: identity.CookieName(r, talkCookie), Value: key, Path: identity.CookiePath(d.base), MaxAge: age, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: r.TLS != nil || strings.EqualFold(r.Header.Get(echo.HeaderXForwardedProto), "https"),
	})
}

// mountTalks adds what those do who show pages to others, and those who follow them.
func (d *Door) mountTalks(g *echo.Group) {
	if d.hall == nil {
		return
	}
	g.GET("/follow/:id", d.follow)
	g.GET("/n/:ns/share", d.sharing)
	g.POST("/n/:ns/share", d.post(d.share))
	g.POST("/n/:ns/share/stop", d.post(d.unshare))
}

// follow leads to where a presenter is; where nobody presents, to the overview, where
// the script waits. Without that, the page that it leads to is simply that page.
func (d *Door) follow(c echo.Context) error {
	to := d.pages.Home()
	if is := d.hall.State(c.Param("id")); is.Page != "" {
		to = d.base + is.Page
	}
	return c.Redirect(http.StatusSeeOther, asFollower(to, c.Param("id")))
}

// asFollower is the address of a page, for those who follow a talk from there on.
func asFollower(page, id string) string {
	sep := "?"
	if strings.Contains(page, "?") {
		sep = "&"
	}
	return page + sep + url.Values{talk.Following: {id}}.Encode()
}

// talkOf is the key of the talk that the browser has begun, and its link; empty: none that
// there is. Where the hall was another then, the link's address is not known any more.
func (d *Door) talkOf(r *http.Request) (key string, l talk.Link) {
	c, err := r.Cookie(identity.CookieName(r, talkCookie))
	if err != nil {
		return "", l
	}
	l, ok := d.hall.Link(c.Value)
	if id, err := talk.ID(c.Value); !ok && err == nil && d.links != nil {
		l, ok = d.links.Of(identity.Asking(r), id)
	}
	if !ok {
		return "", l
	}
	return c.Value, l
}

// sharing shows how a talk is that this browser has begun. The tab that asks leads it
// from now on: the one that did may be gone.
func (d *Door) sharing(c echo.Context) error {
	d.visit(c)
	s := show.Sharing{}
	if key, l := d.talkOf(c.Request()); key != "" {
		s.On, s.Key, s.Link, s.State = true, key, l, d.stateOf(key)
	}
	return d.showSharing(c, http.StatusOK, s)
}

func (d *Door) stateOf(key string) talk.State {
	id, err := talk.ID(key)
	if err != nil {
		return talk.State{}
	}
	return d.hall.State(id)
}

func (d *Door) showSharing(c echo.Context, status int, s show.Sharing) error {
	s.Addresses = d.abroad
	s.Name = identity.Of(c.Request().Context()).Name
	p, err := d.pages.Share(c.Request().Context(), s)
	if err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	return d.show(c, status, p)
}

// share begins a talk, and gives its link.
func (d *Door) share(c echo.Context, at show.Place, typed url.Values) error {
	ctx, s := c.Request().Context(), show.Sharing{Typed: show.Typed{Values: typed}}
	stays, err := time.ParseDuration(typed.Get(page.ShareFor))
	if err != nil || !slices.Contains(show.ShareFor(), stays) {
		return show.ErrNoPage // none that the form has
	}
	origin := d.reached(c, typed)
	d.endTalk(c) // one at a time
	key := talk.NewKey()
	s.State = d.stateOf(key)
	name := talk.Name(typed.Get(page.ShareName))
	l, err := d.linkTo(c, at, s.State.ID, name, stays)
	if err != nil {
		if why(err).S == "" {
			return err
		}
		s.Refused = because(component.Notice{Tone: component.Critical}, err)
		return d.showSharing(c, status(err), s)
	}
	l.URL = origin + d.base + l.URL
	if err := d.hall.Open(key, name, l); err != nil {
		d.endLink(c, l)
		s.Refused = component.Notice{Tone: component.Critical, Title: locale.T(ctx, "share.full")}
		return d.showSharing(c, http.StatusServiceUnavailable, s)
	}
	d.keepTalk(c, key, int(stays.Seconds()))
	s.On, s.Key, s.Link, s.State = true, key, l, d.stateOf(key)
	return d.showSharing(c, http.StatusOK, s)
}

// linkTo is a link for those who follow: one that lets them look only, where the
// server makes such links.
func (d *Door) linkTo(c echo.Context, at show.Place, id, name string, stays time.Duration) (talk.Link, error) {
	if d.links == nil {
		return talk.Link{URL: "/follow/" + id}, nil
	}
	ctx := c.Request().Context()
	w := LinkWish{Name: locale.T(ctx, "share.link.name"), Namespace: at.Namespace, Page: asFollower("/n/"+url.PathEscape(at.Namespace), id), For: stays}
	if name != "" {
		w.Name = name
	}
	return d.links.Make(ctx, identity.Of(ctx), actor(c), w) //nolint:wrapcheck // it says what it is about
}

// unshare ends the talk of this browser, and its link.
func (d *Door) unshare(c echo.Context, _ show.Place, _ url.Values) error {
	d.endTalk(c)
	d.keepTalk(c, "", -1)
	return d.showSharing(c, http.StatusOK, show.Sharing{Over: true})
}

func (d *Door) endTalk(c echo.Context) {
	key, l := d.talkOf(c.Request())
	if key == "" {
		return
	}
	d.endLink(c, l)
	d.hall.Stop(key)
}

// endLink has a link be good no more. One that is gone already is what was wanted; of
// another that stays, which ends by itself, the log tells.
func (d *Door) endLink(c echo.Context, l talk.Link) {
	if d.links == nil || l.ID == "" {
		return
	}
	ctx := c.Request().Context()
	if err := d.links.Revoke(ctx, identity.Of(ctx), actor(c), l.ID); err != nil && !errors.Is(err, engine.ErrNotFound) {
		d.log.WarnContext(ctx, "the link of a presentation could not be taken back", "id", l.ID, "error", err)
	}
}
