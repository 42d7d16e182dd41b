package alert

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

// check returns rule in its stored form, or a FieldError if it is invalid.
func (r *Rules) check(rule Rule) (Rule, error) {
	rule = rule.normalized()
	if err := rule.check(); err != nil {
		return rule, err
	}
	if rule.URL != "" && r.o.AllowURL != nil {
		if err := r.o.AllowURL(rule.URL); err != nil {
			return rule, &FieldError{"url", err}
		}
	}
	return rule, nil
}

// Add creates a rule and assigns its ID. The error is a FieldError for an invalid rule,
// engine.ErrExists if another rule has its name, or engine.ErrQuota.
func (r *Rules) Add(ctx context.Context, rule Rule, actor string) (Status, error) {
	r.editing.Lock()
	defer r.editing.Unlock()
	rule.ID = 0
	rule, err := r.check(rule)
	if err != nil {
		return Status{}, err
	}
	if err := r.checkName(rule); err != nil {
		return Status{}, err
	}
	r.mu.Lock()
	n := len(r.all)
	rule.ID = r.last + 1
	r.mu.Unlock()
	if n >= MaxRules {
		return Status{}, engine.Refuse(engine.ErrQuota, "There are already %d alert rules, the maximum. Delete one first.", n)
	}
	change := broker.SettingChange{Setting: engine.Setting{Key: ruleKey(rule.ID), Value: encode(rule)}, Action: engine.SettingAction{Kind: engine.AddedAlert, Name: rule.Name}}
	if err := r.b.ApplySettings(ctx, []broker.SettingChange{change}, actor); err != nil {
		return Status{}, fmt.Errorf("add an alert rule: %w", err)
	}
	r.activate(&liveRule{rule: rule})
	return r.Rule(rule.ID)
}

// checkName returns engine.ErrExists if another rule has the same name.
func (r *Rules) checkName(rule Rule) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, l := range r.all {
		if id != rule.ID && strings.EqualFold(l.rule.Name, rule.Name) {
			return &FieldError{"name", engine.Refuse(engine.ErrExists, "The alert rule '%s' already exists. Choose another name.", rule.Name)}
		}
	}
	return nil
}

// Replace changes a rule but keeps its history. An empty secret keeps the present one if the
// webhook is still at the same host. For another host that is a FieldError, because that host
// could use requests signed with the secret to impersonate this server where the secret is
// known. The other errors are Add's, and ErrNoRule.
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
			return was, fieldError("secret", engine.ErrArgument, "The webhook's host has changed, so its secret was not kept. Enter the secret again, or a new one. To use no secret, save the rule without a webhook first.")
		}
		rule.Secret = was.Secret
	}
	return r.replace(ctx, was, rule, engine.ChangedAlert, actor)
}

// sameHost reports whether two addresses have the same scheme, host and port. Invalid
// addresses are refused elsewhere.
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

// SetPower pauses a rule, or resumes it.
func (r *Rules) SetPower(ctx context.Context, id ID, to Power, actor string) (Status, error) {
	r.editing.Lock()
	defer r.editing.Unlock()
	was, err := r.Rule(id)
	if err != nil || was.Off == (to == Off) {
		return was, err
	}
	rule := was.Rule
	rule.Off = to == Off
	return r.replace(ctx, was, rule, map[Power]engine.SettingActionKind{Off: engine.SwitchedOffAlert, On: engine.SwitchedOnAlert}[to], actor)
}

// Power is whether a rule is active.
type Power string

const (
	On  Power = "on"
	Off Power = "off"
)

func (r *Rules) replace(ctx context.Context, was Status, rule Rule, did engine.SettingActionKind, actor string) (Status, error) {
	rule, err := r.check(rule)
	if err != nil {
		return Status{}, err
	}
	if err := r.checkName(rule); err != nil {
		return Status{}, err
	}
	change := broker.SettingChange{Setting: engine.Setting{Key: ruleKey(rule.ID), Value: encode(rule)}, Action: engine.SettingAction{Kind: did, Name: was.Name}}
	if err := r.b.ApplySettings(ctx, []broker.SettingChange{change}, actor); err != nil {
		return Status{}, fmt.Errorf("change an alert rule: %w", err)
	}
	r.mu.Lock()
	l := r.all[rule.ID]
	state := l.state
	state.Trouble = ""
	if was.Condition != rule.Condition || was.Scope != rule.Scope {
		state.Alerted = nil
	}
	next := &liveRule{rule: rule, state: state, stored: l.stored, pending: l.pending}
	l.removed = true
	r.mu.Unlock()
	r.activate(next)
	return r.Rule(rule.ID)
}

// Remove removes a rule and its records. Alerts that it has sent remain in Alerts. The error is
// ErrNoRule if there is no such rule.
func (r *Rules) Remove(ctx context.Context, id ID, actor string) error {
	r.editing.Lock()
	defer r.editing.Unlock()
	was, err := r.Rule(id)
	if err != nil {
		return err
	}
	kept, err := r.b.Settings(ctx, seenKeyPrefix(id))
	if err != nil {
		return fmt.Errorf("delete an alert rule: %w", err)
	}
	changes := []broker.SettingChange{{Setting: engine.Setting{Key: ruleKey(id)}, Drop: true, Action: engine.SettingAction{Kind: engine.RemovedAlert, Name: was.Name}}}
	if err := r.b.ApplySettings(ctx, changes, actor); err != nil {
		return fmt.Errorf("delete an alert rule: %w", err)
	}
	r.mu.Lock()
	r.all[id].removed = true
	delete(r.all, id)
	r.version++
	r.notifyChanged()
	r.mu.Unlock()
	signal(r.rulesChanged)
	for _, s := range append(kept, engine.Setting{Key: stateKey(id)}) { // settings that remain are dropped at the next start
		if err := r.b.DropSetting(ctx, s.Key); err != nil && !errors.Is(err, engine.ErrNotFound) {
			return fmt.Errorf("delete the records of an alert rule: %w", err)
		}
	}
	return nil
}
