package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
)

// How many namespaces there are at the most beside the server's own, unless
// Options say otherwise.
const (
	DefaultMost          = 50
	DefaultMostTemporary = 10
)

// A Spec is what a namespace is, beside what is in it.
type Spec struct {
	Name    string    `json:"name"`              // as ParseName has it, but for the server's own
	Profile string    `json:"profile,omitempty"` // whose limits it has, one of engine.Profiles; empty: the server's own
	Created time.Time `json:"created,omitzero"`
	// Kept is what a store that has several calls it; empty: Name. The catalogue
	// knows.
	Kept string `json:"kept,omitempty"`
	// Temporary ones are in memory alone, and go with the server at the latest.
	Temporary bool      `json:"temporary,omitempty"`
	Until     time.Time `json:"until,omitzero"` // when a temporary one goes; zero: when it is removed
	mine      bool      // this server is to have it first, whoever owns more
	later     time.Time // this server is not to have it before; zero: it may at once
	// Machine is the clock of a temporary one that can be turned; zero: the system's.
	Machine *broker.Machine `json:"-"`
}

// A Catalogue remembers which namespaces there are beside the server's own. Its
// methods are not called side by side.
type Catalogue interface {
	// List are those that there are, in any order.
	List(ctx context.Context) ([]Spec, error)
	// Add remembers one more, which has nothing in it, and returns it with Kept. The
	// error is ErrTaken if there is one of that name.
	Add(ctx context.Context, s Spec) (Spec, error)
	// Change remembers another Profile of one. The error is engine.ErrNotAllowed where
	// what is in it would not outlive that.
	Change(ctx context.Context, s Spec) error
	// Remove forgets one, with all that is in it, and calls closed, which closes its
	// store, when it is time to. aside is where what was in it is kept; empty: it is
	// gone.
	Remove(ctx context.Context, s Spec, closed func() error) (aside string, err error)
}

// Options are what a fleet is made of. Main, Keep and Catalogue are needed.
type Options struct {
	// Main is the server's own namespace. Its Shut ends the serving of all.
	Main *Keeper
	// Keep makes the keeper of another one, and has the doors stand by for it. Its
	// Lasting and Shut are the fleet's.
	Keep func(Spec) *Keeper
	// Forget has the doors know of one no more, and tells its clients why.
	Forget    func(s Spec, why string)
	Catalogue Catalogue
	// Known, if there is one, is called once, when the catalogue was read for the
	// first time, and the doors know of all that are in it.
	Known func()
	// Again is how often the catalogue is read again, where others write it too;
	// zero: never.
	Again time.Duration
	// Board, if there is one, is where servers on the store leave each other notes.
	Board Board
	// Roll, if there is one, is where servers on the store meet, this one by Name.
	Roll Roll
	Name string
	// Busy tells whether clients are connected to a namespace, which is then not left to
	// another server. Nil: none is.
	Busy          func(name string) bool
	Most          int          // how many there may be beside Main; zero: DefaultMost; negative: none
	MostTemporary int          // of them; zero: DefaultMostTemporary
	Logger        *slog.Logger // zero: slog.Default
}

// A Fleet is the namespaces of a server. Its methods are safe for concurrent
// use; Run is called once, before any other.
type Fleet struct {
	o    Options
	log  *slog.Logger
	main *member

	ctx     context.Context //nolint:containedctx // the life of the others, ended by Run
	stop    context.CancelFunc
	begun   chan struct{}  // closed when there is something to say of the main one
	quiet   chan struct{}  // closed when no request is left
	leaving sync.WaitGroup // those that have not told their watchers yet that it is over
	wg      sync.WaitGroup // members, and what waits for the end of a temporary one
	turn    chan struct{}  // holds one: who changes the catalogue
	deeds   atomic.Uint64  // that were left on the board

	mu     sync.Mutex
	byName map[string]*member // the others; guarded by mu
	over   bool               // likewise: none may begin any more
	shares shares             // likewise
	trial  error              // likewise: why the catalogue could not be read the last time
	known  sync.Once          // of Known
	listed bool               // the catalogue was read once; whoever has the turn looks
}

