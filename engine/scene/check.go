package scene

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"

	"mayfly/engine"
	"mayfly/engine/draft"
)

func refuse(format string, args ...any) error {
	return &engine.Refusal{Kind: engine.ErrArgument, Text: fmt.Sprintf(format, args...)}
}

// A checker goes through a scene, and says what is wrong and where.
type checker struct {
	limits engine.Limits
	body   ast.Node // what was read; nil: nothing
	at     place
	names  []string        // of messages, so far
	made   map[string]bool // entities, so far, by their paths in small letters
	wrong  []Fault
}

// mostFaults is how many are told at once.
const mostFaults = 50

func (c *checker) refuse(format string, args ...any) { c.refuseIn("", format, args...) }

// refuseIn says what is wrong with a member of what is being checked.
func (c *checker) refuseIn(member, format string, args ...any) {
	if len(c.wrong) == mostFaults {
		return
	}
	path := c.at.path
	if member != "" {
		path = append(slices.Clip(path), member)
	}
	c.wrong = append(c.wrong, Fault{Line: find(c.body, path), At: c.at.label, Text: fmt.Sprintf(format, args...)})
}

func (c *checker) check(err error) {
	if err != nil {
		c.refuse("%v", err)
	}
}

// words checks a text for people, and tells whether it is one.
func (c *checker) words(what, text string) bool {
	n := utf8.RuneCountInString(text)
	ok := strings.TrimSpace(text) != "" && n <= mostText
	if !ok {
		c.refuseIn(what, "'%s' is a text of 1 to %d characters, not %d.", cmp.Or(what, "text"), mostText, n)
	}
	return ok
}

func (c *checker) few(what string, n, most int) {
	if n > most {
		c.refuseIn(what, "There are %d of '%s'; %d are allowed.", n, what, most)
	}
}

// path checks what may be the path of an entity, and tells whether it is one.
func (c *checker) path(text string) bool {
	_, err := engine.ParsePath(text, c.limits)
	c.check(err)
	return err == nil
}

// there checks the path of an entity that the scene has made by then, or of its dead
// letters.
func (c *checker) there(text string) {
	if e := engine.Path(text).Entity(); c.path(text) && !c.made[e.Fold()] {
		c.refuse("The scene has made no entity '%s' by then.", e)
	}
}

// known checks the name of a message.
func (c *checker) known(name string) {
	if !slices.Contains(c.names, name) {
		c.refuse("No message is called '%s' by then.", name)
	}
}

// check checks what was read as body.
func (s *Scene) check(body ast.Node) error {
	c := &checker{limits: engine.DefaultLimits(), body: body, made: map[string]bool{}}
	c.words("title", s.Title)
	c.words("teaches", s.Teaches)
	if s.Minutes < 0 || s.Minutes > 999 {
		c.refuseIn("minutes", "'minutes' is a number up to 999, not %d.", s.Minutes)
	}
	c.few("shows", len(s.Shows), 50)
	c.few("entities", len(s.Entities), mostEntities)
	c.few("steps", len(s.Steps), mostSteps)
	if len(s.Steps) == 0 {
		c.refuseIn("steps", "It has no steps.")
	}
	for i := range s.Entities {
		c.at = place{fmt.Sprintf("entity %d", i+1), []any{"entities", i}}
		s.Entities[i].check(c)
	}
	for i := range s.Steps {
		s.Steps[i].check(c, i)
	}
	c.at = place{}
	s.checkWords(c)
	if len(c.wrong) > 0 {
		return &WrongError{c.wrong}
	}
	return nil
}

