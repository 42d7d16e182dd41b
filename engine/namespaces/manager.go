package namespaces

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

// The maximum numbers of namespaces besides the server's own, unless Options set others.
const (
	DefaultMax          = 50
	DefaultMaxTemporary = 10
)

// A Spec describes a namespace, without its contents.
type Spec struct {
	Name    string    `json:"name"`              // as ParseName returns it, except for the server's own
	Profile string    `json:"profile,omitempty"` // one of engine.Profiles; empty means the server's limits
	Created time.Time `json:"created,omitzero"`
	// StoredName is its name in a store that holds several namespaces; empty means Name. The
	// catalogue sets it.
	StoredName string `json:"kept,omitempty"`
	// A Temporary namespace is only in memory. It ends with the server at the latest.
	Temporary  bool      `json:"temporary,omitempty"`
	Until      time.Time `json:"until,omitzero"` // when a temporary one is removed; zero means on request
	preferHere bool      // this server takes it, even if it owns more than others
	notBefore  time.Time // this server must not take it before this time
	// ManualClock is the clock of a temporary namespace; nil means the system's clock.
	ManualClock *broker.ManualClock `json:"-"`
}

// A Catalogue stores the list of namespaces besides the server's own. Calls of its methods do not
// overlap.
type Catalogue interface {
	// List returns all of them, in any order.
	List(ctx context.Context) ([]Spec, error)
	// Add adds an empty namespace, and returns it with StoredName. The error is
	// ErrNamespaceExists if there is one with that name.
	Add(ctx context.Context, s Spec) (Spec, error)
	// Change changes a namespace's Profile. The error is engine.ErrNotAllowed if its contents
	// would be lost.
	Change(ctx context.Context, s Spec) error
	// Remove removes a namespace with its contents. First it calls `closed`, which closes the
	// namespace's store. aside is where the contents are kept, or "" if they are deleted.
	Remove(ctx context.Context, s Spec, closed func() error) (aside string, err error)
}

// Options configure a Manager. Main, NewKeeper and Catalogue are required.
type Options struct {
	// Main is the server's own namespace. Its OnShutdown is called once the watchers of all
	// namespaces have been notified, and waits for the requests to all of them.
	Main *Keeper
	// NewKeeper returns the keeper of another namespace, and makes the protocols stand by for it.
	// The Manager sets its RetryForever and OnShutdown.
	NewKeeper func(Spec) *Keeper
	// Drop makes the protocols drop a namespace, whose clients get `why` as the reason.
	Drop      func(s Spec, why string)
	Catalogue Catalogue
	// OnLoaded, unless it is nil, is called once, when the catalogue has been read for the first
	// time and the protocols have all its namespaces.
	OnLoaded func()
	// RefreshInterval is how often the catalogue is read again, if other servers write it too; zero
	// means never.
	RefreshInterval time.Duration
	// Notes is shared by the servers on the store; nil if there is none.
	Notes NoteStore
	// Membership lets the servers on the store share namespaces; nil if there is none. Name is this
	// server's name in it.
	Membership Membership
	Name       string
	// Busy reports whether clients are connected to a namespace, which is then not handed over to
	// another server. Nil means that no client ever is.
	Busy         func(name string) bool
	Max          int          // namespaces besides Main; zero means DefaultMax; negative means none
	MaxTemporary int          // temporary ones among them; zero means DefaultMaxTemporary
	Logger       *slog.Logger // zero means slog.Default
}

// A Manager holds the namespaces of a server. Its methods are safe for concurrent use. Run must be
// called once, before all others.
type Manager struct {
	o    Options
	log  *slog.Logger
	main *member

	ctx          context.Context //nolint:containedctx // the life of the other namespaces, ended by Run
	stop         context.CancelFunc
	mainReady    chan struct{}  // closed when the state of the main namespace is known
	requestsDone chan struct{}  // closed when no request is running
	leaving      sync.WaitGroup // members that have not yet notified their watchers of the end
	wg           sync.WaitGroup // members, and timers of temporary ones
	changing     chan struct{}  // a lock, held by the goroutine that changes the catalogue or members
	actionNotes  atomic.Uint64  // number of actions posted to the note store

	mu           sync.Mutex
	byName       map[string]*member // the other namespaces; guarded by mu
	closed       bool               // no namespace may be started any more; guarded by mu
	shares       shares             // guarded by mu
	catalogueErr error              // why the catalogue could not be read the last time; guarded by mu
	known        sync.Once          // calls OnLoaded
	listed       bool               // the catalogue has been read before; guarded by changing
}

