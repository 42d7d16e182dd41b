package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/namespaces"
)

// A Playback is a scene that is played in a namespace of its own. It is safe for concurrent use.
type Playback struct {
	player    *Player
	scene     *Scene
	name      string        // the name of its namespace
	stepLock  chan struct{} // a lock, held by the goroutine that plays a step or rebuilds the namespace
	createdAt time.Time     // when its namespace was created, which a reset does not change; guarded by stepLock

	mu        sync.Mutex
	runner    *stepRunner        // guarded by mu, as are all fields below
	done      int                // number of played steps
	playing   bool               // a step is being played
	results   []CheckResult      // of the last step
	trouble   error              // why the last step was not played to its end
	recreated bool               // the last step was played in a namespace that was created again for it
	cancel    context.CancelFunc // ends the running step
	lastUsed  time.Time
	rebuilt   chan struct{} // closed once the namespace, which is being created again, is complete; nil at other times
}

// A State is the state of a playback at one moment.
type State struct {
	Namespace  string
	Scene      *Scene
	Done       int  // number of played steps
	Playing    bool // the last of these steps is running
	Results    []CheckResult
	Trouble    error // why the last step was not played to its end; nil if it was
	Recreated  bool  // the last step failed after manual changes, so the namespace was created again for it
	ClockState broker.ClockState
	Clock      engine.Instant
	Keys       map[string]engine.Key // keys of messages, by their names in the scene
}

// Step returns the last played step, or nil if there is none.
func (s State) Step() *Step {
	if s.Done == 0 {
		return nil
	}
	return &s.Scene.Steps[s.Done-1]
}

// Ended reports whether all steps were played, or no further step can be played.
func (s State) Ended() bool { return s.Done == len(s.Scene.Steps) || s.Trouble != nil }

// Page returns the page that shows the last step, as a path below the namespace's; before the first
// step, the page of the first one.
func (s State) Page() string {
	if s.Done == 0 {
		return s.Scene.Steps[0].Page
	}
	for i := s.Done - 1; i >= 0; i-- {
		if at := s.Scene.Steps[i].Page; at != "" {
			return at
		}
	}
	return ""
}

// Name returns the name of the playback's namespace.
func (p *Playback) Name() string { return p.name }

// Scene returns the scene that is played.
func (p *Playback) Scene() *Scene { return p.scene }

// State returns the present state.
func (p *Playback) State() State {
	p.mu.Lock()
	defer p.mu.Unlock()
	return State{
		Namespace: p.name, Scene: p.scene, Done: p.done, Playing: p.playing, Results: p.results, Trouble: p.trouble, Recreated: p.recreated,
		ClockState: p.runner.b.ClockState(), Clock: p.runner.clock.Now(), Keys: p.runner.keys(),
	}
}

func (p *Playback) touch() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lastUsed = time.Now()
}

func (p *Playback) lastUse() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lastUsed
}

// exists reports whether the playback's namespace exists. Once that was removed, by any means, the
// playback is over.
func (p *Playback) exists() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.runner.b.Done():
		return p.rebuilt != nil
	default:
		return true
	}
}

// checkPlaying returns ErrNotPlaying if the playback is over.
func (p *Playback) checkPlaying() error {
	if p.player.Peek(p.name) != p {
		return engine.Refuse(ErrNotPlaying, "The scene has ended.")
	}
	return nil
}

// cancelStep ends the running step.
func (p *Playback) cancelStep() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cancel != nil {
		p.cancel()
	}
}