// check checks the step of that index.
func (s *Step) check(c *checker, n int) {
	at := place{fmt.Sprintf("step %d", n+1), []any{"steps", n}}
	c.at = at
	c.words("say", s.Say)
	if s.Look != "" && (s.Look[0] != '/' || len(s.Look) > 300 || strings.Contains(s.Look, "//") || strings.Contains(s.Look, "\\")) {
		c.refuseIn("look", "'look' is the address of a page below the namespace's, such as /q/orders, not '%s'.", s.Look)
	}
	c.few("do", len(s.Do), mostActions)
	c.few("then", len(s.Then), mostThen)
	c.few("mark", len(s.Mark), 10)
	for i := range s.Do {
		c.at = at.in("do", i)
		s.Do[i].check(c)
	}
	for i, e := range s.Then {
		c.at = at.in("then", i)
		e.check(c)
	}
	for i, m := range s.Mark {
		c.at = at.in("mark", i)
		if !slices.Contains(c.names, m) && !c.made[engine.Path(m).Entity().Fold()] {
			c.refuse("'mark' names a message or an entity that there is by then, not '%s'.", m)
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
		c.refuse("An entity is a 'queue', a 'topic' or a 'subscription'.")
		return
	}
	if !c.path(string(e.path)) {
		return
	}
	topic, _, is := e.path.Subscription()
	if is != (e.kind == engine.Subscription) {
		c.refuse("A subscription is called topic/Subscriptions/name, and nothing else is: '%s'.", e.path)
	} else if is {
		c.there(topic)
	}
	c.made[e.path.Fold()] = true
	at := c.at
	for _, name := range sorted(e.With) {
		c.at = place{at.label, append(slices.Clip(at.path), "with", name)}
		p, ok := engine.LookupProperty(e.kind, name)
		if !ok {
			c.refuse("A %s has no property '%s'.", e.kind, name)
			continue
		}
		c.check(p.Set(&e.config, c.limits, e.kind, fmt.Sprint(e.With[name])))
	}
	c.at = at
	c.few("rules", len(e.Rules), 20)
	if len(e.Rules) > 0 && e.kind != engine.Subscription {
		c.refuse("Only a subscription has rules.")
	}
	for _, r := range e.Rules {
		if r.Name == "" || r.SQL == "" {
			c.refuse("A rule has a 'name' and 'sql'.")
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
	for _, is := range []bool{a.Create != nil, a.Delete != "", a.Send != nil, a.Receive != nil, a.Fetch != nil, a.DeadLetter != nil, a.Wait != ""} {
		if is {
			n++
		}
	}
	for _, name := range settled {
		if name != "" {
			c.known(name)
			n++
		}
	}
	if a.DeadLetter != nil {
		n--
		c.known(a.DeadLetter.Message)
	}
	if n != 1 {
		c.refuse("An action does one thing, such as 'send', 'receive' or 'wait', not %d.", n)
		return
	}
	switch {
	case a.Create != nil:
		a.Create.check(c)
	case a.Delete != "":
		c.there(a.Delete)
	case a.Send != nil:
		a.Send.check(c)
	case a.Receive != nil:
		a.Receive.check(c)
	case a.Fetch != nil:
		c.there(a.Fetch.From)
		c.known(a.Fetch.Message)
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
	if err != nil || never || d <= 0 || d > longestWait {
		c.refuse("'wait' is a duration such as 30s, up to a year, or expiry, activation, unlock or auto-delete, not '%s'.", a.Wait)
	}
	a.wait = d
}

func (r *Receive) check(c *checker) {
	c.there(r.From)
	switch {
	case r.None && (r.As != "" || r.Count != 0):
		c.refuse("What is not there has no name and no count.")
	case r.None:
	case r.Count < 0 || r.Count > 100:
		c.refuse("Up to 100 messages are received at once, not %d.", r.Count)
	case r.As == "":
		c.refuse("What is received has a name: 'as'.")
	case r.Count > 1:
		for i := range r.Count {
			c.names = append(c.names, fmt.Sprint(r.As, i+1))
		}
	default:
		c.names = append(c.names, r.As)
	}
}

func (s *Send) check(c *checker) {
	c.there(s.To)
	if s.Times < 0 || s.Times > mostRepeat {
		c.refuse("A message is sent up to %d times, not %d.", mostRepeat, s.Times)
		return
	}
	if s.As != "" && s.Times > 1 {
		c.refuse("'as' is for a single message.")
	}
	for _, name := range []string{s.Like, s.NumberOf} {
		if name != "" {
			c.known(name)
		}
	}
	d := draft.Draft{
		MessageID: s.ID, CorrelationID: s.Correlation, Subject: s.Subject, ReplyTo: s.ReplyTo, TimeToLive: s.TTL, Delay: s.Delay, Body: s.Body, Repeat: s.Times,
	}
	if s.Session != "" {
		d.SessionID = &s.Session
	}
	if s.Every != "" {
		every, never, err := engine.ParseDuration(s.Every)
		if err != nil || never {
			c.refuse("'every' is a duration such as 10s, not '%s'.", s.Every)
		}
		d.Every = every
	}
	for _, name := range sorted(s.Properties) {
		p, err := property(name, s.Properties[name])
		c.check(err)
		d.Properties = append(d.Properties, p)
	}
	mould, err := d.Compile()
	if err == nil {
		err = mould.Check(engine.Instant(1), draft.Seed{}, c.limits)
	}
	c.check(err)
	s.mould = mould
	if s.As != "" {
		c.names = append(c.names, s.As)
	}
}

// property is an application property as YAML has it.
func property(name string, v any) (draft.Property, error) {
	p := draft.Property{Name: name, Value: fmt.Sprint(v)}
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
		return p, errors.New("A property is a text, a number, true or false: '" + name + "'.")
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

func (e *Expect) check(c *checker) {
	c.words("text", e.Text)
	switch {
	case (e.Entity == "") == (e.Message == ""):
		c.refuse("What is expected is of an 'entity' or of a 'message'.")
	case e.Entity != "" && e.Gone:
		c.path(e.Entity)
	case e.Entity != "":
		c.there(e.Entity)
	default:
		c.known(e.Message)
	}
	if !slices.Contains([]string{"", "active", "deferred", "scheduled", "locked"}, e.State) {
		c.refuse("A message is active, deferred, scheduled or locked, not '%s'.", e.State)
	}
	if e.In != "" {
		c.path(e.In)
	}
}