// New returns a Manager, which Run starts.
func New(o Options) *Manager {
	f := &Manager{
		o: o, log: cmp.Or(o.Logger, slog.Default()), byName: map[string]*member{},
		mainReady: make(chan struct{}), requestsDone: make(chan struct{}), changing: make(chan struct{}, 1),
	}
	f.main = &member{manager: f, spec: Spec{Name: cmp.Or(o.Main.Broker.Name, "default")}, keeper: o.Main}
	return f
}

// Run serves the namespaces until ctx ends, or until the server's own namespace fails, and returns
// the error of that namespace. Failures of other namespaces do not end Run.
func (f *Manager) Run(ctx context.Context) error {
	f.ctx, f.stop = context.WithCancel(ctx)
	defer f.stop()
	if f.o.RefreshInterval > 0 { // the main namespace does not wait for a remote catalogue
		f.wg.Go(f.pollCatalogue)
	} else if err := f.readCatalogue(ctx); err != nil {
		return err
	}
	if f.o.Notes != nil {
		f.wg.Go(f.pollActions)
	}
	begin := sync.OnceFunc(func() { close(f.mainReady) })
	shut := f.o.Main.OnShutdown
	silence := sync.OnceValue(func() error { // no namespace may be used afterwards
		f.mu.Lock()
		f.closed = true
		f.mu.Unlock()
		f.stop()
		f.leaving.Wait()
		var err error
		if shut != nil {
			err = shut(context.WithoutCancel(ctx))
		}
		close(f.requestsDone)
		return err
	})
	f.main.keeper.OnShutdown = func(context.Context) error { return silence() }
	f.main.keeper.Protocols = recordingProtocols{f.main, f.main.keeper.Protocols, begin}
	err := f.main.keeper.Run(ctx)
	err = errors.Join(err, silence())
	f.wg.Wait()
	return err
}

// readCatalogue starts namespaces that are new in the catalogue, reopens those with another
// profile, and stops those that are no longer in it. None is opened before the state of the main
// one is known.
func (f *Manager) readCatalogue(ctx context.Context) error {
	select {
	case f.changing <- struct{}{}:
		defer func() { <-f.changing }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	listed, err := f.o.Catalogue.List(ctx)
	f.mu.Lock()
	f.catalogueErr = err
	f.mu.Unlock()
	if err != nil {
		return fmt.Errorf("list the namespaces: %w", err)
	}
	there := map[string]Spec{}
	for _, s := range listed {
		there[s.Name] = s
	}
	for _, m := range f.others() {
		s, ok := there[m.spec.Name]
		switch {
		case m.spec.Temporary:
		case !ok, s.StoredName != m.spec.StoredName: // it was removed, or removed and created again
			f.log.Info("a namespace no longer exists", "namespace", m.spec.Name)
			f.stopMember(m, removedReason(m.spec.Name))
		case s.Profile != m.spec.Profile:
			f.log.Info("the limits of a namespace have changed", "namespace", m.spec.Name, "profile", s.Profile)
			if _, err := f.reopen(m, s, profileChanged); err != nil { //nolint:contextcheck // it lives as long as the Manager
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
				s.notBefore = time.Now().Add(creatorGrace)
			}
			f.startMember(s) //nolint:contextcheck // it lives as long as the Manager
		}
	}
	f.known.Do(func() {
		if i := slices.IndexFunc(listed, func(s Spec) bool { return strings.EqualFold(s.Name, f.main.spec.Name) }); i >= 0 && f.o.RefreshInterval == 0 {
			f.log.Warn("a namespace is not served because it has the name of the server's own", "namespace", listed[i].Name)
		}
		if f.o.OnLoaded != nil {
			f.o.OnLoaded()
		}
	})
	return nil
}

// pollCatalogue reads the catalogue at once and then regularly.
func (f *Manager) pollCatalogue() {
	every := time.NewTicker(f.o.RefreshInterval)
	defer every.Stop()
	defer f.leaveServers()
	for {
		if err := f.heartbeat(); err != nil && f.ctx.Err() == nil {
			f.log.Warn("the list of servers cannot be read", "err", err)
		}
		if err := f.readCatalogue(f.ctx); err != nil && f.ctx.Err() == nil {
			f.log.Warn("the list of namespaces cannot be read", "err", err)
		}
		select {
		case <-every.C:
		case <-f.ctx.Done():
			return
		}
	}
}

// others returns the namespaces besides the main one, by name.
func (f *Manager) others() []*member {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make([]*member, 0, len(f.byName))
	for _, m := range f.byName {
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b *member) int { return strings.Compare(a.spec.Name, b.spec.Name) })
	return out
}