// New makes a fleet that Run starts.
func New(o Options) *Fleet {
	f := &Fleet{
		o: o, log: cmp.Or(o.Logger, slog.Default()), byName: map[string]*member{},
		begun: make(chan struct{}), quiet: make(chan struct{}), turn: make(chan struct{}, 1),
	}
	f.main = &member{f: f, spec: Spec{Name: cmp.Or(o.Main.Broker.Name, "default")}, k: o.Main}
	return f
}

// Run serves the namespaces until ctx ends, or until the server's own cannot be
// kept: that is the error. Each of the others has its own troubles.
func (f *Fleet) Run(ctx context.Context) error {
	f.ctx, f.stop = context.WithCancel(ctx)
	defer f.stop()
	if f.o.Again > 0 { // the main one need not wait for what is far away
		f.wg.Go(f.readAgain)
	} else if err := f.read(ctx); err != nil {
		return err
	}
	if f.o.Board != nil {
		f.wg.Go(f.takeDeeds)
	}
	begin := sync.OnceFunc(func() { close(f.begun) })
	shut := f.o.Main.Shut
	silence := sync.OnceValue(func() error { // nothing may be asked of any of them afterwards
		f.mu.Lock()
		f.over = true
		f.mu.Unlock()
		f.stop()
		f.leaving.Wait()
		var err error
		if shut != nil {
			err = shut(context.WithoutCancel(ctx))
		}
		close(f.quiet)
		return err
	})
	f.main.k.Shut = func(context.Context) error { return silence() }
	f.main.k.Doors = watched{f.main, f.main.k.Doors, begin}
	err := f.main.k.Run(ctx)
	err = errors.Join(err, silence())
	f.wg.Wait()
	return err
}

