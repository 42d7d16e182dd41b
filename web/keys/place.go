package keys

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/fleet"
)

// A place is where keys are kept: the settings of the server's own namespace or, where
// servers share a store, their board.
type place interface {
	Settings(ctx context.Context, prefix string) ([]engine.Setting, error)
	ChangeSettings(ctx context.Context, prefix, actor string, change func([]engine.Setting) (broker.SettingsChange, error)) ([]engine.Setting, error)
	SetSetting(ctx context.Context, key, value string, seen *engine.Instant) (engine.Setting, error)
	DropSetting(ctx context.Context, key string) error
}

var (
	_ place = (*broker.Broker)(nil)
	_ place = onBoard{}
)

// noteKind is what keys are called on a board, where their IDs are those of the notes.
const noteKind = "key"

// onBoard keeps keys on a board, each a note as settings have it.
type onBoard struct {
	fleet.Board
	remember func(ctx context.Context, done []broker.Deed, actor string)
}

// away is errAway for a reason.
func away(why error) error { return fmt.Errorf("%w (%w)", errAway, why) }

// settingsOf are notes as settings. A key that was made with one which is no longer there
// is none: it was made as that was revoked.
func settingsOf(notes []fleet.Note) (all []engine.Setting) {
	there := map[string]bool{}
	for _, n := range notes {
		there[n.ID] = true
	}
	for _, n := range notes {
		var is stored
		if err := json.Unmarshal([]byte(n.Text), &is); err != nil { // whoever takes it complains
			all = append(all, engine.Setting{Key: prefix + n.ID, Value: n.Text})
			continue
		}
		if is.Parent != "" && !there[is.Parent] {
			continue
		}
		if n.Marked.After(is.Used) {
			is.Used = n.Marked
			raw, err := json.Marshal(is)
			if err != nil {
				panic(err) // texts and times
			}
			n.Text = string(raw)
		}
		all = append(all, engine.Setting{Key: prefix + n.ID, Value: n.Text})
	}
	return all
}

// Settings are all keys.
func (b onBoard) Settings(ctx context.Context, _ string) ([]engine.Setting, error) {
	notes, err := b.Notes(ctx, noteKind)
	if err != nil {
		return nil, away(err)
	}
	return settingsOf(notes), nil
}

// ChangeSettings puts keys up and takes them down. Another server may do so at the same
// time: what was made with a key that it has revoked is good for nothing (settingsOf).
func (b onBoard) ChangeSettings(ctx context.Context, _, actor string, change func([]engine.Setting) (broker.SettingsChange, error)) ([]engine.Setting, error) {
	all, err := b.Settings(ctx, prefix)
	if err != nil {
		return nil, err
	}
	c, err := change(all)
	if err != nil {
		return nil, err
	}
	for _, s := range c.Set {
		if err := b.PutUp(ctx, noteKind, strings.TrimPrefix(s.Key, prefix), s.Value); err != nil {
			return nil, away(err)
		}
	}
	if len(c.Drop) > 0 {
		ids := make([]string, len(c.Drop))
		for i, key := range c.Drop {
			ids[i] = strings.TrimPrefix(key, prefix)
		}
		if err := b.TakeDown(ctx, noteKind, ids...); err != nil {
			return nil, away(err)
		}
	}
	if b.remember != nil {
		b.remember(ctx, c.Deeds, actor)
	}
	return c.Set, nil
}

// SetSetting says when a key was used: nothing else of one ever changes.
func (b onBoard) SetSetting(ctx context.Context, key, value string, _ *engine.Instant) (engine.Setting, error) {
	s := engine.Setting{Key: key, Value: value}
	k, _, err := decode(s)
	if err == nil {
		err = b.Mark(ctx, noteKind, k.ID, k.Used)
	}
	return s, err
}

// DropSetting takes a key down.
func (b onBoard) DropSetting(ctx context.Context, key string) error {
	return b.TakeDown(ctx, noteKind, strings.TrimPrefix(key, prefix)) //nolint:wrapcheck // it says what it is about
}

// Follow has the ring know what is on the board, and writes when keys were used, until ctx
// ends. Without a board it returns at once.
func (r *Ring) Follow(ctx context.Context) {
	if r.reader == nil {
		return
	}
	tidied := time.Now()
	r.reader.Run(ctx, func(ctx context.Context) {
		if time.Since(tidied) < keepEvery {
			return
		}
		tidied = time.Now()
		if err := r.tidy(ctx, r.at); err != nil && ctx.Err() == nil {
			r.o.Logger.Warn("when tokens were used cannot be written", "error", err)
		}
	})
}

// read has the ring know the notes of a board. What was made or revoked here meanwhile
// is as it is: whoever reads again sees that.
func (r *Ring) read(notes []fleet.Note, began time.Time) {
	kept := settingsOf(notes)
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.altered.Before(began) {
		return
	}
	if r.take(kept) {
		r.changed()
	}
}

// lookAgain reads the board once more for whoever has a secret that nobody knows here:
// another server may have just told it.
func (r *Ring) lookAgain(ctx context.Context, of Kind, secret string) (looked bool) {
	id, ok := of.idOf(secret)
	if !ok || r.reader == nil {
		return false
	}
	r.mu.RLock()
	known := r.byID[id] != nil
	r.mu.RUnlock()
	return !known && r.reader.Fresh(ctx) == nil
}

// away tells whether it is not known which keys there are. The caller holds mu, to read.
func (r *Ring) away() bool {
	return r.at == nil || r.reader != nil && !r.reader.Believed()
}

// move puts the keys up that were kept as settings of b, before there was a board, or
// where a backup was made.
func (r *Ring) move(ctx context.Context, b *broker.Broker) error {
	kept, err := b.Settings(ctx, prefix)
	if err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	for _, s := range kept {
		err := r.o.Board.PutUp(ctx, noteKind, strings.TrimPrefix(s.Key, prefix), s.Value)
		if err != nil && !errors.Is(err, engine.ErrExists) {
			return err //nolint:wrapcheck // likewise
		}
		if err := b.DropSetting(ctx, s.Key); err != nil && !errors.Is(err, engine.ErrNotFound) {
			return err //nolint:wrapcheck // likewise
		}
	}
	return nil
}
