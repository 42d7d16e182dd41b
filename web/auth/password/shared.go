package password

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"mayfly/engine"
	"mayfly/engine/namespaces"
	"mayfly/web/auth"
)

// shared is the state for sessions of all servers that share a store. It is guarded by the
// mutex of Sessions, except for the fields that Share sets.
type shared struct {
	notes        namespaces.NoteStore   // nil if sessions are of this server alone
	reader       *namespaces.NoteReader // nil if notes is
	currentStamp func(name string) (stamp [sha256.Size]byte, ok bool)
	log          *slog.Logger
	updating     chan struct{} // holds one: the call that updates the note store

	// ended has the sessions that must not come back from the note store, with the times at which
	// they were removed from it. A zero time means that the removal has not succeeded yet.
	ended map[[sha256.Size]byte]time.Time
}

// Share makes the sessions common to all servers that use the note store; call it before use. A
// session that begins at one server is valid at all, and one that ends at one ends at the others
// within a second or two. A session that began with a password is valid here only if `known` returns
// the same stamp for its user's name. Follow keeps the sessions up to date.
func (s *Sessions) Share(notes namespaces.NoteStore, known func(name string) (stamp [sha256.Size]byte, ok bool), log *slog.Logger) {
	log = cmp.Or(log, slog.Default())
	s.shared = shared{notes: notes, currentStamp: known, log: log, updating: make(chan struct{}, 1), ended: map[[sha256.Size]byte]time.Time{}}
	s.reader = namespaces.NewNoteReader(notes, noteKind, s.mergeNotes, log)
}

const (
	noteKind           = "session" // in a note store, where a note's ID is the hash of the cookie
	publishUseInterval = time.Minute
	publishTimeout     = 3 * time.Second
)

// A sessionNote is a session in a note store: its user, and nothing that gives access.
type sessionNote struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	Subject string    `json:"of,omitempty"` // the provider's subject
	Role    string    `json:"role"`
	Way     string    `json:"way"`
	Begun   time.Time `json:"begun"`
	From    string    `json:"from,omitempty"`
	Agent   string    `json:"agent,omitempty"`
	Stamp   []byte    `json:"stamp,omitempty"`
}

func (s *session) encodeNote() string {
	raw, err := json.Marshal(sessionNote{
		ID: s.ID, Name: s.Caller.Name, Subject: s.Caller.Subject, Role: s.Caller.Role.String(), Way: s.Caller.Method.String(), Begun: s.Started.UTC(), From: s.Address, Agent: s.Agent, Stamp: s.stamp[:],
	})
	if err != nil {
		panic(err) // only texts and times
	}
	return string(raw)
}

// decodeNote returns the session in a note.
func decodeNote(n namespaces.Note, at time.Time) (*session, error) {
	var in sessionNote
	if err := json.Unmarshal([]byte(n.Text), &in); err != nil {
		return nil, fmt.Errorf("read a session: %w", err)
	}
	is := &session{Session: Session{ID: in.ID, Started: in.Begun, LastSeen: in.Begun, Address: in.From, Agent: in.Agent}, done: make(chan struct{}), postedAt: at}
	var err error
	if is.Caller.Role, err = auth.ParseRole(in.Role); err != nil {
		return nil, fmt.Errorf("read a session: %w", err)
	}
	switch in.Way {
	case auth.Password.String():
		is.Caller.Method = auth.Password
	case auth.OIDC.String():
		is.Caller.Method = auth.OIDC
	default:
		return nil, fmt.Errorf("read a session: unknown sign-in method %.20q", in.Way)
	}
	if in.ID == "" || len(in.Stamp) != len(is.stamp) {
		return nil, errors.New("read a session: fields are missing")
	}
	copy(is.stamp[:], in.Stamp)
	is.Caller.Name, is.Caller.Subject, is.Caller.ID, is.Caller.Done, is.Caller.Expires = in.Name, in.Subject, in.ID, is.done, in.Begun.Add(Lifetime)
	return is, nil
}

// parseNoteID returns the hash in a note's ID.
func parseNoteID(id string) (key [sha256.Size]byte, ok bool) {
	raw, err := hex.DecodeString(id)
	copy(key[:], raw)
	return key, err == nil && len(raw) == len(key)
}

