package login

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
	"mayfly/engine/fleet"
	"mayfly/web/identity"
)

// shared is what sessions of all servers on a store need. What is in it is guarded by the
// mutex of Sessions, but for what Share sets.
type shared struct {
	board  fleet.Board   // nil: sessions are of this server
	reader *fleet.Reader // likewise
	known  func(name string) (stamp [sha256.Size]byte, ok bool)
	log    *slog.Logger
	turn   chan struct{} // holds one: who tells the board

	// ended are those that are not to come back from the board: zero, as long as they are
	// not known to be taken down; then since when.
	ended map[[sha256.Size]byte]time.Time
}

// Share has sessions be those of all servers that have the board, from the beginning on:
// who has signed in at one has done so at all, and what ends at one ends at the others
// within a second or two. A session of a password is good here only if known has the same
// stamp for its name. They are kept up to date by Follow.
func (s *Sessions) Share(board fleet.Board, known func(name string) (stamp [sha256.Size]byte, ok bool), log *slog.Logger) {
	log = cmp.Or(log, slog.Default())
	s.shared = shared{board: board, known: known, log: log, turn: make(chan struct{}, 1), ended: map[[sha256.Size]byte]time.Time{}}
	s.reader = fleet.NewReader(board, noteKind, s.take, log)
}

const (
	noteKind     = "session" // on a board, where the ID of one is the hash of its cookie
	markEvery    = time.Minute
	tellPatience = 3 * time.Second
)

// A note is a session on a board: who that is, and nothing that opens it.
type note struct {
	ID    string    `json:"id"`
	Name  string    `json:"name"`
	Of    string    `json:"of,omitempty"` // what a provider knows them by
	Role  string    `json:"role"`
	Way   string    `json:"way"`
	Begun time.Time `json:"begun"`
	From  string    `json:"from,omitempty"`
	Agent string    `json:"agent,omitempty"`
	Stamp []byte    `json:"stamp,omitempty"`
}

func (s *session) note() string {
	raw, err := json.Marshal(note{
		ID: s.ID, Name: s.Who.Name, Of: s.Who.Subject, Role: s.Who.Role.String(), Way: s.Who.Way.String(), Begun: s.Begun.UTC(), From: s.From, Agent: s.Agent, Stamp: s.stamp[:],
	})
	if err != nil {
		panic(err) // texts and times
	}
	return string(raw)
}

// read is the session that a note tells of.
func read(n fleet.Note, at time.Time) (*session, error) {
	var in note
	if err := json.Unmarshal([]byte(n.Text), &in); err != nil {
		return nil, fmt.Errorf("read a session: %w", err)
	}
	is := &session{Session: Session{ID: in.ID, Begun: in.Begun, Seen: in.Begun, From: in.From, Agent: in.Agent}, over: make(chan struct{}), up: at}
	var err error
	if is.Who.Role, err = identity.ParseRole(in.Role); err != nil {
		return nil, fmt.Errorf("read a session: %w", err)
	}
	switch in.Way {
	case identity.Password.String():
		is.Who.Way = identity.Password
	case identity.OIDC.String():
		is.Who.Way = identity.OIDC
	default:
		return nil, fmt.Errorf("read a session: nobody signs in by %.20q", in.Way)
	}
	if in.ID == "" || len(in.Stamp) != len(is.stamp) {
		return nil, errors.New("read a session: it is not whole")
	}
	copy(is.stamp[:], in.Stamp)
	is.Who.Name, is.Who.Subject, is.Who.ID, is.Who.Over, is.Who.Until = in.Name, in.Of, in.ID, is.over, in.Begun.Add(LastsFor)
	return is, nil
}

// keyOf is what a note's ID says.
func keyOf(id string) (key [sha256.Size]byte, ok bool) {
	raw, err := hex.DecodeString(id)
	copy(key[:], raw)
	return key, err == nil && len(raw) == len(key)
}

