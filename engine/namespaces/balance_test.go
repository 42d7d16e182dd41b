package namespaces_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/namespaces"
	"mayfly/engine/namespaces/namespacestest"
	"mayfly/storage/memory"
)

// A serverGroup is a store that several servers share, with the owners of its namespaces and
// its live servers.
type serverGroup struct {
	t *testing.T

	mu       sync.Mutex
	specs    map[string]namespaces.Spec
	owner    map[string]string    // the server that owns each namespace
	free     map[string]time.Time // since when each namespace has had no owner
	gone     map[string]string    // the dead server that owned each namespace last
	heard    map[string]time.Time // when each server was last heard
	owns     map[string]int
	dead     map[string]bool
	busy     map[string]bool           // namespaces with clients
	slow     map[string]time.Duration  // time that each server needs to take a namespace; not changed once servers run
	moves    int                       // how often a namespace was taken
	notes    *namespacestest.NoteStore // nil if there is none; not changed once servers run
	managers map[string]*namespaces.Manager
	stops    map[string]context.CancelFunc
	all      sync.WaitGroup
}

func newServerGroup(t *testing.T, count int) *serverGroup {
	s := &serverGroup{
		t: t, specs: map[string]namespaces.Spec{}, owner: map[string]string{}, free: map[string]time.Time{}, gone: map[string]string{},
		heard: map[string]time.Time{}, owns: map[string]int{}, dead: map[string]bool{}, busy: map[string]bool{},
		managers: map[string]*namespaces.Manager{}, stops: map[string]context.CancelFunc{},
	}
	for i := range count {
		name := fmt.Sprintf("n%02d", i)
		s.specs[name] = namespaces.Spec{Name: name}
	}
	return s
}

func (s *serverGroup) List(context.Context) ([]namespaces.Spec, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.specs)), nil
}

func (s *serverGroup) Add(_ context.Context, n namespaces.Spec) (namespaces.Spec, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.specs[n.Name] = n
	return n, nil
}

func (s *serverGroup) Change(context.Context, namespaces.Spec) error { return errors.ErrUnsupported }

func (s *serverGroup) Remove(context.Context, namespaces.Spec, func() error) (string, error) {
	return "", errors.ErrUnsupported
}

// roll is one server's view of the serverGroup.
type roll struct {
	*serverGroup
	name string
}

func (r roll) Heartbeat(_ context.Context, name string, owns int) (map[string]int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.dead[r.name] {
		return nil, errors.New("it is dead")
	}
	r.heard[name], r.owns[name] = time.Now(), owns
	others := map[string]int{}
	for other, at := range r.heard {
		if other != name && time.Since(at) < 8*time.Second {
			others[other] = r.owns[other]
		}
	}
	return others, nil
}

func (r roll) Deregister(_ context.Context, name string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.dead[r.name] {
		delete(r.heard, name)
	}
	return nil
}

// lease is the time until other servers notice that a server is dead.
const lease = 6 * time.Second

