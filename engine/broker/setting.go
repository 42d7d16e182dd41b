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
