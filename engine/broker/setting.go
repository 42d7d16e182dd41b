package broker

import (
	"context"

	"mayfly/engine"
)

// Setting returns the setting with this key; ok is false if there is none.
func (r Reader) Setting(key string) (s engine.Setting, ok bool) { return r.ns.Setting(key) }

// Settings returns the settings whose keys begin with prefix, in the order of their keys.
func (r Reader) Settings(prefix string) []engine.Setting { return r.ns.Settings(prefix) }

// Settings returns the settings whose keys begin with prefix, in the order of their keys.
func (b *Broker) Settings(ctx context.Context, prefix string) (all []engine.Setting, err error) {
	err = b.Read(ctx, func(r Reader) error { all = r.Settings(prefix); return nil })
	return all, err
}

// SetSetting adds a setting, or changes the value of the one with that key, and returns the result.
// If `seen` is not nil, the error is engine.ErrChanged unless the setting was last changed at
// *seen, or does not exist if *seen is zero.
func (b *Broker) SetSetting(ctx context.Context, key, value string, seen *engine.Instant) (engine.Setting, error) {
	return do(ctx, b, int64(len(value)), func(ns *engine.Namespace, now engine.Instant) (engine.Setting, error) {
		return ns.SetSetting(now, key, value, seen)
	})
}

// DropSetting removes a setting. The error is engine.ErrNotFound if there is none.
func (b *Broker) DropSetting(ctx context.Context, key string) error {
	return exec(ctx, b, func(ns *engine.Namespace, _ engine.Instant) error { return ns.DropSetting(key) })
}

// A SettingsUpdate is a change of several settings.
type SettingsUpdate struct {
	Set    []engine.Setting     // their keys and values; ChangedAt does not matter
	Drop   []string             // keys
	Action engine.SettingAction // the operator's action, for the audit trail
	// Entries are the operator's actions that have audit events of their own. If there are any,
	// Action is not audited.
	Entries []AuditEntry
}

// An AuditEntry is an operator's action, as for Broker.Audit.
type AuditEntry struct {
	Kind  engine.EventKind
	About string
}

// UpdateSettings passes the settings whose keys begin with prefix to `change`, and applies the
// update that `change` returns, all or nothing, in the same turn. It returns the settings that were
// set, and audits the action. The error is that of `change`, or of SetSetting or DropSetting. The
// owner calls `change`, possibly more than once, and it must not wait.
func (b *Broker) UpdateSettings(ctx context.Context, prefix, actor string, change func([]engine.Setting) (SettingsUpdate, error)) ([]engine.Setting, error) {
	return do(ctx, b, b.limits.SettingSize, func(ns *engine.Namespace, now engine.Instant) (set []engine.Setting, err error) {
		err = ns.Atomically(func() error {
			set = nil
			c, err := change(ns.Settings(prefix))
			if err != nil {
				return err
			}
			for _, key := range c.Drop {
				if err := ns.DropSetting(key); err != nil {
					return err
				}
			}
			for _, s := range c.Set {
				s, err := ns.SetSetting(now, s.Key, s.Value, nil)
				if err != nil {
					return err
				}
				set = append(set, s)
			}
			for _, d := range c.Entries {
				ns.Audit(now, d.Kind, d.About, actor)
			}
			if len(c.Entries) == 0 {
				ns.AuditSettings(now, c.Action, actor)
			}
			return nil
		})
		return set, err
	})
}

// A SettingChange is a change of one setting.
type SettingChange struct {
	Setting engine.Setting       // ChangedAt is not read
	Drop    bool                 // the setting is removed, not set
	Action  engine.SettingAction // the operator's action, which is audited in the same commit; zero if there was none
}

// ApplySettings makes changes to settings, all of them or none, as SetSetting and DropSetting do.
// UpdateSettings is for changes that depend on the present settings.
func (b *Broker) ApplySettings(ctx context.Context, changes []SettingChange, actor string) error {
	size := int64(0)
	for _, c := range changes {
		size += int64(len(c.Setting.Value)) + opSize
	}
	_, err := do(ctx, b, size, func(ns *engine.Namespace, now engine.Instant) (struct{}, error) {
		return struct{}{}, ns.Atomically(func() error {
			for _, c := range changes {
				if c.Drop {
					if err := ns.DropSetting(c.Setting.Key); err != nil {
						return err
					}
				} else if _, err := ns.SetSetting(now, c.Setting.Key, c.Setting.Value, nil); err != nil {
					return err
				}
				if c.Action.Kind != "" {
					ns.AuditSettings(now, c.Action, actor)
				}
			}
			return nil
		})
	})
	return err
}
