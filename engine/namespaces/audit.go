package namespaces

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
)

const (
	actionNote    = "deed" // kind of the notes with actions
	auditTimeout  = 5 * time.Second
	auditInterval = time.Second
	// maxActionNotes is how many actions may wait in the note store until a server owns the main
	// namespace. Further ones are only logged.
	maxActionNotes = 1000
)

// An action is an operator's action that one server leaves in the note store for another to audit.
type action struct {
	Kind  string `json:"kind"`
	About string `json:"about,omitempty"`
	Actor string `json:"actor,omitempty"`
}

// Audit audits an operator's action on the server in the server's own namespace; kind must be one
// of the server's, see engine.EventKind.OfServer. If another server owns that namespace, that
// server records the action within seconds, through the note store; if no server owns it, the
// action is recorded later. An action may be recorded twice if a server crashes. An action that
// cannot be recorded is logged.
func (f *Manager) Audit(ctx context.Context, kind engine.EventKind, about, actor string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), auditTimeout)
	defer cancel()
	err := engine.ErrClosed
	if b := f.main.openBroker(); b != nil {
		err = b.Audit(ctx, kind, about, actor)
	}
	if err != nil && f.o.Notes != nil {
		err = f.postAction(ctx, action{kind.String(), about, actor})
	}
	if err != nil {
		f.log.Warn("an operation was not recorded in the activity log", "action", kind, "target", about, "actor", actor, "err", err)
	}
}

// postAction posts an action to the note store, after earlier ones.
func (f *Manager) postAction(ctx context.Context, d action) error {
	there, err := f.o.Notes.Notes(ctx, actionNote)
	if err != nil {
		return err
	}
	if len(there) >= maxActionNotes {
		return fmt.Errorf("%d records are already waiting", len(there))
	}
	raw, err := json.Marshal(d)
	if err != nil {
		panic(err) // texts
	}
	id := fmt.Sprintf("%020d-%010d-%s", time.Now().UnixNano(), f.actionNotes.Add(1), strings.ToLower(rand.Text()[:8])) // ids are sorted by time
	return f.o.Notes.AddNote(ctx, actionNote, id, string(raw))
}

// pollActions audits the actions that other servers have posted, while this server owns its own
// namespace.
func (f *Manager) pollActions() {
	every := time.NewTicker(auditInterval)
	defer every.Stop()
	for logged := false; ; {
		if b := f.main.openBroker(); b != nil {
			err := f.auditPosted(b)
			if err != nil && !logged && f.ctx.Err() == nil {
				f.log.Warn("operations could not be published to other servers; retrying", "err", err)
			}
			logged = err != nil
		}
		select {
		case <-every.C:
		case <-f.ctx.Done():
			return
		}
	}
}

func (f *Manager) auditPosted(b *broker.Broker) error {
	ctx, cancel := context.WithTimeout(f.ctx, auditTimeout)
	defer cancel()
	notes, err := f.o.Notes.Notes(ctx, actionNote)
	if err != nil {
		return err
	}
	for _, n := range notes {
		var d action
		kind, ok := engine.EventKind(0), false
		if err := json.Unmarshal([]byte(n.Text), &d); err == nil {
			kind, ok = engine.ServerEvent(d.Kind)
		}
		if !ok {
			f.log.Warn("an operation of another server was not recorded in the activity log", "action", d.Kind, "target", d.About, "actor", d.Actor)
		} else if err := b.Audit(ctx, kind, d.About, d.Actor); err != nil {
			return err
		}
		if err := f.o.Notes.RemoveNotes(ctx, actionNote, n.ID); err != nil {
			return err
		}
	}
	return nil
}
