package api

import (
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"mayfly/engine/search/columns"
	"mayfly/web/auth"
)

// Views is the answer of GET /views.
type Views struct {
	Views []View `json:"views"` // by name
}

// View is a named set of columns.
type View struct {
	Name      string    `json:"name"`
	Columns   []string  `json:"columns"`         // in order: state, prop.region, json.customer.id
	Lists     []string  `json:"lists,omitempty"` // its lists: messages, scheduled, deferred, locked, dead-letter, transfer, search; missing means all
	Default   bool      `json:"default"`         // these lists show it by default
	UpdatedAt time.Time `json:"updatedAt"`
}

// ViewChange is the request of PUT /views.
type ViewChange struct {
	Name    string   `json:"name,omitempty"`    // a new name; missing keeps the one in the address
	Columns []string `json:"columns"`           // 1 to 30, in order: state, prop.region, json.customer.id
	Lists   []string `json:"lists,omitempty"`   // its lists: messages, scheduled, deferred, locked, dead-letter, transfer, search; missing means all
	Default bool     `json:"default,omitempty"` // these lists show it by default
}

func viewRoutes() []route {
	const part = "The name of a view."
	return []route{
		{
			method: "GET", path: "/views", id: "listViews", group: groupViews, summary: "List views by name",
			response: Views{}, handle: (*handler).views,
		},
		{
			method: "GET", path: "/views/{name}", id: "getView", group: groupViews, summary: "Get a view",
			exampleParam: "late orders", nameMeaning: part,
			response: View{}, problems: []string{"ViewNotFound"}, handle: (*handler).view,
		},
		{
			method: "PUT", path: "/views/{name}", id: "setView", role: auth.Operator, group: groupViews, summary: "Add or change a view",
			exampleParam: "late orders", nameMeaning: part, exampleBody: `{"columns":["state","seq","message","prop.price","json.customer.id"],"lists":["messages","search"]}`,
			description: "Columns are fields such as subject and enqueued, prop.NAME for an application property, and json.PATH for a value in a JSON body of up to 64 KiB. There are at most a hundred views. " +
				"A view that becomes the default of its lists replaces their previous default.",
			request: ViewChange{}, response: View{}, problems: []string{"ViewNotFound", "ViewAlreadyExists", "QuotaExceeded", "Changed"}, handle: (*handler).setView,
		},
		{
			method: "DELETE", path: "/views/{name}", id: "deleteView", role: auth.Operator, group: groupViews, summary: "Delete a view",
			exampleParam: "late orders", nameMeaning: part,
			problems: []string{"ViewNotFound"}, handle: (*handler).deleteView,
		},
	}
}

func presentView(v columns.View) View {
	out := View{Name: v.Name, Columns: columns.Names(v.Columns), Default: v.Default, UpdatedAt: v.ChangedAt.Time()}
	for _, l := range v.Lists {
		out.Lists = append(out.Lists, string(l))
	}
	return out
}

func (d *handler) views(c echo.Context) error {
	all, err := columns.Views(c.Request().Context(), d.broker)
	if err != nil {
		return err
	}
	out := Views{Views: []View{}}
	for _, v := range all {
		out.Views = append(out.Views, presentView(v))
	}
	return reply(c, http.StatusOK, out)
}

// viewNamed returns the view that the address names.
func (d *handler) viewNamed(c echo.Context) (columns.View, error) {
	name, err := nameParam(c)
	if err != nil {
		return columns.View{}, err
	}
	all, err := columns.Views(c.Request().Context(), d.broker)
	if err != nil {
		return columns.View{}, err
	}
	return columns.FindView(all, name)
}

func (d *handler) view(c echo.Context) error {
	v, err := d.viewNamed(c)
	if err != nil {
		return err
	}
	return reply(c, http.StatusOK, presentView(v))
}

func (d *handler) setView(c echo.Context) error {
	name, err := nameParam(c)
	if err != nil {
		return err
	}
	var in ViewChange
	if err := d.read(c, &in); err != nil {
		return err
	}
	v := columns.View{Name: name, Default: in.Default}
	for _, l := range in.Lists {
		v.Lists = append(v.Lists, columns.List(l))
	}
	if v.Columns, err = columns.ParseAll(in.Columns); err != nil {
		return err
	}
	ctx, actor := c.Request().Context(), client(c.Request())
	if in.Name == "" || in.Name == name {
		v, err = columns.Put(ctx, d.broker, v, actor)
	} else {
		var was columns.View
		if was, err = d.viewNamed(c); err == nil {
			v.Name = in.Name
			v, err = columns.Replace(ctx, d.broker, v, was, actor)
		}
	}
	if err != nil {
		return err
	}
	return reply(c, http.StatusOK, presentView(v))
}

func (d *handler) deleteView(c echo.Context) error {
	name, err := nameParam(c)
	if err == nil {
		err = columns.Delete(c.Request().Context(), d.broker, name, client(c.Request()))
	}
	if err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}
