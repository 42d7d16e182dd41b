package token

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/namespaces"
)

// A keyStore stores keys: the settings of the server's own namespace or, if servers share a
// store, their note store.
type keyStore interface {
	Settings(ctx context.Context, prefix string) ([]engine.Setting, error)
	UpdateSettings(ctx context.Context, prefix, actor string, change func([]engine.Setting) (broker.SettingsUpdate, error)) ([]engine.Setting, error)
	SetSetting(ctx context.Context, key, value string, seen *engine.Instant) (engine.Setting, error)
	DropSetting(ctx context.Context, key string) error
}

var (
	_ keyStore = (*broker.Broker)(nil)
	_ keyStore = noteKeyStore{}
)

// noteKind is the kind of the notes that store keys in a note store, with the keys' IDs.
const noteKind = "key"

// noteKeyStore stores keys in a note store, each as a note with the value that a setting would have.
type noteKeyStore struct {
	namespaces.NoteStore
	recordAudit func(ctx context.Context, done []broker.AuditEntry, actor string)
}

// unavailable returns errUnavailable with a reason.
func unavailable(why error) error { return fmt.Errorf("%w (%w)", errUnavailable, why) }

// settingsOf returns notes as settings. It leaves out keys whose parent is missing: they were
// made while the parent was revoked.
func settingsOf(notes []namespaces.Note) (all []engine.Setting) {
	there := map[string]bool{}
	for _, n := range notes {
		there[n.ID] = true
	}
	for _, n := range notes {
		var is storedKey
		if err := json.Unmarshal([]byte(n.Text), &is); err != nil { // the caller reports it
			all = append(all, engine.Setting{Key: settingPrefix + n.ID, Value: n.Text})
			continue
		}
		if is.Parent != "" && !there[is.Parent] {
			continue
		}
		if n.LastUsed.After(is.Used) {
			is.Used = n.LastUsed
			raw, err := json.Marshal(is)
			if err != nil {
				panic(err) // only texts and times
			}
			n.Text = string(raw)
		}
		all = append(all, engine.Setting{Key: settingPrefix + n.ID, Value: n.Text})
	}
	return all
}

// Settings returns all keys.
func (b noteKeyStore) Settings(ctx context.Context, _ string) ([]engine.Setting, error) {
	notes, err := b.Notes(ctx, noteKind)
	if err != nil {
		return nil, unavailable(err)
	}
	return settingsOf(notes), nil
}

// UpdateSettings adds and removes keys. Another server may do so at the same time: a key that
// was made with one which that server has revoked is not valid (settingsOf).
func (b noteKeyStore) UpdateSettings(ctx context.Context, _, actor string, change func([]engine.Setting) (broker.SettingsUpdate, error)) ([]engine.Setting, error) {
	all, err := b.Settings(ctx, settingPrefix)
	if err != nil {
		return nil, err
	}
	c, err := change(all)
	if err != nil {
		return nil, err
	}
	for _, s := range c.Set {
		if err := b.AddNote(ctx, noteKind, strings.TrimPrefix(s.Key, settingPrefix), s.Value); err != nil {
			return nil, unavailable(err)
		}
	}
	if len(c.Drop) > 0 {
		ids := make([]string, len(c.Drop))
		for i, key := range c.Drop {
			ids[i] = strings.TrimPrefix(key, settingPrefix)
		}
		if err := b.RemoveNotes(ctx, noteKind, ids...); err != nil {
			return nil, unavailable(err)
		}
	}
	if b.recordAudit != nil {
		b.recordAudit(ctx, c.Entries, actor)
	}
	return c.Set, nil
}

// SetSetting writes when a key was used: nothing else of a key ever changes.
func (b noteKeyStore) SetSetting(ctx context.Context, key, value string, _ *engine.Instant) (engine.Setting, error) {
	s := engine.Setting{Key: key, Value: value}
	k, _, err := decode(s)
	if err == nil {
		err = b.MarkNoteUsed(ctx, noteKind, k.ID, k.LastUsed)
	}
	return s, err
}

// DropSetting removes a key.
func (b noteKeyStore) DropSetting(ctx context.Context, key string) error {
	return b.RemoveNotes(ctx, noteKind, strings.TrimPrefix(key, settingPrefix))
}

// Follow keeps the Registry up to date with the note store, and writes when keys were used, until ctx
// ends. Without a note store it returns at once.
func (r *Registry) Follow(ctx context.Context) {
	if r.reader == nil {
		return
	}
	tidied := time.Now()
	r.reader.Run(ctx, func(ctx context.Context) {
		if time.Since(tidied) < saveUsedInterval {
			return
		}
		tidied = time.Now()
		if err := r.maintainOnce(ctx, r.store); err != nil && ctx.Err() == nil {
			r.o.Logger.Warn("the last use of tokens cannot be stored", "err", err)
		}
	})
}

// readNotes updates the Registry from the notes of a note store. It ignores the notes if a key was
// made or revoked here after `began`, when the reading began: the next reading has that change.
func (r *Registry) readNotes(notes []namespaces.Note, began time.Time) {
	kept := settingsOf(notes)
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.lastChange.Before(began) {
		return
	}
	if r.replaceKeys(kept) {
		r.changed()
	}
}

// reread reads the note store again if the ID of a secret is unknown here, because another server
// may have just issued it. It reports whether it read the store.
func (r *Registry) reread(ctx context.Context, of Kind, secret string) (looked bool) {
	id, ok := of.idOf(secret)
	if !ok || r.reader == nil {
		return false
	}
	r.mu.RLock()
	known := r.byID[id] != nil
	r.mu.RUnlock()
	return !known && r.reader.Refresh(ctx) == nil
}

// isUnavailable reports whether the keys are currently unknown. The caller holds mu, to read.
func (r *Registry) isUnavailable() bool {
	return r.store == nil || r.reader != nil && !r.reader.IsFresh()
}

// moveToNotes puts keys from the settings of b in the note store. They are from a backup of a store
// without a note store.
func (r *Registry) moveToNotes(ctx context.Context, b *broker.Broker) error {
	kept, err := b.Settings(ctx, settingPrefix)
	if err != nil {
		return err
	}
	for _, s := range kept {
		err := r.o.Notes.AddNote(ctx, noteKind, strings.TrimPrefix(s.Key, settingPrefix), s.Value)
		if err != nil && !errors.Is(err, engine.ErrExists) {
			return err
		}
		if err := b.DropSetting(ctx, s.Key); err != nil && !errors.Is(err, engine.ErrNotFound) {
			return err
		}
	}
	return nil
}
