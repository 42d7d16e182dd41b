package api

import (
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"mayfly/engine/listing"
	"mayfly/web/identity"
)

// Views is the answer of GET /views.
type Views struct {
	Views []View `json:"views"` // by name
}

// View is columns under a name.
type View struct {
	Name      string    `json:"name"`
	Columns   []string  `json:"columns"`         // in order: state, prop.region, json.customer.id
	Lists     []string  `json:"lists,omitempty"` // for which lists: messages, scheduled, deferred, locked, dead-letter, transfer, search; missing: all
	Default   bool      `json:"default"`         // these lists show it where no other is asked for
	ChangedAt time.Time `json:"changedAt"`
}

// ViewChange is what PUT /views takes.
type ViewChange struct {
	Name    string   `json:"name,omitempty"`    // another name from now on; missing: that in the address
	Columns []string `json:"columns"`           // 1 to 30, in order: state, prop.region, json.customer.id
	Lists   []string `json:"lists,omitempty"`   // for which lists: messages, scheduled, deferred, locked, dead-letter, transfer, search; missing: all
	Default bool     `json:"default,omitempty"` // these lists show it where no other is asked for
}

func viewRoutes() []route {
	const part = "The name of a view."
	return []route{
		{
			method: "GET", path: "/views", id: "listViews", group: groupViews, summary: "All views, by name",
			gives: Views{}, serve: (*door).views,
		},
		{
			method: "GET", path: "/views/{name}", id: "getView", group: groupViews, summary: "One view",
			at: "late orders", part: part,
			gives: View{}, fails: []string{"ViewNotFound"}, serve: (*door).view,
		},
		{
			method: "PUT", path: "/views/{name}", id: "setView", needs: identity.Operator, group: groupViews, summary: "Add a view, or change it",
			at: "late orders", part: part, sends: `{"columns":["state","seq","message","prop.price","json.customer.id"],"lists":["messages","search"]}`,
			about: "Columns are fields such as subject and enqueued, prop.NAME for an application property, and json.PATH for something in a body of JSON of up to 64 KiB. There are a hundred views at most. " +
				"Where a view is the default of its lists, no other view for one of them is that from now on.",
			takes: ViewChange{}, gives: View{}, fails: []string{"ViewNotFound", "ViewAlreadyExists", "QuotaExceeded", "Changed"}, serve: (*door).setView,
		},
		{
			method: "DELETE", path: "/views/{name}", id: "deleteView", needs: identity.Operator, group: groupViews, summary: "Forget a view",
			at: "late orders", part: part,
			fails: []string{"ViewNotFound"}, serve: (*door).deleteView,
		},
	}
}

func presentView(v listing.View) View {
	out := View{Name: v.Name, Columns: listing.Names(v.Columns), Default: v.Default, ChangedAt: v.ChangedAt.Time()}
	for _, l := range v.Lists {
		out.Lists = append(out.Lists, string(l))
	}
	return out
}

func (d *door) views(c echo.Context) error {
	all, err := listing.Views(c.Request().Context(), d.broker)
	if err != nil {
		return err
	}
	out := Views{Views: []View{}}
	for _, v := range all {
		out.Views = append(out.Views, presentView(v))
	}
	return reply(c, http.StatusOK, out)
}

// viewNamed is the view that an address names.
func (d *door) viewNamed(c echo.Context) (listing.View, error) {
	name, err := nameIn(c)
	if err != nil {
		return listing.View{}, err
	}
	all, err := listing.Views(c.Request().Context(), d.broker)
	if err != nil {
		return listing.View{}, err
	}
	return listing.Named(all, name)
}

func (d *door) view(c echo.Context) error {
	v, err := d.viewNamed(c)
	if err != nil {
		return err
	}
	return reply(c, http.StatusOK, presentView(v))
}

func (d *door) setView(c echo.Context) error {
	name, err := nameIn(c)
	if err != nil {
		return err
	}
	var in ViewChange
	if err := d.read(c, &in); err != nil {
		return err
	}
	v := listing.View{Name: name, Default: in.Default}
	for _, l := range in.Lists {
		v.Lists = append(v.Lists, listing.List(l))
	}
	if v.Columns, err = listing.ParseAll(in.Columns); err != nil {
		return err
	}
	ctx, actor := c.Request().Context(), client(c.Request())
	if in.Name == "" || in.Name == name {
		v, err = listing.Put(ctx, d.broker, v, actor)
	} else {
		var was listing.View
		if was, err = d.viewNamed(c); err == nil {
			v.Name = in.Name
			v, err = listing.Replace(ctx, d.broker, v, was, actor)
		}
	}
	if err != nil {
		return err
	}
	return reply(c, http.StatusOK, presentView(v))
}

func (d *door) deleteView(c echo.Context) error {
	name, err := nameIn(c)
	if err == nil {
		err = listing.Drop(c.Request().Context(), d.broker, name, client(c.Request()))
	}
	if err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}