// open waits until the server owns the namespace, as opening a shared store does.
func (r roll) open(ctx context.Context, namespace string, standby func(engine.Owner)) (engine.Store, error) {
	seen := ""
	for {
		r.mu.Lock()
		owner := r.owner[namespace]
		since, gone := r.free[namespace], r.gone[namespace]
		f := r.managers[r.name]
		r.mu.Unlock()
		switch {
		case owner == "" && (gone == "" || time.Since(since) >= lease):
			if gone != "" {
				since = since.Add(lease)
			}
			if since.IsZero() {
				since = time.Now()
				r.mu.Lock()
				r.free[namespace] = since
				r.mu.Unlock()
			}
			if f.Claim(namespace, time.Since(since), gone) {
				if r.take(namespace) {
					return &held{Store: new(memory.Store), r: r, namespace: namespace}, nil
				}
				continue // another server was first: this attempt ends now, not at the next poll
			}
		case owner != seen && owner != "":
			seen = owner
			standby(engine.Owner{Host: owner})
		}
		select {
		case <-time.After(500 * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (r roll) take(namespace string) bool {
	time.Sleep(10*time.Millisecond + r.slow[r.name]) // others request it meanwhile
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.owner[namespace] != "" || r.dead[r.name] {
		return false
	}
	r.owner[namespace] = r.name
	delete(r.free, namespace)
	delete(r.gone, namespace)
	r.moves++
	return true
}

// held is the store of a namespace that a server owns.
type held struct {
	*memory.Store
	r         roll
	namespace string
}

func (h *held) Close() error {
	h.r.mu.Lock()
	defer h.r.mu.Unlock()
	if h.r.owner[h.namespace] == h.r.name {
		h.r.owner[h.namespace], h.r.free[h.namespace] = "", time.Now()
	}
	return h.Store.Close()
}

// start starts a server, which may have been killed before.
func (s *serverGroup) start(name string) {
	r := roll{s, name}
	log := slog.New(slog.DiscardHandler)
	keeper := func(namespace string) *namespaces.Keeper {
		return &namespaces.Keeper{
			Protocols: &protocols{}, Logger: log, Broker: broker.Options{Name: namespace, Logger: log}, Shared: true,
			Open: func(standby func(engine.Owner), _ int) func(context.Context) (engine.Store, error) {
				return func(ctx context.Context) (engine.Store, error) { return r.open(ctx, namespace, standby) }
			},
		}
	}
	var store namespaces.NoteStore
	if s.notes != nil {
		store = s.notes
	}
	f := namespaces.New(namespaces.Options{
		Main: keeper("default"), Catalogue: s, Notes: store, Logger: log, RefreshInterval: 2 * time.Second, Membership: r, Name: name,
		NewKeeper: func(n namespaces.Spec) *namespaces.Keeper { return keeper(n.Name) },
		Drop:      func(namespaces.Spec, string) {},
		Busy: func(namespace string) bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.busy[namespace]
		},
	})
	ctx, stop := context.WithCancel(s.t.Context())
	s.mu.Lock()
	s.managers[name], s.stops[name] = f, stop
	delete(s.dead, name)
	s.mu.Unlock()
	s.all.Go(func() {
		if err := f.Run(ctx); err != nil {
			s.t.Error(err)
		}
	})
}

// kill ends a server as if its machine had crashed.
func (s *serverGroup) kill(name string) {
	s.mu.Lock()
	s.dead[name] = true
	for namespace, owner := range s.owner {
		if owner == name {
			s.owner[namespace], s.gone[namespace], s.free[namespace] = "", name, time.Now()
		}
	}
	stop := s.stops[name]
	s.mu.Unlock()
	stop()
}

// after waits for d and returns how many namespaces each server owns, and how many have no
// owner.
func (s *serverGroup) after(d time.Duration) string {
	time.Sleep(d)
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	count := map[string]int{}
	for name := range s.stops {
		if !s.dead[name] {
			count[name] = 0
		}
	}
	for name := range s.specs {
		count[s.owner[name]]++
	}
	count[s.owner["default"]]++
	return fmt.Sprint(count)
}

func (s *serverGroup) expect(d time.Duration, want string) {
	s.t.Helper()
	if got := s.after(d); got != want {
		s.t.Errorf("servers own %s; want %s", got, want)
	}
}

func (s *serverGroup) end() {
	s.mu.Lock()
	for _, stop := range s.stops {
		stop()
	}
	s.mu.Unlock()
	s.all.Wait()
}

// Namespaces are spread over the live servers, and then stay where they are.
func TestNamespacesAreSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServerGroup(t, 11)
		s.start("a")
		s.expect(3*time.Second, "map[a:12]")
		s.start("b")
		s.start("c")
		s.expect(4*time.Second, "map[a:12 b:0 c:0]") // a server does not take a namespace from its owner by force
		s.expect(5*time.Minute, "map[a:4 b:4 c:4]")
		before := s.moves
		s.expect(time.Hour, "map[a:4 b:4 c:4]")
		if s.moves != before {
			t.Errorf("%d namespaces changed their owner without a reason", s.moves-before)
		}

		s.kill("b")
		s.expect(lease+2*time.Second, "map[a:6 c:6]")
		if took := s.moves - before; took != 4 {
			t.Errorf("%d were taken, of 4", took)
		}
		s.start("b")
		s.expect(4*time.Second, "map[a:6 b:0 c:6]")
		s.expect(5*time.Minute, "map[a:4 b:4 c:4]")
		s.end()
	})
}

// Namespaces with connected clients stay where they are; others move to the server that owns
// fewer.
func TestBusyNamespacesStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServerGroup(t, 5)
		for name := range s.specs {
			s.busy[name] = true
		}
		s.start("a")
		s.after(3 * time.Second)
		s.start("b")
		s.expect(time.Hour, "map[a:6 b:0]")
		f := s.managers["a"]
		if n, err := f.Create(t.Context(), namespaces.Spec{Name: "new"}, "tester"); err != nil || n.State != namespaces.Standby || n.Owner.Host != "b" {
			t.Errorf("made is %+v, %v", n, err)
		}
		s.mu.Lock()
		s.busy["new"] = true
		s.mu.Unlock()
		s.expect(time.Minute, "map[a:6 b:1]")
		s.kill("b")
		s.expect(lease+2*time.Second, "map[a:7]") // there is no other server
		s.end()
	})
}

// Servers that start together get their shares at once. If the intended server does not take a
// namespace, another server does.
func TestEveryNamespaceHasAnOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServerGroup(t, 5)
		for i := range 20 { // another server appears again and again, but takes no namespace
			time.AfterFunc(time.Duration(i)*time.Second, func() {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.heard["ghost"] = time.Now()
			})
		}
		synctest.Wait()
		s.start("a")
		s.expect(2*time.Second, "map[:3 a:3]")
		s.expect(8*time.Second, "map[a:6]")
		s.end()
	})
}

// A namespace that is created with contents stays with the server that creates it, whatever the
// shares are. Another server that finds it does not interfere.
func TestMakerFillsFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServerGroup(t, 5)
		s.slow = map[string]time.Duration{"a": 30 * time.Millisecond}
		s.start("a")
		s.after(3 * time.Second)
		s.start("b")
		s.after(2*time.Second - 5*time.Millisecond) // b reads the catalogue before a owns the namespace
		for i := range 4 {
			name := fmt.Sprintf("made%d", i)
			n, warned, err := s.managers["a"].CreateDefined(t.Context(), namespaces.Spec{Name: name}, []byte(`{"UserConfig":{"Namespaces":[{"Name":"n","Queues":[{"Name":"q"}]}]}}`), "tester")
			if err != nil || len(warned.First) > 0 || n.State != namespaces.Serving {
				t.Errorf("%s: %+v, %v", name, n, err)
			}
			time.Sleep(2*time.Second - 10*time.Millisecond)
		}
		s.end()
	})
}