// startMember starts a namespace and adds it to the protocols. It returns nil if the Manager has
// ended. The caller holds changing.
func (f *Manager) startMember(s Spec) *member {
	m := &member{manager: f, spec: s, owned: s.preferHere, gone: make(chan struct{}), ended: make(chan struct{}), stateKnown: make(chan struct{})}
	ctx, stop := context.WithCancel(f.ctx)
	m.stop = stop
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		stop()
		return nil
	}
	f.byName[s.Name] = m
	f.leaving.Add(1)
	f.mu.Unlock()
	m.keeper = f.o.NewKeeper(s)
	if !s.Until.IsZero() {
		f.wg.Go(func() { f.removeExpired(m) })
	}
	f.wg.Go(func() {
		defer close(m.ended)
		defer stop()
		m.run(ctx)
	})
	return m
}

// stopMember stops a namespace and waits until it has ended. Call it once for each member.
func (f *Manager) stopMember(m *member, why string) {
	f.o.Drop(m.spec, why)
	close(m.gone)
	m.stop()
	<-m.ended
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.byName[m.spec.Name] == m {
		delete(f.byName, m.spec.Name)
	}
}

// removeExpired removes a temporary namespace at Spec.Until.
func (f *Manager) removeExpired(m *member) {
	over := time.NewTimer(time.Until(m.spec.Until))
	defer over.Stop()
	select {
	case <-over.C:
		if _, err := f.remove(f.ctx, m.spec.Name, m, ""); err != nil && f.ctx.Err() == nil && !errors.Is(err, ErrNoNamespace) {
			f.log.Warn("a temporary namespace was not removed", "namespace", m.spec.Name, "err", err)
		}
	case <-m.ended:
	}
}

// add adds a namespace to the Manager.
func (f *Manager) add(ctx context.Context, s Spec) (*member, error) {
	select {
	case f.changing <- struct{}{}:
		defer func() { <-f.changing }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if err := f.checkRoom(s); err != nil {
		return nil, err
	}
	if !s.Temporary {
		mine := s.preferHere // the catalogue must not store it
		s.preferHere = false
		var err error
		if s, err = f.o.Catalogue.Add(ctx, s); err != nil {
			return nil, err
		}
		s.preferHere = mine
	}
	m := f.startMember(s) //nolint:contextcheck // it lives as long as the Manager
	if m == nil {
		return nil, engine.ErrClosed
	}
	return m, nil
}

// checkRoom returns an error unless a namespace may be added.
func (f *Manager) checkRoom(s Spec) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.byName[s.Name] != nil || strings.EqualFold(s.Name, f.main.spec.Name) {
		return engine.Refuse(ErrNamespaceExists, "The namespace '%s' already exists. Choose another name.", s.Name)
	}
	most := max(0, cmp.Or(f.o.Max, DefaultMax))
	if len(f.byName) >= most {
		return engine.Refuse(engine.ErrQuota, "There are already %d namespaces beside the server's own, the maximum. Delete one first.", len(f.byName))
	}
	temporary := 0
	for _, m := range f.byName {
		if m.spec.Temporary {
			temporary++
		}
	}
	if s.Temporary && temporary >= cmp.Or(f.o.MaxTemporary, DefaultMaxTemporary) {
		return engine.Refuse(engine.ErrQuota, "There are already %d temporary namespaces, the maximum. Delete one first.", temporary)
	}
	return nil
}

// removedReason returns the reason that the clients of a removed namespace get.
func removedReason(name string) string { return fmt.Sprintf("The namespace %s was removed.", name) }