// take has the sessions be those on the board: what has come, has come, and what has gone
// from there is over. What was begun or ended here meanwhile is as it is.
func (s *Sessions) take(notes []fleet.Note, began time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	there := map[[sha256.Size]byte]bool{}
	for _, n := range notes {
		key, ok := keyOf(n.ID)
		if _, ended := s.ended[key]; !ok || ended {
			continue
		}
		there[key] = true
		is := s.all[key]
		if is == nil {
			var err error
			if is, err = read(n, began); err != nil {
				s.log.Warn("somebody has signed in at another server of who knows what version, and is not known here", "error", err)
				continue
			}
			if !s.good(is) {
				continue
			}
			s.all[key] = is
		}
		if n.Marked.After(is.Seen) {
			is.Seen = n.Marked
		}
		is.marked = n.Marked
	}
	for key, is := range s.all {
		if !there[key] && !is.up.IsZero() && is.up.Before(began) {
			s.forget(key)
		}
	}
	for key, since := range s.ended {
		if !since.IsZero() && since.Before(began) {
			delete(s.ended, key)
		}
	}
}

// good tells whether this server knows whom a session is of, if it was begun at another.
func (s *Sessions) good(is *session) bool {
	if is.Who.Way != identity.Password {
		return true
	}
	stamp, ok := s.known(is.Who.Name)
	return ok && stamp == is.stamp
}

// lookAgain reads the board once more for whoever has a cookie that nobody knows here:
// it may have just been made at another server.
func (s *Sessions) lookAgain(ctx context.Context, key [sha256.Size]byte) {
	if s.board == nil {
		return
	}
	s.mu.Lock()
	_, ended := s.ended[key]
	known := s.all[key] != nil || ended
	s.mu.Unlock()
	if !known {
		_ = s.reader.Fresh(ctx) //nolint:errcheck // then it is not known
	}
}

// Follow keeps shared sessions up to date, until ctx ends.
func (s *Sessions) Follow(ctx context.Context) {
	if s.board != nil {
		s.reader.Run(ctx, func(ctx context.Context) { s.tell(ctx); s.mark(ctx) })
	}
}

// tell has the board know which sessions have begun and ended here. What it cannot be told
// now, it is told by Follow.
func (s *Sessions) tell(ctx context.Context) {
	if s.board == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tellPatience)
	defer cancel()
	select { // else what ends as it is put up might be taken down before
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
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
		if is.up.IsZero() {
			begun[key] = is.note()
		}
	}
	s.mu.Unlock()
	for key, text := range begun {
		err := s.board.PutUp(ctx, noteKind, hex.EncodeToString(key[:]), text)
		if err != nil && !errors.Is(err, engine.ErrExists) {
			s.log.Warn("other servers do not know yet that somebody has signed in; that is tried again", "error", err)
			return
		}
		s.mu.Lock()
		if is := s.all[key]; is != nil {
			is.up = time.Now()
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
	if err := s.board.TakeDown(ctx, noteKind, ids...); err != nil {
		s.log.Warn("other servers do not know yet that a session has ended; that is tried again", "error", err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range down {
		s.ended[key] = time.Now()
	}
}

// mark has other servers know when sessions were used here, to the minute.
func (s *Sessions) mark(ctx context.Context) {
	used := map[[sha256.Size]byte]time.Time{}
	s.mu.Lock()
	for key, is := range s.all {
		if !is.up.IsZero() && is.Seen.Sub(is.marked) >= markEvery && is.Seen.Sub(is.Begun) >= markEvery {
			used[key] = is.Seen
		}
	}
	s.mu.Unlock()
	for key, at := range used {
		if err := s.board.Mark(ctx, noteKind, hex.EncodeToString(key[:]), at); err != nil {
			return // Follow says what is wrong
		}
		s.mu.Lock()
		if is := s.all[key]; is != nil {
			is.marked = at
		}
		s.mu.Unlock()
	}
}
