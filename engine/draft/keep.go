package draft

import (
	"context"
	"errors"

	"mayfly/engine"
	"mayfly/engine/broker"
)

// Save keeps a draft as a template of a name, in place of what had that name, at the
// word of actor. The error is Keep's, or Room's.
func Save(ctx context.Context, b *broker.Broker, name string, d Draft, actor string) (Template, error) {
	s, err := Keep(name, d)
	if err != nil {
		return Template{}, err
	}
	return change(ctx, b, actor, func(all []engine.Setting) (broker.SettingsChange, error) {
		return broker.SettingsChange{Set: []engine.Setting{s}, What: engine.SettingDeed{Did: engine.KeptTemplate, Name: name}}, Room(all, s.Key)
	})
}

// Rename gives a template a name that no other has, at the word of actor. The error is
// ErrNoTemplate, engine.ErrExists or CheckName's.
func Rename(ctx context.Context, b *broker.Broker, from, to, actor string) (Template, error) {
	if err := CheckName(to); err != nil {
		return Template{}, err
	}
	return change(ctx, b, actor, func(all []engine.Setting) (c broker.SettingsChange, err error) {
		var was *engine.Setting
		for _, s := range all {
			switch s.Key {
			case Key(from):
				was = &s
			case Key(to):
				return c, refuse(engine.ErrExists, "There is a template '%s' already.", to)
			}
		}
		if was == nil {
			return c, ErrNoTemplate
		}
		c.Set, c.Drop = []engine.Setting{{Key: Key(to), Value: was.Value}}, []string{was.Key}
		c.What = engine.SettingDeed{Did: engine.RenamedTemplate, Name: from, To: to}
		return c, nil
	})
}

// Drop forgets a template, at the word of actor. The error is ErrNoTemplate if there
// is none.
func Drop(ctx context.Context, b *broker.Broker, name, actor string) error {
	_, err := b.ChangeSettings(ctx, Prefix, actor, func([]engine.Setting) (broker.SettingsChange, error) {
		return broker.SettingsChange{Drop: []string{Key(name)}, What: engine.SettingDeed{Did: engine.DeletedTemplate, Name: name}}, nil
	})
	if errors.Is(err, engine.ErrNotFound) {
		return ErrNoTemplate
	}
	return err //nolint:wrapcheck // it says what it is about
}

// change makes one that sets one template, and is that.
func change(ctx context.Context, b *broker.Broker, actor string, what func([]engine.Setting) (broker.SettingsChange, error)) (Template, error) {
	set, err := b.ChangeSettings(ctx, Prefix, actor, what)
	if err != nil {
		return Template{}, err //nolint:wrapcheck // it says what it is about
	}
	return Read(set[0])
}
