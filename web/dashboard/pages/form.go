package pages

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"strconv"
	"strings"

	"mayfly/engine"
	"mayfly/engine/filter"
	"mayfly/engine/template"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/page/lab"
	"mayfly/views/page/send"
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

// FirstValues returns the first value of each field, as pages take them.
func (t FormState) FirstValues() map[string]string {
	out := make(map[string]string, len(t.Values))
	for name, v := range t.Values {
		if len(v) > 0 {
			out[name] = v[0]
		}
	}
	return out
}

// Form returns the form for the action at.Action, or its confirmation. It returns ErrPageNotFound
// if at has no such form.
func (p *Pages) Form(ctx context.Context, at Address, t FormState) (view.Page, error) {
	r := p.Route(at)
	if r == nil || r.Form == nil {
		return nil, ErrPageNotFound
	}
	return r.Form(ctx, p, at, t)
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

// ObjectURL returns the page of the entity, message or list that at names, without an action.
func (p *Pages) ObjectURL(at Address) string {
	at.Action, at.Query = "", nil
	return p.URL(at)
}

// CancelURL returns the target of a form's Cancel button.
func (p *Pages) CancelURL(at Address, t FormState) string { return cmp.Or(t.Cancel, p.ObjectURL(at)) }

// Failure completes an error page with its shell. at may be the zero Address.
func (p *Pages) Failure(ctx context.Context, at Address, f page.Failure) view.Page {
	if at.Kind == "" {
		at = Address{Namespace: p.Broker.Name(), Kind: Overview}
	}
	f.Shell = p.StaticShell(ctx, at, f.Heading(ctx))
	return f
}

// EntityKind returns the kind of the entity that an address names or would create.
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

// An Export selects messages to write to a file: those with Keys, else those at Path, or
// anywhere if it is empty, that match Query.
type Export struct {
	Keys  []engine.Key
	Path  string
	State string // state of messages at Path; empty means any
	Query string
}

// MaxSampleNames is how many of several messages a confirmation names.
const MaxSampleNames = 5

// MaxForwardTargets is how many forwarding targets a form suggests.
const MaxForwardTargets = 500

// StarterQueue is the queue that the dashboard offers to create at first start.
const StarterQueue = "starter"

// setRuleError puts an error of the engine about a rule at its field.
func (t *FormState) setRuleError(r engine.Rule, err error) {
	e, ok := errors.AsType[*engine.RuleError](err)
	if !ok {
		t.SetError(lab.RuleHow, component.ServerText(err.Error()))
		return
	}
	field, text := lab.RuleSQL, r.Filter.Text
	switch {
	case e.Part == engine.PartAction:
		field, text = lab.RuleAction, r.Action
	case r.Filter.Kind == engine.CorrelationFilter:
		field = lab.RuleConditionRows
	case r.Filter.Kind != engine.SQLFilter:
		field = lab.RuleHow
	}
	if s, ok := errors.AsType[*filter.SyntaxError](err); ok {
		t.SyntaxErrors[field] = SyntaxErrorOf(text, s)
		return
	}
	for name := range t.Errors { // errors of rows say more about wrong conditions
		if field == lab.RuleConditionRows && strings.HasPrefix(name, lab.RuleConditionPrefix) {
			return
		}
	}
	t.SetError(field, component.ServerText(ToSentence(e.Err.Error())))
}

// SyntaxErrorOf returns the position of a syntax error in a filter or an action.
func SyntaxErrorOf(text string, s *filter.SyntaxError) component.SyntaxError {
	return component.SyntaxError{Text: text, At: s.Pos, Found: s.Found, Want: s.Want, Message: s.Text}
}

// LimitRows sets an error on `field` if the table whose fields begin with `prefix` has more than
// MaxRowsRead rows.
func (t *FormState) LimitRows(ctx context.Context, prefix, field string) {
	if beyond := prefix + strconv.Itoa(MaxRowsRead); t.Values.Has(beyond+send.SendPropertyName) || t.Values.Has(beyond+send.SendPropertyValue) {
		t.SetError(field, component.Text{S: locale.T(ctx, "ui.rows", locale.Args{"Most": locale.Number(ctx, MaxRowsRead)})})
	}
}

// SetError sets the error of a field, unless the field already has one.
func (t *FormState) SetError(field string, says component.Text) {
	if t.Errors[field].S == "" {
		t.Errors[field] = says
	}
}

// A RuleTrial is a rule and a message to try it on; the filter lab has only a message.
type RuleTrial struct {
	Rule    engine.Rule
	Message engine.Content
}

// A Preview is a preview of the messages that a form would send.
type Preview struct {
	Template *template.CompiledDraft
	Seed     template.Seed
}
