package rescue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"mayfly/engine"
	"mayfly/engine/broker"
)

// check is a rule as it would be kept.
func (r *Rules) check(rule Rule) (Rule, error) {
	rule = rule.plain()
	if err := rule.check(); err != nil {
		return rule, err
	}
	if rule.URL != "" && r.o.Admit != nil {
		if err := r.o.Admit(rule.URL); err != nil {
			return rule, &FieldError{"url", err}
		}
	}
	return rule, nil
}

// Add makes a rule, which gets a number. The error is a FieldError for one that
// cannot be, engine.ErrExists where another has its name, engine.ErrQuota.
func (r *Rules) Add(ctx context.Context, rule Rule, actor string) (Status, error) {
	r.editing.Lock()
	defer r.editing.Unlock()
	rule.ID = 0
	rule, err := r.check(rule)
	if err != nil {
		return Status{}, err
	}
	if err := r.named(rule); err != nil {
		return Status{}, err
	}
	r.mu.Lock()
	n := len(r.all)
	rule.ID = r.last + 1
	r.mu.Unlock()
	if n >= RulesMost {
		return Status{}, &engine.Refusal{Kind: engine.ErrQuota, Text: fmt.Sprintf("There are %d rules for rescue and alerts, which is the most there may be.", n)}
	}
	change := broker.Change{Setting: engine.Setting{Key: ruleKey(rule.ID), Value: encode(rule)}, What: engine.SettingDeed{Did: engine.AddedAlert, Name: rule.Name}}
	if err := r.b.Change(ctx, []broker.Change{change}, actor); err != nil {
		return Status{}, fmt.Errorf("add a rule: %w", err)
	}
	r.put(&live{rule: rule})
	return r.Rule(rule.ID)
}

// named is engine.ErrExists where another rule has the same name.
func (r *Rules) named(rule Rule) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, l := range r.all {
		if id != rule.ID && strings.EqualFold(l.rule.Name, rule.Name) {
			return &FieldError{"name", &engine.Refusal{Kind: engine.ErrExists, Text: fmt.Sprintf("Another rule is called '%s'.", rule.Name)}}
		}
	}
	return nil
}

// Replace gives a rule other words; what it has done so far stays its own. An empty
// secret is the one it had, if its webhook is at the same host still: it does not go
// to another, which could have what is signed for it pass for ours where the secret
// is known. That is a FieldError. The other errors are Add's, and ErrNoRule.
func (r *Rules) Replace(ctx context.Context, id ID, rule Rule, actor string) (Status, error) {
	r.editing.Lock()
	defer r.editing.Unlock()
	was, err := r.Rule(id)
	if err != nil {
		return Status{}, err
	}
	rule.ID, rule.URL = id, strings.TrimSpace(rule.URL)
	if rule.Secret == "" && rule.URL != "" && was.Secret != "" {
		if !sameHost(was.URL, rule.URL) {
			return was, wrong("secret", engine.ErrArgument, "The webhook leads to another host than before, and its secret stays behind: write it again, or a new one. To have none, save the rule without a webhook first.")
		}
		rule.Secret = was.Secret
	}
	return r.replace(ctx, was, rule, engine.ChangedAlert, actor)
}

// sameHost tells whether two addresses have the same scheme, host and port. One that
// cannot be read is refused elsewhere.
func sameHost(a, b string) bool {
	u, err := url.Parse(a)
	v, bad := url.Parse(b)
	if err != nil || bad != nil {
		return bad != nil
	}
	port := func(u *url.URL) string {
		return cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[strings.ToLower(u.Scheme)])
	}
	return strings.EqualFold(u.Scheme, v.Scheme) && strings.EqualFold(u.Hostname(), v.Hostname()) && port(u) == port(v)
}

// Switch has a rule rest, or work again.
func (r *Rules) Switch(ctx context.Context, id ID, to Power, actor string) (Status, error) {
	r.editing.Lock()
	defer r.editing.Unlock()
	was, err := r.Rule(id)
	if err != nil || was.Off == (to == Off) {
		return was, err
	}
	rule := was.Rule
	rule.Off = to == Off
	return r.replace(ctx, was, rule, map[Power]engine.SettingDid{Off: engine.SwitchedOffAlert, On: engine.SwitchedOnAlert}[to], actor)
}

// Power is whether a rule works.
type Power string

// What Switch does.
const (
	On  Power = "on"
	Off Power = "off"
)

func (r *Rules) replace(ctx context.Context, was Status, rule Rule, did engine.SettingDid, actor string) (Status, error) {
	rule, err := r.check(rule)
	if err != nil {
		return Status{}, err
	}
	if err := r.named(rule); err != nil {
		return Status{}, err
	}
	change := broker.Change{Setting: engine.Setting{Key: ruleKey(rule.ID), Value: encode(rule)}, What: engine.SettingDeed{Did: did, Name: was.Name}}
	if err := r.b.Change(ctx, []broker.Change{change}, actor); err != nil {
		return Status{}, fmt.Errorf("change a rule: %w", err)
	}
	r.mu.Lock()
	l := r.all[rule.ID]
	state := l.state
	state.Trouble = ""
	if was.When != rule.When || was.In != rule.In {
		state.Above = nil
	}
	next := &live{rule: rule, state: state, told: l.told, due: l.due}
	l.gone = true
	r.mu.Unlock()
	r.put(next)
	return r.Rule(rule.ID)
}

// Remove has a rule be no more. What it told stays told.
func (r *Rules) Remove(ctx context.Context, id ID, actor string) error {
	r.editing.Lock()
	defer r.editing.Unlock()
	was, err := r.Rule(id)
	if err != nil {
		return err
	}
	kept, err := r.b.Settings(ctx, seenOf(id))
	if err != nil {
		return fmt.Errorf("remove a rule: %w", err)
	}
	changes := []broker.Change{{Setting: engine.Setting{Key: ruleKey(id)}, Drop: true, What: engine.SettingDeed{Did: engine.RemovedAlert, Name: was.Name}}}
	if err := r.b.Change(ctx, changes, actor); err != nil {
		return fmt.Errorf("remove a rule: %w", err)
	}
	r.mu.Lock()
	r.all[id].gone = true
	delete(r.all, id)
	r.version++
	r.news()
	r.mu.Unlock()
	wake(r.edited)
	for _, s := range append(kept, engine.Setting{Key: stateKey(id)}) { // what stays goes at the next start
		if err := r.b.DropSetting(ctx, s.Key); err != nil && !errors.Is(err, engine.ErrNotFound) {
			return fmt.Errorf("forget what a rule remembered: %w", err)
		}
	}
	return nil
}
