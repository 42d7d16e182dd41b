package show

import (
	"cmp"
	"context"
	"net/url"

	"mayfly/engine"
	"mayfly/views/component"
	"mayfly/views/page"
	"mayfly/views/view"
)

// FormState holds the values of a submitted form and its errors. The zero value is an empty form.
type FormState struct {
	Values       url.Values                       // nil if not submitted
	Errors       map[string]component.Text        // by the names of fields
	SyntaxErrors map[string]component.SyntaxError // positions of syntax errors in filters and actions, by the names of fields
	Refused      component.Notice                 // the error of the form as a whole
	Cancel       string                           // target of the Cancel button; empty means the page of the entity or message
	Trial        *RuleTrial                       // the message to try; nil means none
	Preview      *Preview                         // the preview of the messages to send; nil means none
}

// firstValues returns the first value of each field, as pages take them.
func (t FormState) firstValues() map[string]string {
	out := make(map[string]string, len(t.Values))
	for name, v := range t.Values {
		if len(v) > 0 {
			out[name] = v[0]
		}
	}
	return out
}

// Form returns the form for the action at.Action, or the question that confirms it. It returns
// ErrPageNotFound if at has no such form.
func (p *Pages) Form(ctx context.Context, at Address, t FormState) (view.Page, error) {
	r := p.Route(at)
	if r == nil || r.Form == nil {
		return nil, ErrPageNotFound
	}
	return r.Form(p, ctx, at, t)
}

// A LocalizedError is an error of the dashboard itself, in the viewer's language. All other errors
// are in English.
type LocalizedError struct {
	Err  error // the error it stands for or is caused by
	Text string
}

func (e *LocalizedError) Error() string { return e.Text }

// Unwrap returns Err.
func (e *LocalizedError) Unwrap() error { return e.Err }

// objectURL returns the page of the entity, message or list that at names, without an action.
func (p *Pages) objectURL(at Address) string {
	at.Action, at.Query = "", nil
	return p.URL(at)
}

func (p *Pages) cancelURL(at Address, t FormState) string { return cmp.Or(t.Cancel, p.objectURL(at)) }

// Failure completes an error page with its shell. at may be the zero Address.
func (p *Pages) Failure(ctx context.Context, at Address, f page.Failure) view.Page {
	if at.Kind == "" {
		at = Address{Namespace: p.b.Name(), Kind: Overview}
	}
	f.Shell = p.staticShell(ctx, at, f.Heading(ctx))
	return f
}

// EntityKind returns the kind of the entity that a place names or would create.
func (p Address) EntityKind() engine.EntityKind {
	switch {
	case p.Kind == Queues:
		return engine.Queue
	case p.Kind == Topics:
		return engine.Topic
	case p.Action == "new":
		return engine.Subscription
	default:
		return p.EntityType
	}
}