// ErrNoNamespace means that a namespace does not exist, ErrNamespaceExists that it exists already.
var (
	ErrNoNamespace     error = engine.Refuse(engine.ErrNotFound, "The namespace does not exist.")
	ErrNamespaceExists       = fmt.Errorf("%w: the namespace already exists", engine.ErrExists)
)

func noNamespace(name string) error {
	return engine.RefuseCode(ErrNoNamespace, 40402, "The namespace '%s' does not exist.", name)
}

// Remove removes a namespace with its contents, on behalf of actor. An empty actor means that its
// lifetime has ended. Its clients get the reason, and its store is closed first. aside is where the
// contents are kept, or "" if they are deleted. For the server's own namespace, Remove returns
// engine.ErrNotAllowed. If the removal fails, the namespace is served again.
func (f *Manager) Remove(ctx context.Context, name, actor string) (aside string, err error) {
	name = strings.ToLower(name)
	if strings.EqualFold(name, f.main.spec.Name) {
		return "", engine.Refuse(engine.ErrNotAllowed, "The namespace '%s' is the server's own and cannot be deleted.", f.main.spec.Name)
	}
	return f.remove(ctx, name, nil, actor)
}

// remove is Remove, also for a namespace whose lifetime has ended. Unless `only` is nil, it returns
// ErrNoNamespace if the member with that name is not `only`.
func (f *Manager) remove(ctx context.Context, name string, only *member, actor string) (aside string, err error) {
	select {
	case f.changing <- struct{}{}:
		defer func() { <-f.changing }()
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	f.mu.Lock()
	m := f.byName[name]
	f.mu.Unlock()
	if m == nil || only != nil && m != only {
		return "", noNamespace(name)
	}
	ctx = context.WithoutCancel(ctx) // a removal must not stop halfway
	why := removedReason(name)
	if m.spec.Temporary {
		f.stopMember(m, why)
	} else if aside, err = f.o.Catalogue.Remove(ctx, m.spec, func() error { f.stopMember(m, why); return nil }); err != nil {
		f.log.Error("a namespace could not be removed", "namespace", name, "err", err)
		f.mu.Lock()
		there := f.byName[name] != nil
		f.mu.Unlock()
		if !there {
			f.startMember(m.spec) //nolint:contextcheck // it lives as long as the Manager
		}
		return "", fmt.Errorf("remove the namespace %s: %w", name, err)
	}
	f.log.Info("a namespace was removed", "namespace", name, "actor", actor, "aside", aside)
	f.Audit(ctx, engine.EventNamespaceRemoved, name, cmp.Or(actor, "its lifetime ended"))
	return aside, nil
}

// An Elsewhere says which server owns a namespace that is not served here, or why none does.
type Elsewhere = NotServed

// Broker returns the broker of a namespace; the case of name does not matter. If the namespace is
// not served here, Broker returns an Elsewhere instead, and if it does not exist, ErrNoNamespace.
func (f *Manager) Broker(name string) (*broker.Broker, *Elsewhere, error) {
	m := f.find(name)
	if m == nil {
		return nil, nil, noNamespace(name)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.b != nil {
		return m.b, nil, nil
	}
	w := m.waiting
	return nil, &w, nil
}

func (f *Manager) find(name string) *member {
	if strings.EqualFold(name, f.main.spec.Name) {
		return f.main
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.byName[strings.ToLower(name)]
}

// Find returns one namespace; ok is false if it does not exist.
func (f *Manager) Find(name string) (n Namespace, ok bool) {
	m := f.find(name)
	if m == nil {
		return Namespace{}, false
	}
	return m.namespace(), true
}

// List returns all namespaces: the server's own, then the others by name.
func (f *Manager) List() []Namespace {
	out := []Namespace{f.main.namespace()}
	for _, m := range f.others() {
		out = append(out, m.namespace())
	}
	return out
}

// Max returns how many namespaces there may be besides the server's own.
func (f *Manager) Max() int { return max(0, cmp.Or(f.o.Max, DefaultMax)) }

// CatalogueError returns the error of the latest attempt to read the catalogue, nil if it succeeded.
func (f *Manager) CatalogueError() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.catalogueErr
}
