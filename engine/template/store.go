package template

import (
	"context"
	"errors"

	"mayfly/engine"
	"mayfly/engine/broker"
)

// Save stores a draft as a template, on behalf of actor. It replaces a template with the same name.
// The error is ToSetting's, or CheckQuota's.
func Save(ctx context.Context, b *broker.Broker, name string, d Draft, actor string) (Template, error) {
	s, err := ToSetting(name, d)
	if err != nil {
		return Template{}, err
	}
	return updateTemplates(ctx, b, actor, func(all []engine.Setting) (broker.SettingsUpdate, error) {
		return broker.SettingsUpdate{Set: []engine.Setting{s}, Action: engine.SettingAction{Kind: engine.SavedTemplate, Name: name}}, CheckQuota(all, s.Key)
	})
}

// Rename renames a template, on behalf of actor. The error is ErrNoTemplate, engine.ErrExists if the
// new name is in use, or CheckName's.
func Rename(ctx context.Context, b *broker.Broker, from, to, actor string) (Template, error) {
	if err := CheckName(to); err != nil {
		return Template{}, err
	}
	return updateTemplates(ctx, b, actor, func(all []engine.Setting) (c broker.SettingsUpdate, err error) {
		var was *engine.Setting
		for _, s := range all {
			switch s.Key {
			case SettingKey(from):
				was = &s
			case SettingKey(to):
				return c, engine.Refuse(engine.ErrExists, "The template '%s' already exists. Choose another name.", to)
			}
		}
		if was == nil {
			return c, ErrNoTemplate
		}
		c.Set, c.Drop = []engine.Setting{{Key: SettingKey(to), Value: was.Value}}, []string{was.Key}
		c.Action = engine.SettingAction{Kind: engine.RenamedTemplate, Name: from, To: to}
		return c, nil
	})
}

// Delete deletes a template, on behalf of actor. The error is ErrNoTemplate if there is none.
func Delete(ctx context.Context, b *broker.Broker, name, actor string) error {
	_, err := b.UpdateSettings(ctx, SettingPrefix, actor, func([]engine.Setting) (broker.SettingsUpdate, error) {
		return broker.SettingsUpdate{Drop: []string{SettingKey(name)}, Action: engine.SettingAction{Kind: engine.DeletedTemplate, Name: name}}, nil
	})
	if errors.Is(err, engine.ErrNotFound) {
		return ErrNoTemplate
	}
	return err
}

// updateTemplates makes a change that sets one template, and returns that template.
func updateTemplates(ctx context.Context, b *broker.Broker, actor string, what func([]engine.Setting) (broker.SettingsUpdate, error)) (Template, error) {
	set, err := b.UpdateSettings(ctx, SettingPrefix, actor, what)
	if err != nil {
		return Template{}, err
	}
	return FromSetting(set[0])
}
