package show

import (
	"cmp"
	"context"
	"net/url"
	"strings"

	"mayfly/engine"
	"mayfly/views/component"
	"mayfly/views/page"
	"mayfly/views/view"
)

// Typed is what somebody filled into a form, and what was wrong with it. Its
// zero value is a form that nobody has touched.
type Typed struct {
	Values  url.Values                 // nil: nothing was sent
	Errors  map[string]component.Text  // by the names of fields
	Faults  map[string]component.Fault // where a filter or an action cannot be read, by the names of fields
	Refused component.Notice           // what was wrong with all of it
	Cancel  string                     // where Cancel leads; empty: to the thing itself
	Try     *Attempt                   // what is to be tried; nil: nothing
	Preview *Preview                   // what is to be shown of what would be sent; nil: nothing
}

// first is the first value of each field, as pages take them.
func (t Typed) first() map[string]string {
	out := make(map[string]string, len(t.Values))
	for name, v := range t.Values {
		if len(v) > 0 {
			out[name] = v[0]
		}
	}
	return out
}

// form is a form that nobody has touched.
func (p *Pages) form(ctx context.Context, at Place) (view.Page, uint64, error) {
	page, err := p.Form(ctx, at, Typed{})
	return page, 0, err
}

// Form makes the page that asks what is needed to do what at.Do says, or asks
// whether to do it. It is ErrNoPage where nothing is asked.
func (p *Pages) Form(ctx context.Context, at Place, t Typed) (view.Page, error) {
	switch {
	case at.Kind == Lab:
		return nil, ErrNoPage
	case strings.HasPrefix(at.Do, "bulk/"):
		return p.askBulk(ctx, at, t)
	case at.Kind == Alerts || at.Kind == Alert:
		if at.Do != "new" && at.Do != "edit" && at.Do != "remove" {
			return nil, ErrNoPage
		}
		return p.askAlert(ctx, at, t)
	case at.Kind == Jobs:
		return p.askJob(ctx, at, t)
	case at.Kind == Templates:
		return p.askTemplates(ctx, at, t)
	case at.Kind == Access:
		return p.askAccess(ctx, at, t)
	case at.Kind == Views:
		return p.viewForm(ctx, at, t)
	case at.Kind == Definitions:
		return p.Definitions(ctx, at, Drawing{})
	case at.Kind == Import && at.Do == "":
		return p.Import(ctx, at, t)
	case at.Kind == Import:
		return nil, ErrNoPage
	case at.Do == "new":
		return p.createForm(ctx, at, t)
	case at.Kind == Connection:
		return p.askDisconnect(ctx, at, t)
	case at.Kind == Message && at.Do == "edit":
		return p.rewriteForm(ctx, at, t)
	case at.Kind == Message:
		return p.askMessage(ctx, at, t)
	case at.Kind != Entity:
		return nil, ErrNoPage
	}
	switch at.Do {
	case "edit":
		return p.editForm(ctx, at, t)
	case "rules/new", "rules/edit", "rules/try":
		return p.ruleForm(ctx, at, t)
	case "send":
		return p.sendForm(ctx, at, t)
	case "import":
		return p.Import(ctx, at, t)
	case "status":
		return p.askStatus(ctx, at, t)
	case "delete":
		return p.askDelete(ctx, at, t)
	case "purge":
		return p.askPurge(ctx, at, t)
	case "resubmit":
		return p.askResubmit(ctx, at, t)
	default:
		return nil, ErrNoPage
	}
}

// thing is where what at names is looked at.
func (p *Pages) thing(at Place) string {
	at.Do, at.Query = "", nil
	return p.URL(at)
}

func (p *Pages) cancel(at Place, t Typed) string { return cmp.Or(t.Cancel, p.thing(at)) }

// Failure completes what says that something was refused: with what stands
// around it. At may be the zero Place.
func (p *Pages) Failure(ctx context.Context, at Place, f page.Failure) view.Page {
	if at.Kind == 0 {
		at = Place{Namespace: p.b.Name(), Kind: Overview}
	}
	f.Shell = p.still(ctx, at, f.Heading(ctx))
	return f
}

// EntityKind is the kind of entity that a place names, or would create.
func (p Place) EntityKind() engine.EntityKind {
	switch {
	case p.Kind == Queues:
		return engine.Queue
	case p.Kind == Topics:
		return engine.Topic
	case p.Do == "new":
		return engine.Subscription
	default:
		return p.Entity
	}
}