// mergeNotes updates the sessions from the notes of the note store: it adds new sessions, and ends
// sessions that are no longer there. It does not change sessions that began or ended here after the
// time `began`, when the reading began.
func (s *Sessions) mergeNotes(notes []namespaces.Note, began time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	there := map[[sha256.Size]byte]bool{}
	for _, n := range notes {
		key, ok := parseNoteID(n.ID)
		if _, ended := s.ended[key]; !ok || ended {
			continue
		}
		there[key] = true
		is := s.all[key]
		if is == nil {
			var err error
			if is, err = decodeNote(n, began); err != nil {
				s.log.Warn("a session of another server cannot be read; the user must sign in again at this server", "err", err)
				continue
			}
			if !s.isValid(is) {
				continue
			}
			s.all[key] = is
		}
		if n.LastUsed.After(is.LastSeen) {
			is.LastSeen = n.LastUsed
		}
		is.postedUse = n.LastUsed
	}
	for key, is := range s.all {
		if !there[key] && !is.postedAt.IsZero() && is.postedAt.Before(began) {
			s.forget(key)
		}
	}
	for key, since := range s.ended {
		if !since.IsZero() && since.Before(began) {
			delete(s.ended, key)
		}
	}
}

// isValid reports whether a session that began at another server is valid here.
func (s *Sessions) isValid(is *session) bool {
	if is.Caller.Method != auth.Password {
		return true
	}
	stamp, ok := s.currentStamp(is.Caller.Name)
	return ok && stamp == is.stamp
}

// reread reads the note store once more for a cookie that is unknown here: the session may have
// just begun at another server.
func (s *Sessions) reread(ctx context.Context, key [sha256.Size]byte) {
	if s.notes == nil {
		return
	}
	s.mu.Lock()
	_, ended := s.ended[key]
	known := s.all[key] != nil || ended
	s.mu.Unlock()
	if !known {
		_ = s.reader.Refresh(ctx) //nolint:errcheck // the session stays unknown
	}
}

// Follow keeps shared sessions up to date, until ctx ends.
func (s *Sessions) Follow(ctx context.Context) {
	if s.notes != nil {
		s.reader.Run(ctx, func(ctx context.Context) { s.publish(ctx); s.publishUse(ctx) })
	}
}

// publish adds sessions that began here to the note store, and removes those that ended here.
// Follow retries what fails.
func (s *Sessions) publish(ctx context.Context) {
	if s.notes == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), publishTimeout)
	defer cancel()
	select { // so that a session is not removed before it is added
	case s.updating <- struct{}{}:
		defer func() { <-s.updating }()
	case <-ctx.Done():
		return
	}
	var down [][sha256.Size]byte
	begun := map[[sha256.Size]byte]string{}
	s.mu.Lock()
	for key, since := range s.ended {
		if since.IsZero() {
			down = append(down, key)
		}
	}
	for key, is := range s.all {
		if is.postedAt.IsZero() {
			begun[key] = is.encodeNote()
		}
	}
	s.mu.Unlock()
	for key, text := range begun {
		err := s.notes.AddNote(ctx, noteKind, hex.EncodeToString(key[:]), text)
		if err != nil && !errors.Is(err, engine.ErrExists) {
			s.log.Warn("a session is not shared with other servers yet; retrying", "err", err)
			return
		}
		s.mu.Lock()
		if is := s.all[key]; is != nil {
			is.postedAt = time.Now()
		}
		s.mu.Unlock()
	}
	if len(down) == 0 {
		return
	}
	ids := make([]string, len(down))
	for i, key := range down {
		ids[i] = hex.EncodeToString(key[:])
	}
	if err := s.notes.RemoveNotes(ctx, noteKind, ids...); err != nil {
		s.log.Warn("the end of a session is not shared with other servers yet; retrying", "err", err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range down {
		s.ended[key] = time.Now()
	}
}

// publishUse writes the last use of each session on this server to the note store, at most once per
// publishUseInterval and session.
func (s *Sessions) publishUse(ctx context.Context) {
	used := map[[sha256.Size]byte]time.Time{}
	s.mu.Lock()
	for key, is := range s.all {
		if !is.postedAt.IsZero() && is.LastSeen.Sub(is.postedUse) >= publishUseInterval && is.LastSeen.Sub(is.Started) >= publishUseInterval {
			used[key] = is.LastSeen
		}
	}
	s.mu.Unlock()
	for key, at := range used {
		if err := s.notes.MarkNoteUsed(ctx, noteKind, hex.EncodeToString(key[:]), at); err != nil {
			return // Follow logs the reason
		}
		s.mu.Lock()
		if is := s.all[key]; is != nil {
			is.postedUse = at
		}
		s.mu.Unlock()
	}
}
