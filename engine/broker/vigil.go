package broker

import (
	"context"

	"mayfly/engine"
)

// Nearing walks through the messages in the order in which they run out.
func (r Reader) Nearing(from engine.Brink, until engine.Instant, limit int, covers func(engine.Path) bool) (rows []engine.Row, to engine.Brink, next engine.Instant) {
	return r.ns.Nearing(from, until, limit, covers)
}

// Idlers are the entities that delete themselves by until if nobody uses them.
func (r Reader) Idlers(until engine.Instant) []engine.Idler { return r.ns.Idlers(until) }

// Slipped is what came to be nearer to its end than what was looked at.
func (r Reader) Slipped() engine.Slip { return r.ns.Slipped() }

// Attend goes on with the vigil of the namespace, of which there is one. It changes
// nothing but what Slipped and Stirred tell.
func (r Reader) Attend(v engine.Vigil) { r.ns.Attend(v) }

// Unattended ends the vigil.
func (r Reader) Unattended() { r.ns.Unattended() }

// Stirred has a token when there is something new for who keeps the vigil: messages
// slipped, one came to be the next, or everything was loaded anew.
func (b *Broker) Stirred() <-chan struct{} { return b.stir }

func (b *Broker) stirred() {
	select {
	case b.stir <- struct{}{}:
	default:
	}
}

// A Change is a setting that changes.
type Change struct {
	Setting engine.Setting     // ChangedAt is not read
	Drop    bool               // it goes, instead
	What    engine.SettingDeed // was done by an operator, which is remembered in the same commit; zero: nobody did it
}

// Change makes changes to settings, all of them or none, as SetSetting and
// DropSetting do. ChangeSettings is for those that follow from what there is.
func (b *Broker) Change(ctx context.Context, changes []Change, actor string) error {
	size := int64(0)
	for _, c := range changes {
		size += int64(len(c.Setting.Value)) + opSize
	}
	_, err := do(ctx, b, size, func(ns *engine.Namespace, now engine.Instant) (struct{}, error) {
		return struct{}{}, ns.Together(func() error {
			for _, c := range changes {
				if c.Drop {
					if err := ns.DropSetting(c.Setting.Key); err != nil {
						return err
					}
				} else if _, err := ns.SetSetting(now, c.Setting.Key, c.Setting.Value, nil); err != nil {
					return err
				}
				if c.What.Did != "" {
					ns.SettingsChanged(now, c.What, actor)
				}
			}
			return nil
		})
	})
	return err
}
