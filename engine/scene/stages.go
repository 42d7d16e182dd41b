package scene

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/fleet"
)

// DefaultStay is how long a play stays that nobody looks at any more.
const DefaultStay = 30 * time.Minute

// roomAfter is how long nobody has looked at a play that makes room for another,
// where there can be no more.
const roomAfter = 5 * time.Minute

// A Fleet is where the namespaces of plays are: a *fleet.Fleet.
type Fleet interface {
	Create(ctx context.Context, s fleet.Spec, actor string) (fleet.Namespace, error)
	Remove(ctx context.Context, name, actor string) (aside string, err error)
	Broker(name string) (*broker.Broker, *fleet.Elsewhere, error)
}

// Options are what stages are made of. Fleet and Library are needed.
type Options struct {
	Fleet   Fleet
	Library *Library
	Stay    time.Duration // after how long a play goes that nobody looks at; zero: DefaultStay
	Logger  *slog.Logger  // zero: slog.Default
}

// Stages are the plays that are under way. They are safe for concurrent use.
type Stages struct {
	o    Options
	log  *slog.Logger
	ctx  context.Context //nolint:containedctx // the life of what plays, ended by Close
	stop context.CancelFunc
	wg   sync.WaitGroup

	keeping chan struct{} // holds one: who changes what is kept

	mu     sync.Mutex
	byName map[string]*Play // by namespace; guarded by mu
	home   *broker.Broker   // keeps what is added: see Recall; guarded by mu
	unfit  []Unfit          // what is kept there and not in the library, by ids; guarded by mu
}

// Start begins to look after plays. Close ends it.
func Start(o Options) *Stages {
	s := &Stages{o: o, log: cmp.Or(o.Logger, slog.Default()), keeping: make(chan struct{}, 1), byName: map[string]*Play{}}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.wg.Go(s.tidy)
	return s
}

// Close ends what plays, and waits for it. The namespaces go with their fleet.
func (s *Stages) Close() {
	s.stop()
	s.wg.Wait()
}

// Library is the scenes there are.
func (s *Stages) Library() *Library { return s.o.Library }

// Stay is how long a play stays that nobody looks at.
func (s *Stages) Stay() time.Duration { return cmp.Or(s.o.Stay, DefaultStay) }

// Begin makes a namespace for a scene, on behalf of somebody, and has its
// entities made. The errors are ErrNone and those of fleet.Create.
func (s *Stages) Begin(ctx context.Context, id, who string) (*Play, error) {
	scene, err := s.o.Library.Find(id)
	if err != nil {
		return nil, err
	}
	p := &Play{s: s, scene: scene, turn: make(chan struct{}, 1), used: time.Now()}
	var word [3]byte
	_, _ = rand.Read(word[:]) // never fails, by its contract
	p.name = id + "-" + hex.EncodeToString(word[:])
	p.turn <- struct{}{}
	defer func() { <-p.turn }()
	err = p.set(ctx, who)
	if errors.Is(err, engine.ErrQuota) && s.makeRoom(ctx) {
		err = p.set(ctx, who)
	}
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.byName[p.name] = p
	return p, nil
}

// Find is the play in a namespace, and that it was looked at; nil: there is none.
func (s *Stages) Find(name string) *Play {
	p := s.Peek(name)
	if p != nil {
		p.touch()
	}
	return p
}

// Peek is Find by nobody who would keep it from going.
func (s *Stages) Peek(name string) *Play {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	p := s.byName[strings.ToLower(name)]
	s.mu.Unlock()
	if p == nil || !p.stands() {
		return nil
	}
	return p
}

// Play is Find, and ErrNoPlay where there is none.
func (s *Stages) Play(name string) (*Play, error) {
	if p := s.Find(name); p != nil {
		return p, nil
	}
	return nil, s.noPlay(name)
}

func (s *Stages) noPlay(name string) error {
	if _, _, err := s.o.Fleet.Broker(name); !errors.Is(err, fleet.ErrNone) {
		return &engine.Refusal{Kind: ErrNoPlay, Text: fmt.Sprintf("No scene is played in the namespace '%.64s'. Time there is real, and cannot be turned.", name)}
	}
	return &engine.Refusal{Kind: ErrNoPlay, Text: fmt.Sprintf("No scene is played in a namespace '%.64s'.", name)}
}

// List are the plays that are under way, by their namespaces.
func (s *Stages) List() []*Play {
	return slices.DeleteFunc(s.all(), func(p *Play) bool { return !p.stands() })
}

// all is List, with those that have lost their namespace.
func (s *Stages) all() []*Play {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*Play, 0, len(s.byName))
	for _, p := range s.byName {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b *Play) int { return strings.Compare(a.name, b.name) })
	return all
}

// End ends a play and removes its namespace, on behalf of somebody; empty: nobody
// has looked at it for long.
func (s *Stages) End(ctx context.Context, name, who string) error {
	p := s.Peek(name)
	if p == nil {
		return s.noPlay(name)
	}
	p.halt()
	return s.end(ctx, p, who, func() bool { return true })
}

// end ends a play if it is still to be, once nobody has the turn.
func (s *Stages) end(ctx context.Context, p *Play, who string, still func() bool) error {
	if err := p.enter(ctx); err != nil {
		return err
	}
	defer p.leave()
	if !still() {
		return nil
	}
	s.mu.Lock()
	is := s.byName[p.name] == p
	if is {
		delete(s.byName, p.name)
	}
	s.mu.Unlock()
	if !is || !p.stands() {
		return nil
	}
	if _, err := s.o.Fleet.Remove(ctx, p.name, who); err != nil && !errors.Is(err, fleet.ErrNone) {
		return err //nolint:wrapcheck // it says what it is about
	}
	return nil
}

// makeRoom ends the play that was looked at longest ago, if that is a while, and
// tells whether it did.
func (s *Stages) makeRoom(ctx context.Context) bool {
	all := s.List()
	if len(all) == 0 {
		return false
	}
	oldest := slices.MinFunc(all, func(a, b *Play) int { return a.lastUse().Compare(b.lastUse()) })
	return time.Since(oldest.lastUse()) >= roomAfter && s.End(ctx, oldest.name, "") == nil
}

// tidy ends plays that nobody looks at any more, and forgets those whose
// namespace is gone.
func (s *Stages) tidy() {
	every := time.NewTicker(min(time.Minute, s.Stay()))
	defer every.Stop()
	for {
		select {
		case <-every.C:
		case <-s.ctx.Done():
			return
		}
		for _, p := range s.all() {
			over := func() bool { return time.Since(p.lastUse()) >= s.Stay() || !p.stands() }
			if !over() {
				continue
			}
			if err := s.end(s.ctx, p, "", over); err != nil && s.ctx.Err() == nil {
				s.log.Warn("the namespace of a scene was not removed", "namespace", p.name, "err", err)
			}
		}
	}
}