func (p *Playback) lock(ctx context.Context) error {
	select {
	case p.stepLock <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (p *Playback) unlock() { <-p.stepLock }

// create creates the namespace with the scene's entities, on behalf of actor. The caller holds
// stepLock.
func (p *Playback) create(ctx context.Context, actor string) error {
	clock := broker.NewManualClock()
	n, err := p.player.o.Namespaces.Create(ctx, namespaces.Spec{Name: p.name, Created: p.createdAt, Temporary: true, ManualClock: clock}, actor)
	if err != nil {
		return err
	}
	if n.Broker == nil {
		err = fmt.Errorf("the namespace %s is not served: %s", p.name, n.Reason)
	}
	next := &stepRunner{b: n.Broker, clock: clock, messages: map[string]namedMessage{}}
	for i := range p.scene.Entities {
		if err == nil {
			err = next.createEntity(ctx, &p.scene.Entities[i])
		}
	}
	if err != nil {
		_, gone := p.player.o.Namespaces.Remove(context.WithoutCancel(ctx), p.name, actor)
		return errors.Join(err, gone)
	}
	p.createdAt = n.Created
	p.mu.Lock()
	defer p.mu.Unlock()
	p.runner = next
	return nil
}

// errStepChanged returns the error for a caller that saw another step than the present one.
func errStepChanged() error {
	return engine.Refuse(engine.ErrChanged, "The scene has moved on meanwhile. Nothing was changed.")
}

// NextStep plays the next step on behalf of actor. done is the number of steps that the caller
// believes to have been played: if another number was, if there is no next step, or if a step is
// running, the error is engine.ErrChanged. At speed Instant, NextStep returns when the step has
// been played, otherwise when it has begun. Once the step has begun, the end of ctx does not stop
// it. If the step's expectations fail, a user may have changed the clock or the messages since the
// step before: then NextStep creates the namespace again and plays all steps in it at speed
// Instant.
func (p *Playback) NextStep(ctx context.Context, done int, t Speed, actor string) error { //nolint:contextcheck // viewers are not waited for; it ends with the Player, or with the playback
	select {
	case p.stepLock <- struct{}{}:
	default:
		return errStepChanged()
	}
	if err := p.checkPlaying(); err != nil {
		p.unlock()
		return err
	}
	p.touch()
	is := p.State()
	if is.Done != done || is.Ended() {
		p.unlock()
		return errStepChanged()
	}
	if t == Instant {
		defer p.unlock()
		return p.stepNow(ctx, actor, p.playFitting)
	}
	playing, cancel := context.WithCancel(p.player.ctx)
	p.beginStep(cancel)
	p.player.wg.Go(func() {
		defer p.unlock()
		defer cancel()
		if err := p.playStep(playing, t, actor, p.playFitting); err != nil && playing.Err() == nil {
			p.player.log.Warn("a step of a scene did not finish", "namespace", p.name, "step", done+1, "err", err)
		}
	})
	return nil
}

// A playFunc plays step n, counted from 1.
type playFunc func(ctx context.Context, n int, t Speed, actor string) ([]CheckResult, error)

// stepNow plays the next step at once. It plays it to its end even if ctx ends, since half a step
// would end the playback. The caller holds stepLock.
func (p *Playback) stepNow(ctx context.Context, actor string, play playFunc) error {
	playing, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	goOn := context.AfterFunc(p.player.ctx, cancel) //nolint:contextcheck // it ends with the Player, too
	defer goOn()
	p.beginStep(cancel)
	return p.playStep(playing, Instant, actor, play)
}

// beginStep counts the next step as played.
func (p *Playback) beginStep(cancel context.CancelFunc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	p.playing, p.results, p.recreated, p.cancel = true, nil, false, cancel
}

// playStep plays the step that was begun, and checks its expectations.
func (p *Playback) playStep(ctx context.Context, t Speed, actor string, play playFunc) error {
	n := p.State().Done
	results, err := play(ctx, n, t, actor)
	p.mu.Lock()
	p.playing, p.results, p.cancel = false, results, nil
	if err != nil {
		p.trouble = fmt.Errorf("step %d: %w", n, err)
	}
	at := p.runner
	p.mu.Unlock()
	if left := at.b.Audit(context.WithoutCancel(ctx), engine.EventScenePlayed, playedReason(n, len(p.scene.Steps), p.scene.Steps[n-1].Caption), actor); err == nil {
		err = left
	}
	return err
}

// playOnce is the playFunc that plays a step once.
func (p *Playback) playOnce(ctx context.Context, n int, t Speed, _ string) ([]CheckResult, error) {
	return p.currentRunner().play(ctx, &p.scene.Steps[n-1], t)
}

// playFitting is the playFunc that plays a step and, if its expectations fail, creates the namespace
// again and plays all steps up to it once more.
func (p *Playback) playFitting(ctx context.Context, n int, t Speed, actor string) ([]CheckResult, error) {
	results, err := p.playOnce(ctx, n, t, actor)
	if err == nil && allOK(results) || ctx.Err() != nil || errors.Is(err, engine.ErrClosed) || !p.exists() { // the step succeeded, or its result is no longer needed
		return results, err
	}
	if errors.Is(err, engine.ErrMemoryFull) { // a new namespace would not be filled either
		return results, err
	}
	err = p.rebuild(context.WithoutCancel(ctx), actor, func() error { // without ctx, since a half-built namespace would be useless
		for i := range n {
			if results, err = p.playOnce(ctx, i+1, Instant, actor); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.recreated = allOK(results) // else the scene itself is wrong
	return results, nil
}

func allOK(all []CheckResult) bool {
	return !slices.ContainsFunc(all, func(f CheckResult) bool { return !f.OK })
}

// play plays one step.
func (p *stepRunner) play(ctx context.Context, s *Step, t Speed) ([]CheckResult, error) {
	for i := range s.Actions {
		if err := p.do(ctx, &s.Actions[i], t); err != nil {
			return nil, err
		}
	}
	return p.checkAll(ctx, s.Expectations)
}

// StepBack returns to the state before the last step, on behalf of actor: it creates the namespace
// again and plays all steps but the last. done is the number of steps that the caller believes to
// have been played; if another number was, the error is engine.ErrChanged.
func (p *Playback) StepBack(ctx context.Context, done int, actor string) error {
	return p.replay(ctx, done, max(0, done-1), actor)
}

// Reset returns to the state before the first step, on behalf of actor: it creates the namespace
// again.
func (p *Playback) Reset(ctx context.Context, actor string) error { return p.replay(ctx, -1, 0, actor) }

// replay creates the namespace again and plays the given number of steps in it. done is the number
// of steps that must have been played before, else the error is engine.ErrChanged; a negative one
// means any number.
func (p *Playback) replay(ctx context.Context, done, steps int, actor string) error {
	ctx = context.WithoutCancel(ctx) // a half-built namespace would be useless
	p.touch()
	if is := p.State(); done >= 0 && is.Done != done {
		return errStepChanged()
	}
	p.cancelStep()
	if err := p.lock(ctx); err != nil {
		return err
	}
	defer p.unlock()
	if err := p.checkPlaying(); err != nil {
		return err
	}
	return p.rebuild(ctx, actor, func() error {
		p.mu.Lock()
		p.done, p.results, p.trouble, p.recreated = 0, nil, nil, false
		p.mu.Unlock()
		for range steps {
			if err := p.stepNow(ctx, actor, p.playOnce); err != nil {
				return err
			}
		}
		return nil
	})
}

// rebuild creates the namespace again and calls `fill` to play steps. AwaitRebuilt waits until
// `fill` has returned. The caller holds stepLock.
func (p *Playback) rebuild(ctx context.Context, actor string, fill func() error) error {
	rebuilt := make(chan struct{})
	set := func(ch chan struct{}) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.rebuilt = ch
	}
	set(rebuilt)
	defer close(rebuilt)
	defer set(nil)
	if _, err := p.player.o.Namespaces.Remove(ctx, p.name, actor); err != nil && !errors.Is(err, namespaces.ErrNoNamespace) {
		return err
	}
	if err := p.create(ctx, actor); err != nil {
		return err
	}
	return fill()
}

// rebuilding returns a channel that is closed once the namespace is complete, or nil if it is not
// being created again.
func (p *Playback) rebuilding() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.rebuilt
}

// SetClockRate lets the clock run at one of broker.ClockRates, and audits that. For another rate,
// the error is engine.ErrArgument.
func (p *Playback) SetClockRate(ctx context.Context, rate int, actor string) error {
	if err := p.checkPlaying(); err != nil {
		return err
	}
	p.touch()
	at := p.currentRunner()
	if err := at.clock.SetRate(rate); err != nil {
		return err
	}
	return at.b.Audit(ctx, engine.EventClockTurned, ClockChange{Rate: rate}.String(), actor)
}

// JumpTo sets the clock to the next event of a kind, and returns its time, or zero if no such event
// is due. The error is engine.ErrChanged while a step is played.
func (p *Playback) JumpTo(ctx context.Context, m Moment, actor string) (engine.Instant, error) {
	p.touch()
	select {
	case p.stepLock <- struct{}{}:
		defer p.unlock()
	default:
		return 0, errStepChanged()
	}
	if err := p.checkPlaying(); err != nil {
		return 0, err
	}
	at := p.currentRunner()
	to, err := at.jumpTo(ctx, m, Instant)
	if err != nil || to == 0 {
		return to, err
	}
	return to, at.b.Audit(ctx, engine.EventClockTurned, ClockChange{JumpedTo: m}.String(), actor)
}

func (p *Playback) currentRunner() *stepRunner {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.runner
}
