package scene

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/fleet"
)

// A Play is a scene on its stage. It is safe for concurrent use.
type Play struct {
	s     *Stages
	scene *Scene
	name  string        // of its namespace
	turn  chan struct{} // holds one: who plays, or sets the stage
	born  time.Time     // since when there is its namespace, however often it is set anew; who has the turn looks

	mu       sync.Mutex
	player   *player            // guarded by mu, as all below
	done     int                // steps that were played
	playing  bool               // one is
	findings []Finding          // of the last one
	trouble  error              // what kept it from being played to its end
	mended   bool               // it was played in a namespace made anew for it
	cancel   context.CancelFunc // of what is being played
	used     time.Time
	anew     bool // its namespace is being made again
}

// A State is where a play stands, at one moment.
type State struct {
	Namespace string
	Scene     *Scene
	Done      int  // steps that were played
	Playing   bool // the last of them still is
	Findings  []Finding
	Trouble   error // what kept the last from being played to its end; nil: nothing
	Mended    bool  // what was done by hand did not fit the last: for it the namespace was made anew
	Pace      broker.Pace
	Clock     engine.Instant
	Keys      map[string]engine.Key // of messages, by their names in the scene
}

// Step is the one that was played last; nil: none was.
func (s State) Step() *Step {
	if s.Done == 0 {
		return nil
	}
	return &s.Scene.Steps[s.Done-1]
}

// Over tells whether all steps were played, or no more can be.
func (s State) Over() bool { return s.Done == len(s.Scene.Steps) || s.Trouble != nil }

// Look is the page that the play is watched on, below that of the namespace; before
// the first step, that of the first one.
func (s State) Look() string {
	if s.Done == 0 {
		return s.Scene.Steps[0].Look
	}
	for i := s.Done - 1; i >= 0; i-- {
		if at := s.Scene.Steps[i].Look; at != "" {
			return at
		}
	}
	return ""
}

// Name is that of its namespace.
func (p *Play) Name() string { return p.name }

// Scene is what is played.
func (p *Play) Scene() *Scene { return p.scene }

// State is where it stands.
func (p *Play) State() State {
	p.mu.Lock()
	defer p.mu.Unlock()
	return State{
		Namespace: p.name, Scene: p.scene, Done: p.done, Playing: p.playing, Findings: p.findings, Trouble: p.trouble, Mended: p.mended,
		Pace: p.player.b.Pace(), Clock: p.player.clock.Now(), Keys: p.player.names(),
	}
}

func (p *Play) touch() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.used = time.Now()
}

func (p *Play) lastUse() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.used
}

// stands tells whether the play has its namespace. Once that was removed, by
// whomever, nothing of the play is left.
func (p *Play) stands() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.player.b.Done():
		return p.anew
	default:
		return true
	}
}

// under is ErrNoPlay where the play is not under way any more.
func (p *Play) under() error {
	if p.s.Peek(p.name) != p {
		return &engine.Refusal{Kind: ErrNoPlay, Text: "The scene is over."}
	}
	return nil
}

// halt has what is being played end.
func (p *Play) halt() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cancel != nil {
		p.cancel()
	}
}

