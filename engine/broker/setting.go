package broker

import (
	"context"

	"mayfly/engine"
)

// Setting is the one with this key; not ok if there is none.
func (r Reader) Setting(key string) (s engine.Setting, ok bool) { return r.ns.Setting(key) }

// Settings are those whose keys begin with prefix, in the order of their keys.
func (r Reader) Settings(prefix string) []engine.Setting { return r.ns.Settings(prefix) }

// Settings are those whose keys begin with prefix, in the order of their keys.
func (b *Broker) Settings(ctx context.Context, prefix string) (all []engine.Setting, err error) {
	err = b.Read(ctx, func(r Reader) error { all = r.Settings(prefix); return nil })
	return all, err
}

// SetSetting adds a setting, or gives the one with that key another value, and
// returns it as it is then. Unless seen is nil, that is done only if the setting
// is still the one that was changed at *seen, or if it is zero and there still is
// none; else the error is engine.ErrChanged.
func (b *Broker) SetSetting(ctx context.Context, key, value string, seen *engine.Instant) (engine.Setting, error) {
	return do(ctx, b, int64(len(value)), func(ns *engine.Namespace, now engine.Instant) (engine.Setting, error) {
		return ns.SetSetting(now, key, value, seen)
	})
}

// DropSetting forgets a setting. The error is engine.ErrNotFound if there is none.
func (b *Broker) DropSetting(ctx context.Context, key string) error {
	return act(ctx, b, func(ns *engine.Namespace, _ engine.Instant) error { return ns.DropSetting(key) })
}

// A SettingsChange is what is to become of several settings.
type SettingsChange struct {
	Set  []engine.Setting   // their keys and values; ChangedAt does not matter
	Drop []string           // keys
	What engine.SettingDeed // was done, for whoever reads what operators did
	// Deeds are what was done, instead of What, where there are events for that.
	Deeds []Deed
}

// A Deed is what an operator did, as Broker.Remember has it.
type Deed struct {
	Kind  engine.EventKind
	About string
}

// ChangeSettings shows change the settings whose keys begin with prefix, and does
// what it says, all of it or nothing, before anybody else can change them. It
// returns those that were set, as they are then, and remembers what was done by
// whom. The error is change's, or what SetSetting and DropSetting say. change may
// be called more than once, by the owner, and must not wait.
func (b *Broker) ChangeSettings(ctx context.Context, prefix, actor string, change func([]engine.Setting) (SettingsChange, error)) ([]engine.Setting, error) {
	return do(ctx, b, b.limits.SettingSize, func(ns *engine.Namespace, now engine.Instant) (set []engine.Setting, err error) {
		err = ns.Together(func() error {
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
			for _, d := range c.Deeds {
				ns.Remember(now, d.Kind, d.About, actor)
			}
			if len(c.Deeds) == 0 {
				ns.SettingsChanged(now, c.What, actor)
			}
			return nil
		})
		return set, err
	})
}
