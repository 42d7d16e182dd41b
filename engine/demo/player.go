package demo

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/namespaces"
)

// DefaultIdleTimeout is how long a playback is kept that no page shows any more.
const DefaultIdleTimeout = 30 * time.Minute

// evictAfter is how long a playback must be unwatched before it may be ended to make room for
// another.
const evictAfter = 5 * time.Minute

// A Namespaces holds the namespaces of playbacks: a *namespaces.Manager.
type Namespaces interface {
	Create(ctx context.Context, s namespaces.Spec, actor string) (namespaces.Namespace, error)
	Remove(ctx context.Context, name, actor string) (aside string, err error)
	Broker(name string) (*broker.Broker, *namespaces.Elsewhere, error)
}

// Options configure a Player. Namespaces and Library are required.
type Options struct {
	Namespaces  Namespaces
	Library     *Library
	IdleTimeout time.Duration // how long an unwatched playback is kept; zero means DefaultIdleTimeout
	Logger      *slog.Logger  // zero means slog.Default
}

// Player holds the running playbacks. It is safe for concurrent use.
type Player struct {
	o    Options
	log  *slog.Logger
	ctx  context.Context //nolint:containedctx // the life of playbacks, ended by Close
	stop context.CancelFunc
	wg   sync.WaitGroup

	saving chan struct{} // a lock, held by the goroutine that changes stored scenes

	mu      sync.Mutex
	byName  map[string]*Playback // by namespace; guarded by mu
	store   *broker.Broker       // stores added scenes: see LoadSaved; guarded by mu
	invalid []InvalidScene       // scenes that are stored but not in the library, by ids; guarded by mu
}

// NewPlayer returns a player that removes idle playbacks until Close.
func NewPlayer(o Options) *Player {
	s := &Player{o: o, log: cmp.Or(o.Logger, slog.Default()), saving: make(chan struct{}, 1), byName: map[string]*Playback{}}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.wg.Go(s.removeIdle)
	return s
}

// Close ends running steps and waits for them. It does not remove the playbacks' namespaces.
func (s *Player) Close() {
	s.stop()
	s.wg.Wait()
}

// Library returns the library of scenes.
func (s *Player) Library() *Library { return s.o.Library }

// IdleTimeout returns how long an unwatched playback is kept.
func (s *Player) IdleTimeout() time.Duration { return cmp.Or(s.o.IdleTimeout, DefaultIdleTimeout) }

// Begin creates a namespace with a scene's entities on behalf of actor, and returns the scene's
// playback in it. If there are too many namespaces, it ends a playback that has been unwatched for
// evictAfter. The errors are ErrNoScene and those of namespaces.Manager.Create.
func (s *Player) Begin(ctx context.Context, id, actor string) (*Playback, error) {
	scene, err := s.o.Library.Find(id)
	if err != nil {
		return nil, err
	}
	p := &Playback{player: s, scene: scene, stepLock: make(chan struct{}, 1), lastUsed: time.Now()}
	var word [3]byte
	_, _ = rand.Read(word[:]) // never fails, by its contract
	p.name = id + "-" + hex.EncodeToString(word[:])
	p.stepLock <- struct{}{}
	defer func() { <-p.stepLock }()
	err = p.create(ctx, actor)
	if errors.Is(err, engine.ErrQuota) && s.evictIdle(ctx) {
		err = p.create(ctx, actor)
	}
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.byName[p.name] = p
	return p, nil
}

// Find returns the playback in a namespace, or nil if there is none. It counts as watching it.
func (s *Player) Find(name string) *Playback {
	p := s.Peek(name)
	if p != nil {
		p.touch()
	}
	return p
}

// Peek is Find, but does not count as watching.
func (s *Player) Peek(name string) *Playback {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	p := s.byName[strings.ToLower(name)]
	s.mu.Unlock()
	if p == nil || !p.exists() {
		return nil
	}
	return p
}