func (p *Play) enter(ctx context.Context) error {
	select {
	case p.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (p *Play) leave() { <-p.turn }

// set makes the namespace, and what is in it at the beginning, on behalf of somebody.
// Called by who has the turn.
func (p *Play) set(ctx context.Context, who string) error {
	clock := broker.NewMachine()
	n, err := p.s.o.Fleet.Create(ctx, fleet.Spec{Name: p.name, Created: p.born, Temporary: true, Machine: clock}, who)
	if err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	if n.Broker == nil {
		err = fmt.Errorf("the namespace %s is not served: %s", p.name, n.Why)
	}
	next := &player{b: n.Broker, clock: clock, known: map[string]known{}}
	for i := range p.scene.Entities {
		if err == nil {
			err = next.make(ctx, &p.scene.Entities[i])
		}
	}
	if err != nil {
		_, gone := p.s.o.Fleet.Remove(context.WithoutCancel(ctx), p.name, who)
		return errors.Join(err, gone)
	}
	p.born = n.Created
	p.mu.Lock()
	defer p.mu.Unlock()
	p.player = next
	return nil
}

// errAgain says that a play stands elsewhere than whoever asked for the next step
// saw it.
func errAgain() error {
	return &engine.Refusal{Kind: engine.ErrChanged, Text: "The scene was played on meanwhile. Nothing was done."}
}

// Next plays the step after so many, on behalf of somebody. At once, it returns when
// that is played; gliding, when it has begun. Once it has begun it does not matter
// whether ctx ends. Where it does not go as it says, somebody may have turned the clock
// since the one before, or had a hand in what is there: all is played once more, at once
// and in a namespace made anew. It is engine.ErrChanged where another number was played,
// or one is being played.
func (p *Play) Next(ctx context.Context, done int, t Tempo, who string) error { //nolint:contextcheck // what is watched is not waited for; it ends with the stages, or with the play
	select {
	case p.turn <- struct{}{}:
	default:
		return errAgain()
	}
	if err := p.under(); err != nil {
		p.leave()
		return err
	}
	p.touch()
	is := p.State()
	if is.Done != done || is.Over() {
		p.leave()
		return errAgain()
	}
	if t == AtOnce {
		defer p.leave()
		return p.step(ctx, who, p.fit)
	}
	playing, cancel := context.WithCancel(p.s.ctx)
	p.begin(cancel)
	p.s.wg.Go(func() {
		defer p.leave()
		defer cancel()
		if err := p.play(playing, t, who, p.fit); err != nil && playing.Err() == nil {
			p.s.log.Warn("a step of a scene was not played to its end", "namespace", p.name, "step", done+1, "err", err)
		}
	})
	return nil
}

// A rendition plays the step of a number.
type rendition func(ctx context.Context, n int, t Tempo, who string) ([]Finding, error)

// step plays the next step at once, to its end even if whoever asked for it has left:
// half of one would end the play. Called by who has the turn.
func (p *Play) step(ctx context.Context, who string, play rendition) error {
	playing, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	goOn := context.AfterFunc(p.s.ctx, cancel) //nolint:contextcheck // it ends with the stages, too
	defer goOn()
	p.begin(cancel)
	return p.play(playing, AtOnce, who, play)
}

// begin counts the next step as played.
func (p *Play) begin(cancel context.CancelFunc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	p.playing, p.findings, p.mended, p.cancel = true, nil, false, cancel
}

// play does what the step that was begun says, and looks whether all is as it says
// then.
func (p *Play) play(ctx context.Context, t Tempo, who string, play rendition) error {
	n := p.State().Done
	findings, err := play(ctx, n, t, who)
	p.mu.Lock()
	p.playing, p.findings, p.cancel = false, findings, nil
	if err != nil {
		p.trouble = fmt.Errorf("step %d: %w", n, err)
	}
	at := p.player
	p.mu.Unlock()
	if left := at.b.Remember(context.WithoutCancel(ctx), engine.EventScenePlayed, played(n, len(p.scene.Steps), p.scene.Steps[n-1].Say), who); err == nil {
		err = left
	}
	return err
}

// plain plays a step as it is written.
func (p *Play) plain(ctx context.Context, n int, t Tempo, _ string) ([]Finding, error) {
	return p.at().play(ctx, &p.scene.Steps[n-1], t)
}

// fit plays a step, and where it does not go as it says all up to it once more, in a
// namespace made anew.
func (p *Play) fit(ctx context.Context, n int, t Tempo, who string) ([]Finding, error) {
	findings, err := p.plain(ctx, n, t, who)
	if err == nil && asSaid(findings) || ctx.Err() != nil || errors.Is(err, engine.ErrClosed) || !p.stands() { // nobody wants it any more
		return findings, err
	}
	if err := p.clear(context.WithoutCancel(ctx), who); err != nil { // half of it would help nobody
		return nil, err
	}
	for i := range n {
		if findings, err = p.plain(ctx, i+1, AtOnce, who); err != nil {
			return nil, err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mended = asSaid(findings) // else the scene itself is not as it says
	return findings, nil
}

func asSaid(all []Finding) bool {
	return !slices.ContainsFunc(all, func(f Finding) bool { return !f.OK })
}

// play plays one step.
func (p *player) play(ctx context.Context, s *Step, t Tempo) ([]Finding, error) {
	for i := range s.Do {
		if err := p.do(ctx, &s.Do[i], t); err != nil {
			return nil, err
		}
	}
	return p.look(ctx, s.Then)
}

// Back goes to where the play was before its last step of so many, on behalf of
// somebody: all before it is played again, in a namespace of the same name.
func (p *Play) Back(ctx context.Context, done int, who string) error {
	return p.again(ctx, done, max(0, done-1), who)
}

// Reset goes to the beginning, on behalf of somebody.
func (p *Play) Reset(ctx context.Context, who string) error { return p.again(ctx, -1, 0, who) }

// again plays so many steps from the beginning. It is engine.ErrChanged if another
// number than done was played, negative: whatever was.
func (p *Play) again(ctx context.Context, done, steps int, who string) error {
	ctx = context.WithoutCancel(ctx) // half of it would help nobody
	p.touch()
	if is := p.State(); done >= 0 && is.Done != done {
		return errAgain()
	}
	p.halt()
	if err := p.enter(ctx); err != nil {
		return err
	}
	defer p.leave()
	if err := p.under(); err != nil {
		return err
	}
	if err := p.clear(ctx, who); err != nil {
		return err
	}
	p.mu.Lock()
	p.done, p.findings, p.trouble, p.mended = 0, nil, nil, false
	p.mu.Unlock()
	for range steps {
		if err := p.step(ctx, who, p.plain); err != nil {
			return err
		}
	}
	return nil
}

// clear makes the namespace anew. Called by who has the turn.
func (p *Play) clear(ctx context.Context, who string) error {
	anew := func(is bool) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.anew = is
	}
	anew(true)
	defer anew(false)
	if _, err := p.s.o.Fleet.Remove(ctx, p.name, who); err != nil && !errors.Is(err, fleet.ErrNone) {
		return err //nolint:wrapcheck // it says what it is about
	}
	return p.set(ctx, who)
}

// Turn has the clock run at a rate.
func (p *Play) Turn(ctx context.Context, rate int, who string) error {
	if err := p.under(); err != nil {
		return err
	}
	p.touch()
	at := p.at()
	if err := at.clock.Turn(rate); err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	return at.b.Remember(ctx, engine.EventClockTurned, Turning{Rate: rate}.String(), who) //nolint:wrapcheck // it says what it is about
}

// Leap has the clock be where something of a kind happens next, and tells when
// that is; zero: nothing of the kind is to come. It is engine.ErrChanged while a
// step is played.
func (p *Play) Leap(ctx context.Context, m Moment, who string) (engine.Instant, error) {
	p.touch()
	select {
	case p.turn <- struct{}{}:
		defer p.leave()
	default:
		return 0, errAgain()
	}
	if err := p.under(); err != nil {
		return 0, err
	}
	at := p.at()
	to, err := at.leapTo(ctx, m, AtOnce)
	if err != nil || to == 0 {
		return to, err
	}
	return to, at.b.Remember(ctx, engine.EventClockTurned, Turning{Next: m}.String(), who) //nolint:wrapcheck // it says what it is about
}

func (p *Play) at() *player {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.player
}
