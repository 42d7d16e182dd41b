package demo

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"

	"mayfly/engine"
	"mayfly/engine/template"
)

// A checker checks a scene, and records its problems.
type checker struct {
	limits   engine.Limits
	body     ast.Node        // the parsed scene; nil if the text is empty
	location location        // the part that is being checked
	names    []string        // names of messages so far
	created  map[string]bool // entities created so far, by folded path
	problems []Problem
}

// maxProblems is how many problems are reported at most.
const maxProblems = 50

func (c *checker) refuse(format string, args ...any) { c.refuseIn("", format, args...) }

// refuseIn records a problem with a member of the part that is being checked.
func (c *checker) refuseIn(member, format string, args ...any) {
	if len(c.problems) == maxProblems {
		return
	}
	path := c.location.path
	if member != "" {
		path = append(slices.Clip(path), member)
	}
	c.problems = append(c.problems, Problem{Line: lineAt(c.body, path), At: c.location.label, Text: fmt.Sprintf(format, args...)})
}

func (c *checker) check(err error) {
	if err != nil {
		c.refuse("%v", err)
	}
}

// checkText checks a displayed text, and reports whether it is valid.
func (c *checker) checkText(what, text string) bool {
	n := utf8.RuneCountInString(text)
	ok := strings.TrimSpace(text) != "" && n <= maxTextLength
	if !ok {
		c.refuseIn(what, "'%s' must be a text of 1 to %d characters, not %d.", cmp.Or(what, "text"), maxTextLength, n)
	}
	return ok
}

func (c *checker) checkMax(what string, n, most int) {
	if n > most {
		c.refuseIn(what, "The scene has %d of '%s'; the maximum is %d.", n, what, most)
	}
}

// path checks the path of an entity, and reports whether it is valid.
func (c *checker) path(text string) bool {
	_, err := engine.ParsePath(text, c.limits)
	c.check(err)
	return err == nil
}

// checkCreated checks a path of an entity or of its dead-letter queue, and that the scene has
// created the entity before.
func (c *checker) checkCreated(text string) {
	if e := engine.Path(text).Entity(); c.path(text) && !c.created[e.Fold()] {
		c.refuse("The entity '%s' has not been created before this step.", e)
	}
}

// checkMessageName checks that an earlier step has given a message this name.
func (c *checker) checkMessageName(name string) {
	if !slices.Contains(c.names, name) {
		c.refuse("The message '%s' has not been named before this step.", name)
	}
}

// check checks the scene that was parsed from body.
func (s *Scene) check(body ast.Node) error {
	c := &checker{limits: engine.DefaultLimits(), body: body, created: map[string]bool{}}
	c.checkText("title", s.Title)
	c.checkText("summary", s.Summary)
	if s.Minutes < 0 || s.Minutes > 999 {
		c.refuseIn("minutes", "'minutes' must be a number up to 999, not %d.", s.Minutes)
	}
	c.checkMax("shows", len(s.Shows), 50)
	c.checkMax("entities", len(s.Entities), maxEntities)
	c.checkMax("steps", len(s.Steps), maxSteps)
	if len(s.Steps) == 0 {
		c.refuseIn("steps", "The scene has no steps.")
	}
	for i := range s.Entities {
		c.location = location{fmt.Sprintf("entity %d", i+1), []any{"entities", i}}
		s.Entities[i].check(c)
	}
	for i := range s.Steps {
		s.Steps[i].check(c, i)
	}
	c.location = location{}
	s.checkWords(c)
	if len(c.problems) > 0 {
		return &SceneError{c.problems}
	}
	return nil
}