// AwaitRebuilt waits while a playback's namespace is created again for a step back or a reset, or until
// ctx ends. It returns at once for all other namespaces.
func (s *Player) AwaitRebuilt(ctx context.Context, name string) {
	p := s.Peek(name)
	if p == nil {
		return
	}
	if rebuilt := p.rebuilding(); rebuilt != nil {
		select {
		case <-rebuilt:
		case <-ctx.Done():
		}
	}
}

// Playback is Find, but returns ErrNotPlaying if there is no playback.
func (s *Player) Playback(name string) (*Playback, error) {
	if p := s.Find(name); p != nil {
		return p, nil
	}
	return nil, s.notPlaying(name)
}

func (s *Player) notPlaying(name string) error {
	if _, _, err := s.o.Namespaces.Broker(name); !errors.Is(err, namespaces.ErrNoNamespace) {
		return engine.Refuse(ErrNotPlaying, "No scene is playing in the namespace '%.64s', so its clock is the real time and cannot be changed.", name)
	}
	return engine.Refuse(ErrNotPlaying, "No scene is playing in a namespace '%.64s'.", name)
}

// List returns the running playbacks, by the names of their namespaces.
func (s *Player) List() []*Playback {
	return slices.DeleteFunc(s.allPlaybacks(), func(p *Playback) bool { return !p.exists() })
}

// allPlaybacks is List, but includes playbacks whose namespaces were removed.
func (s *Player) allPlaybacks() []*Playback {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*Playback, 0, len(s.byName))
	for _, p := range s.byName {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b *Playback) int { return strings.Compare(a.name, b.name) })
	return all
}

// End ends a playback and removes its namespace, on behalf of actor. An empty actor means that the
// server ends it, because no page has shown it for a while. The error is ErrNotPlaying if there is
// no such playback.
func (s *Player) End(ctx context.Context, name, actor string) error {
	p := s.Peek(name)
	if p == nil {
		return s.notPlaying(name)
	}
	p.cancelStep()
	return s.end(ctx, p, actor, func() bool { return true })
}

// end waits until no step is being played, and then ends the playback if `still` returns true.
func (s *Player) end(ctx context.Context, p *Playback, actor string, still func() bool) error {
	if err := p.lock(ctx); err != nil {
		return err
	}
	defer p.unlock()
	if !still() {
		return nil
	}
	s.mu.Lock()
	is := s.byName[p.name] == p
	if is {
		delete(s.byName, p.name)
	}
	s.mu.Unlock()
	if !is || !p.exists() {
		return nil
	}
	if _, err := s.o.Namespaces.Remove(ctx, p.name, actor); err != nil && !errors.Is(err, namespaces.ErrNoNamespace) {
		return err
	}
	return nil
}

// evictIdle ends the playback that has been unwatched for the longest time, if that is at least
// evictAfter, and reports whether it did.
func (s *Player) evictIdle(ctx context.Context) bool {
	all := s.List()
	if len(all) == 0 {
		return false
	}
	oldest := slices.MinFunc(all, func(a, b *Playback) int { return a.lastUse().Compare(b.lastUse()) })
	return time.Since(oldest.lastUse()) >= evictAfter && s.End(ctx, oldest.name, "") == nil
}

// removeIdle ends playbacks that are no longer watched, and removes those whose namespaces were
// removed, until Close.
func (s *Player) removeIdle() {
	every := time.NewTicker(min(time.Minute, s.IdleTimeout()))
	defer every.Stop()
	for {
		select {
		case <-every.C:
		case <-s.ctx.Done():
			return
		}
		for _, p := range s.allPlaybacks() {
			over := func() bool { return time.Since(p.lastUse()) >= s.IdleTimeout() || !p.exists() }
			if !over() {
				continue
			}
			if err := s.end(s.ctx, p, "", over); err != nil && s.ctx.Err() == nil {
				s.log.Warn("the namespace of a scene was not removed", "namespace", p.name, "err", err)
			}
		}
	}
}
