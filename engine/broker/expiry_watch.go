package broker

import (
	"context"

	"mayfly/engine"
)

// ExpiringFrom returns messages in the order in which they expire.
func (r Reader) ExpiringFrom(from engine.ExpiryCursor, until engine.Instant, limit int, covers func(engine.Path) bool) (rows []engine.Row, to engine.ExpiryCursor, next engine.Instant) {
	return r.ns.ExpiringFrom(from, until, limit, covers)
}

// IdleEntities returns the entities that delete themselves by until if they are not used.
func (r Reader) IdleEntities(until engine.Instant) []engine.IdleEntity {
	return r.ns.IdleEntities(until)
}

// MissedExpiries returns what came to be nearer to its end than what was looked at.
func (r Reader) MissedExpiries() engine.MissedExpiries { return r.ns.MissedExpiries() }

// WatchExpiry continues the namespace's expiry watch, of which there is one. It changes only what
// MissedExpiries and ExpiryChanged report.
func (r Reader) WatchExpiry(v engine.ExpiryWatch) { r.ns.WatchExpiry(v) }

// StopExpiryWatch ends the expiry watch.
func (r Reader) StopExpiryWatch() { r.ns.StopExpiryWatch() }

// ExpiryChanged has a token when there is news for the expiry watch: messages were missed,
// another message is now the next, or everything was loaded again.
func (b *Broker) ExpiryChanged() <-chan struct{} { return b.expiryChanged }

func (b *Broker) signalExpiryChanged() {
	select {
	case b.expiryChanged <- struct{}{}:
	default:
	}
}

// A SettingChange is a change of one setting.
type SettingChange struct {
	Setting engine.Setting       // ChangedAt is not read
	Drop    bool                 // remove it instead
	Action  engine.SettingAction // the operator's action, which is audited in the same commit; zero if there was none
}

// ApplySettings makes changes to settings, all of them or none, as SetSetting and DropSetting do.
// Use UpdateSettings for changes that depend on the present settings.
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