// check checks the step with index n.
func (s *Step) check(c *checker, n int) {
	at := location{fmt.Sprintf("step %d", n+1), []any{"steps", n}}
	c.location = at
	c.checkText("caption", s.Caption)
	if s.Page != "" && (s.Page[0] != '/' || len(s.Page) > 300 || strings.Contains(s.Page, "//") || strings.Contains(s.Page, "\\")) {
		c.refuseIn("page", "'page' must be the address of a page in the namespace, such as /q/orders, not '%s'.", s.Page)
	}
	c.checkMax("actions", len(s.Actions), maxActions)
	c.checkMax("expect", len(s.Expectations), maxExpectations)
	c.checkMax("highlight", len(s.Highlight), 10)
	for i := range s.Actions {
		c.location = at.in("actions", i)
		s.Actions[i].check(c)
	}
	for i, e := range s.Expectations {
		c.location = at.in("expect", i)
		e.check(c)
	}
	for i, m := range s.Highlight {
		c.location = at.in("highlight", i)
		if !slices.Contains(c.names, m) && !c.created[engine.Path(m).Entity().Fold()] {
			c.refuse("'highlight' must name a message or an entity from this or an earlier step, not '%s'.", m)
		}
	}
}

func (e *Entity) check(c *checker) {
	switch {
	case e.Queue != "" && e.Topic == "" && e.Subscription == "":
		e.kind, e.path = engine.Queue, engine.Path(e.Queue)
	case e.Topic != "" && e.Queue == "" && e.Subscription == "":
		e.kind, e.path = engine.Topic, engine.Path(e.Topic)
	case e.Subscription != "" && e.Queue == "" && e.Topic == "":
		e.kind, e.path = engine.Subscription, engine.Path(e.Subscription)
	default:
		c.refuse("An entity must be a 'queue', a 'topic' or a 'subscription'.")
		return
	}
	if !c.path(string(e.path)) {
		return
	}
	topic, _, is := e.path.Subscription()
	switch {
	case is && e.kind != engine.Subscription:
		c.refuse("'%s' is the path of a subscription. A queue or topic must have another name.", e.path)
	case !is && e.kind == engine.Subscription:
		c.refuse("The path of a subscription must have the form topic/Subscriptions/name, not '%s'.", e.path)
	case is:
		c.checkCreated(topic)
	}
	c.created[e.path.Fold()] = true
	at := c.location
	for _, name := range sorted(e.Properties) {
		c.location = location{at.label, append(slices.Clip(at.path), "properties", name)}
		p, ok := engine.LookupProperty(e.kind, name)
		if !ok {
			c.refuse("A %s has no property '%s'.", e.kind, name)
			continue
		}
		c.check(p.Set(&e.config, c.limits, e.kind, fmt.Sprint(e.Properties[name])))
	}
	c.location = at
	c.checkMax("rules", len(e.Rules), 20)
	if len(e.Rules) > 0 && e.kind != engine.Subscription {
		c.refuse("Only subscriptions have rules.")
	}
	for _, r := range e.Rules {
		if r.Name == "" || r.SQL == "" {
			c.refuse("A rule needs a 'name' and 'sql'.")
		}
		rule := engine.Rule{Name: r.Name, Filter: engine.Filter{Kind: engine.SQLFilter, Text: r.SQL}, Action: r.Action}
		if r.Name != "" && r.SQL != "" {
			c.check(engine.CheckRule(rule, c.limits))
		}
		e.rules = append(e.rules, rule)
	}
}

func (a *Action) check(c *checker) {
	settled := []string{a.Complete, a.Abandon, a.Release, a.Defer, a.Renew}
	if a.DeadLetter != nil {
		settled = append(settled, a.DeadLetter.Message)
	}
	n := 0
	for _, is := range []bool{a.Create != nil, a.Delete != "", a.Send != nil, a.Receive != nil, a.ReceiveDeferred != nil, a.DeadLetter != nil, a.Wait != ""} {
		if is {
			n++
		}
	}
	for _, name := range settled {
		if name != "" {
			c.checkMessageName(name)
			n++
		}
	}
	if a.DeadLetter != nil {
		n--
		c.checkMessageName(a.DeadLetter.Message)
	}
	if n != 1 {
		c.refuse("An action must have exactly one command, such as 'send', 'receive' or 'wait', not %d.", n)
		return
	}
	switch {
	case a.Create != nil:
		a.Create.check(c)
	case a.Delete != "":
		c.checkCreated(a.Delete)
	case a.Send != nil:
		a.Send.check(c)
	case a.Receive != nil:
		a.Receive.check(c)
	case a.ReceiveDeferred != nil:
		c.checkCreated(a.ReceiveDeferred.From)
		c.checkMessageName(a.ReceiveDeferred.Message)
	case a.Wait != "":
		a.checkWait(c)
	}
}