// read finds namespaces that are new in the catalogue, and lets go of those that
// are no longer in it. None begins before there is something to say of the main
// one.
func (f *Fleet) read(ctx context.Context) error {
	select {
	case f.turn <- struct{}{}:
		defer func() { <-f.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	listed, err := f.o.Catalogue.List(ctx)
	f.mu.Lock()
	f.trial = err
	f.mu.Unlock()
	if err != nil {
		return fmt.Errorf("find the namespaces: %w", err)
	}
	there := map[string]Spec{}
	for _, s := range listed {
		there[s.Name] = s
	}
	for _, m := range f.others() {
		s, ok := there[m.spec.Name]
		switch {
		case m.spec.Temporary:
		case !ok, s.Kept != m.spec.Kept: // or it was removed and made again
			f.log.Info("a namespace is gone", "namespace", m.spec.Name)
			f.leave(m, gone(m.spec.Name))
		case s.Profile != m.spec.Profile:
			f.log.Info("a namespace has other limits", "namespace", m.spec.Name, "profile", s.Profile)
			if _, err := f.anew(m, s, otherLimits); err != nil { //nolint:contextcheck // it lives as long as the fleet
				return err
			}
		}
	}
	again := f.listed
	f.listed = true
	for _, s := range listed {
		f.mu.Lock()
		known := f.byName[s.Name] != nil || strings.EqualFold(s.Name, f.main.spec.Name)
		f.mu.Unlock()
		if !known {
			f.log.Info("a namespace was found", "namespace", s.Name)
			if again {
				s.later = time.Now().Add(makersTurn)
			}
			f.begin(s) //nolint:contextcheck // it lives as long as the fleet
		}
	}
	f.known.Do(func() {
		if i := slices.IndexFunc(listed, func(s Spec) bool { return strings.EqualFold(s.Name, f.main.spec.Name) }); i >= 0 && f.o.Again == 0 {
			f.log.Warn("a namespace is not served, for the server's own is called so", "namespace", listed[i].Name)
		}
		if f.o.Known != nil {
			f.o.Known()
		}
	})
	return nil
}

// readAgain reads the catalogue, at once and again and again.
func (f *Fleet) readAgain() {
	every := time.NewTicker(f.o.Again)
	defer every.Stop()
	defer f.part()
	for {
		if err := f.meet(); err != nil && f.ctx.Err() == nil {
			f.log.Warn("which servers there are cannot be told", "err", err)
		}
		if err := f.read(f.ctx); err != nil && f.ctx.Err() == nil {
			f.log.Warn("which namespaces there are cannot be told", "err", err)
		}
		select {
		case <-every.C:
		case <-f.ctx.Done():
			return
		}
	}
}

// others are the namespaces beside the main one, by name.
func (f *Fleet) others() []*member {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make([]*member, 0, len(f.byName))
	for _, m := range f.byName {
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b *member) int { return strings.Compare(a.spec.Name, b.spec.Name) })
	return out
}

// begin starts to keep a namespace, unless all is over; the doors know of it then.
// Called by whoever has the turn.
func (f *Fleet) begin(s Spec) *member {
	m := &member{f: f, spec: s, holds: s.mine, gone: make(chan struct{}), ended: make(chan struct{}), told: make(chan struct{})}
	ctx, stop := context.WithCancel(f.ctx)
	m.stop = stop
	f.mu.Lock()
	if f.over {
		f.mu.Unlock()
		stop()
		return nil
	}
	f.byName[s.Name] = m
	f.leaving.Add(1)
	f.mu.Unlock()
	m.k = f.o.Keep(s)
	if !s.Until.IsZero() {
		f.wg.Go(func() { f.expire(m) })
	}
	f.wg.Go(func() {
		defer close(m.ended)
		defer stop()
		m.run(ctx)
	})
	return m
}

// leave ends the keeping of a namespace, once, and waits for that.
func (f *Fleet) leave(m *member, why string) {
	f.o.Forget(m.spec, why)
	close(m.gone)
	m.stop()
	<-m.ended
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.byName[m.spec.Name] == m {
		delete(f.byName, m.spec.Name)
	}
}

// expire removes a temporary namespace when its time is over.
func (f *Fleet) expire(m *member) {
	over := time.NewTimer(time.Until(m.spec.Until))
	defer over.Stop()
	select {
	case <-over.C:
		if _, err := f.remove(f.ctx, m.spec.Name, m, ""); err != nil && f.ctx.Err() == nil && !errors.Is(err, ErrNone) {
			f.log.Warn("a temporary namespace was not removed", "namespace", m.spec.Name, "err", err)
		}
	case <-m.ended:
	}
}

// add has a namespace be one of the fleet.
func (f *Fleet) add(ctx context.Context, s Spec) (*member, error) {
	select {
	case f.turn <- struct{}{}:
		defer func() { <-f.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if err := f.room(s); err != nil {
		return nil, err
	}
	if !s.Temporary {
		mine := s.mine // which is no other server's business
		s.mine = false
		var err error
		if s, err = f.o.Catalogue.Add(ctx, s); err != nil {
			return nil, err //nolint:wrapcheck // it says what it is about
		}
		s.mine = mine
	}
	m := f.begin(s) //nolint:contextcheck // it lives as long as the fleet
	if m == nil {
		return nil, engine.ErrClosed
	}
	return m, nil
}

// room tells whether there may be such a namespace.
func (f *Fleet) room(s Spec) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.byName[s.Name] != nil || strings.EqualFold(s.Name, f.main.spec.Name) {
		return &engine.Refusal{Kind: ErrTaken, Text: fmt.Sprintf("There is a namespace '%s' already.", s.Name)}
	}
	most := max(0, cmp.Or(f.o.Most, DefaultMost))
	if len(f.byName) >= most {
		return &engine.Refusal{Kind: engine.ErrQuota, Text: fmt.Sprintf("There are %d namespaces beside this server's own, which is the most there may be.", len(f.byName))}
	}
	temporary := 0
	for _, m := range f.byName {
		if m.spec.Temporary {
			temporary++
		}
	}
	if s.Temporary && temporary >= cmp.Or(f.o.MostTemporary, DefaultMostTemporary) {
		return &engine.Refusal{Kind: engine.ErrQuota, Text: fmt.Sprintf("There are %d temporary namespaces, which is the most there may be.", temporary)}
	}
	return nil
}

// gone is what the clients of a namespace are told.
func gone(name string) string { return fmt.Sprintf("The namespace %s was removed.", name) }

// ErrNone is the error for a namespace that is not there, ErrTaken for one that is
// there already.
var (
	ErrNone  error = &engine.Refusal{Kind: engine.ErrNotFound, Text: "There is no such namespace."}
	ErrTaken       = fmt.Errorf("%w: there is such a namespace", engine.ErrExists)
)

func none(name string) error {
	return &engine.Refusal{Kind: ErrNone, SubCode: 40402, Text: fmt.Sprintf("There is no namespace '%s'.", name)}
}

// Remove removes a namespace with all that is in it, on behalf of actor; empty:
// its time is over. Its clients are told, and its store is closed first. aside is
// where what was in it is kept; empty: it is gone. The server's own cannot be
// removed: engine.ErrNotAllowed. If it cannot be removed it is served again.
func (f *Fleet) Remove(ctx context.Context, name, actor string) (aside string, err error) {
	name = strings.ToLower(name)
	if strings.EqualFold(name, f.main.spec.Name) {
		return "", &engine.Refusal{Kind: engine.ErrNotAllowed, Text: fmt.Sprintf("The namespace '%s' is the server's own, and stays.", f.main.spec.Name)}
	}
	return f.remove(ctx, name, nil, actor)
}

// remove removes the namespace that is called so; if only is not nil, no other that
// is called so by now.
func (f *Fleet) remove(ctx context.Context, name string, only *member, actor string) (aside string, err error) {
	select {
	case f.turn <- struct{}{}:
		defer func() { <-f.turn }()
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	f.mu.Lock()
	m := f.byName[name]
	f.mu.Unlock()
	if m == nil || only != nil && m != only {
		return "", none(name)
	}
	ctx = context.WithoutCancel(ctx) // half of it would help nobody
	why := gone(name)
	if m.spec.Temporary {
		f.leave(m, why)
	} else if aside, err = f.o.Catalogue.Remove(ctx, m.spec, func() error { f.leave(m, why); return nil }); err != nil {
		f.log.Error("a namespace could not be removed", "namespace", name, "err", err)
		f.mu.Lock()
		there := f.byName[name] != nil
		f.mu.Unlock()
		if !there {
			f.begin(m.spec) //nolint:contextcheck // likewise
		}
		return "", fmt.Errorf("remove the namespace %s: %w", name, err)
	}
	f.log.Info("a namespace was removed", "namespace", name, "by", actor, "aside", aside)
	f.Remember(ctx, engine.EventNamespaceRemoved, name, cmp.Or(actor, "its time was over"))
	return aside, nil
}

// An Elsewhere is who owns a namespace that is not served here, or why nobody is
// known to.
type Elsewhere = Waiting

// Broker is a namespace's, by its name in any case; else where that is served, or
// that there is none: ErrNone.
func (f *Fleet) Broker(name string) (*broker.Broker, *Elsewhere, error) {
	m := f.find(name)
	if m == nil {
		return nil, nil, none(name)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.b != nil {
		return m.b, nil, nil
	}
	w := m.waiting
	return nil, &w, nil
}

func (f *Fleet) find(name string) *member {
	if strings.EqualFold(name, f.main.spec.Name) {
		return f.main
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.byName[strings.ToLower(name)]
}

// Find is what there is to say of one namespace; not ok: there is none.
func (f *Fleet) Find(name string) (n Namespace, ok bool) {
	m := f.find(name)
	if m == nil {
		return Namespace{}, false
	}
	return m.namespace(), true
}

// List are all namespaces: the server's own, then the others by name.
func (f *Fleet) List() []Namespace {
	out := []Namespace{f.main.namespace()}
	for _, m := range f.others() {
		out = append(out, m.namespace())
	}
	return out
}

// Most is how many namespaces there may be beside the server's own.
func (f *Fleet) Most() int { return max(0, cmp.Or(f.o.Most, DefaultMost)) }

// Trouble is why it could not be told lately which namespaces there are; nil: it
// could.
func (f *Fleet) Trouble() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.trial
}