func (a *Action) checkWait(c *checker) {
	if m := Moment(a.Wait); slices.Contains(Moments(), m) {
		a.till = m
		return
	}
	d, never, err := engine.ParseDuration(a.Wait)
	if err != nil || never || d <= 0 || d > maxWait {
		c.refuse("'wait' must be a duration such as 30s, up to a year, or expiry, activation, unlock or auto-delete, not '%s'.", a.Wait)
	}
	a.wait = d
}

func (r *Receive) check(c *checker) {
	c.checkCreated(r.From)
	switch {
	case r.None && (r.As != "" || r.Count != 0):
		c.refuse("'none' cannot be combined with 'as' or 'count'.")
	case r.None:
	case r.Count < 0 || r.Count > 100:
		c.refuse("At most 100 messages can be received at once, not %d.", r.Count)
	case r.As == "":
		c.refuse("A received message needs a name: 'as'.")
	case r.Count > 1:
		for i := range r.Count {
			c.names = append(c.names, fmt.Sprint(r.As, i+1))
		}
	default:
		c.names = append(c.names, r.As)
	}
}

func (s *Send) check(c *checker) {
	c.checkCreated(s.To)
	if s.Repeat < 0 || s.Repeat > maxRepeat {
		c.refuse("A message can be sent at most %d times, not %d.", maxRepeat, s.Repeat)
		return
	}
	if s.As != "" && s.Repeat > 1 {
		c.refuse("'as' is only valid for a single message.")
	}
	for _, name := range []string{s.Like, s.SequenceNumberOf} {
		if name != "" {
			c.checkMessageName(name)
		}
	}
	d := template.Draft{
		MessageID: s.MessageID, CorrelationID: s.CorrelationID, Subject: s.Subject, ReplyTo: s.ReplyTo, TimeToLive: s.TimeToLive, Delay: s.Delay, Body: s.Body, Repeat: s.Repeat,
	}
	if s.SessionID != "" {
		d.SessionID = &s.SessionID
	}
	if s.Every != "" {
		every, never, err := engine.ParseDuration(s.Every)
		if err != nil || never {
			c.refuse("'every' must be a duration such as 10s, not '%s'.", s.Every)
		}
		d.Every = every
	}
	for _, name := range sorted(s.Properties) {
		p, err := newProperty(name, s.Properties[name])
		c.check(err)
		d.Properties = append(d.Properties, p)
	}
	compiled, err := d.Compile()
	if err == nil {
		err = compiled.Check(engine.Instant(1), template.Seed{}, c.limits)
	}
	c.check(err)
	s.compiled = compiled
	if s.As != "" {
		c.names = append(c.names, s.As)
	}
}

// newProperty returns an application property from its YAML value.
func newProperty(name string, v any) (template.Property, error) {
	p := template.Property{Name: name, Value: fmt.Sprint(v)}
	switch v.(type) {
	case string:
		p.Kind = "string"
	case bool:
		p.Kind = "bool"
	case uint64, int64, int:
		p.Kind = "long"
	case float64:
		p.Kind = "double"
	default:
		return p, errors.New("A property must be a text, a number, true or false: '" + name + "'.")
	}
	return p, nil
}

func sorted[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (e *Expectation) check(c *checker) {
	c.checkText("text", e.Text)
	switch {
	case (e.Entity == "") == (e.Message == ""):
		c.refuse("'expect' needs an 'entity' or a 'message'.")
	case e.Entity != "" && e.Gone:
		c.path(e.Entity)
	case e.Entity != "":
		c.checkCreated(e.Entity)
	default:
		c.checkMessageName(e.Message)
	}
	if !slices.Contains([]string{"", "active", "deferred", "scheduled", "locked"}, e.State) {
		c.refuse("The state of a message must be active, deferred, scheduled or locked, not '%s'.", e.State)
	}
	if e.In != "" {
		c.path(e.In)
	}
}
