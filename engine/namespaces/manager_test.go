package namespaces_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/namespaces"
	"mayfly/storage/memory"
)

// A catalogue contains names, with stores that keep their contents when they are closed.
type catalogue struct {
	mu     sync.Mutex
	specs  map[string]namespaces.Spec
	stores map[string]*memory.Store
	broken map[string]error // errors of stores that cannot be opened
	stuck  error            // the error of removals and changes, if any
	unread error            // the error of reading, if any
}

func (c *catalogue) List(context.Context) (all []namespaces.Spec, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.specs {
		all = append(all, s)
	}
	return all, c.unread
}

func (c *catalogue) Add(_ context.Context, s namespaces.Spec) (namespaces.Spec, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, there := c.specs[s.Name]; there {
		return s, engine.ErrExists
	}
	c.specs[s.Name] = s
	return s, nil
}

func (c *catalogue) Change(_ context.Context, s namespaces.Spec) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stuck != nil {
		return c.stuck
	}
	c.specs[s.Name] = s
	return nil
}

func (c *catalogue) Remove(_ context.Context, s namespaces.Spec, closed func() error) (string, error) {
	if err := closed(); err != nil {
		return "", err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stuck != nil {
		return "", c.stuck
	}
	delete(c.specs, s.Name)
	delete(c.stores, s.Name)
	return "aside/" + s.Name, nil
}

func (c *catalogue) fault(name string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.broken[name] = err
}

// open opens the store of a namespace, with its contents.
func (c *catalogue) open(name string) (engine.Store, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.broken[name]; err != nil {
		return nil, err
	}
	s := new(memory.Store)
	if was := c.stores[name]; was != nil {
		s = was.Reopen()
	}
	c.stores[name] = s
	return s, nil
}

// A harbour is a Manager in a synctest bubble, with its catalogue and its protocols.
type harbour struct {
	t         *testing.T
	c         *catalogue
	f         *namespaces.Manager
	main      *protocols
	mu        sync.Mutex
	protocols map[string]*protocols
	ended     chan error
	stop      context.CancelFunc
	// atShut is called when the Manager waits for the last request.
	atShut func()
}

func launch(t *testing.T, c *catalogue, change func(*namespaces.Options)) *harbour {
	log := slog.New(slog.DiscardHandler)
	h := &harbour{t: t, c: c, main: &protocols{}, protocols: map[string]*protocols{}, ended: make(chan error, 1)}
	keeper := func(name string, d *protocols) *namespaces.Keeper {
		return &namespaces.Keeper{
			Protocols: d, Logger: log, Broker: broker.Options{Name: name, Logger: log},
			Open: opening(func() (engine.Store, error) { return c.open(name) }),
		}
	}
	o := namespaces.Options{
		Main: keeper("default", h.main), Catalogue: c, Logger: log,
		NewKeeper: func(s namespaces.Spec) *namespaces.Keeper {
			d := &protocols{}
			h.mu.Lock()
			h.protocols[s.Name] = d
			h.mu.Unlock()
			return keeper(s.Name, d)
		},
		Drop: func(s namespaces.Spec, why string) { h.of(s.Name).note("forget: " + why) },
	}
	o.Main.OnShutdown = func(context.Context) error {
		h.main.note("shut")
		if h.atShut != nil {
			h.atShut()
		}
		return nil
	}
	if change != nil {
		change(&o)
	}
	h.f = namespaces.New(o)
	ctx, cancel := context.WithCancel(t.Context())
	h.stop = cancel
	go func() { h.ended <- h.f.Run(ctx) }()
	synctest.Wait()
	return h
}

func (h *harbour) of(name string) *protocols {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.protocols[name]
}

func (h *harbour) end() error {
	h.stop()
	return <-h.ended
}

func (h *harbour) create(s namespaces.Spec) namespaces.Namespace {
	h.t.Helper()
	n, err := h.f.Create(h.t.Context(), s, "tester")
	if err != nil {
		h.t.Fatal(err)
	}
	return n
}

// is requires the Manager to list exactly these namespaces, each as its name and its state.
func (h *harbour) is(want ...string) {
	h.t.Helper()
	synctest.Wait()
	var got []string
	for _, n := range h.f.List() {
		got = append(got, n.Name+" "+string(n.State))
	}
	if !slices.Equal(got, want) {
		h.t.Errorf("there is %q; want %q", got, want)
	}
}

func newCatalogue() *catalogue {
	return &catalogue{specs: map[string]namespaces.Spec{}, stores: map[string]*memory.Store{}, broken: map[string]error{}}
}

func queue(t *testing.T, f *namespaces.Manager, name string, q engine.Path) {
	t.Helper()
	b, _, err := f.Broker(name)
	if err != nil || b == nil {
		t.Fatalf("the broker of %s: %v", name, err)
	}
	if _, err := b.Create(t.Context(), engine.Queue, q, engine.Config{}, "tester"); err != nil {
		t.Fatal(err)
	}
}

func queues(t *testing.T, f *namespaces.Manager, name string) (out []string) {
	t.Helper()
	b, _, err := f.Broker(name)
	if err != nil || b == nil {
		t.Fatalf("the broker of %s: %v", name, err)
	}
	if err := b.Read(t.Context(), func(r broker.Reader) error {
		for _, s := range r.States(engine.Queue) {
			out = append(out, string(s.Path))
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

// After a restart a created namespace exists with its contents, and namespaces are independent
// of each other.
func TestManagerFindsThemAgain(t *testing.T) {
	c := newCatalogue()
	synctest.Test(t, func(t *testing.T) {
		h := launch(t, c, nil)
		if n := h.create(namespaces.Spec{Name: "Shop", Profile: "premium"}); n.Name != "shop" || n.State != namespaces.Serving || n.Profile != "premium" || n.Created.IsZero() {
			t.Errorf("the namespace is %+v", n)
		}
		h.create(namespaces.Spec{Name: "till"})
		queue(t, h.f, "SHOP", "orders")
		queue(t, h.f, "till", "orders")
		queue(t, h.f, "till", "coins")
		h.is("default serving", "shop serving", "till serving")
		if err := h.end(); err != nil {
			t.Error(err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		h := launch(t, c, nil)
		h.is("default serving", "shop serving", "till serving")
		if n, ok := h.f.Find("shop"); !ok || n.Profile != "premium" {
			t.Errorf("shop is %+v", n)
		}
		for name, want := range map[string]string{"default": "[]", "shop": "[orders]", "till": "[coins orders]"} {
			if got := fmt.Sprint(queues(t, h.f, name)); got != want {
				t.Errorf("%s has %s; want %s", name, got, want)
			}
		}
		if err := h.end(); err != nil {
			t.Error(err)
		}
	})
}

// A namespace that cannot be opened reports the reason and is tried again. Others are not
// affected.
func TestManagerOneFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCatalogue()
		c.specs["bad"], c.specs["good"] = namespaces.Spec{Name: "bad"}, namespaces.Spec{Name: "good"}
		c.fault("bad", errDisk)
		h := launch(t, c, nil)
		h.is("default serving", "bad failing", "good serving")
		b, elsewhere, err := h.f.Broker("bad")
		if b != nil || err != nil || elsewhere == nil || elsewhere.Reason != "The disk is gone." || elsewhere.Since.IsZero() {
			t.Errorf("bad: %v, %+v, %v", b, elsewhere, err)
		}
		c.fault("bad", nil)
		time.Sleep(10 * time.Second)
		h.is("default serving", "bad serving", "good serving")
		h.of("good").broker.Close()
		h.is("default serving", "bad serving", "good failing")
		time.Sleep(10 * time.Second)
		h.is("default serving", "bad serving", "good serving")
		if err := h.end(); err != nil {
			t.Error(err)
		}
	})
}

// When the server's own namespace ends, all namespaces end, and watchers are notified before
// requests end.
func TestManagerEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := launch(t, newCatalogue(), nil)
		h.create(namespaces.Spec{Name: "shop"})
		var order []string
		note := func(what string) {
			h.mu.Lock()
			defer h.mu.Unlock()
			order = append(order, what)
		}
		h.main.heard = func(what string) { note("main " + what) }
		h.of("shop").heard = func(what string) { note("shop " + what) }
		if err := h.end(); err != nil {
			t.Error(err)
		}
		shut := slices.Index(order, "main shut")
		for _, first := range []string{"main leave", "shop leave"} {
			if i := slices.Index(order, first); i < 0 || i > shut {
				t.Errorf("%s: %q", first, order)
			}
		}
		for _, last := range []string{"main close", "shop close"} {
			if i := slices.Index(order, last); i < shut {
				t.Errorf("%s: %q", last, order)
			}
		}
		if _, err := h.f.Create(t.Context(), namespaces.Spec{Name: "late"}, "tester"); !errors.Is(err, engine.ErrClosed) {
			t.Errorf("a namespace was created after the end: %v", err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		c := newCatalogue()
		c.specs["shop"] = namespaces.Spec{Name: "shop"}
		c.fault("default", errDisk)
		h := launch(t, c, nil)
		if err := <-h.ended; !errors.Is(err, errDisk) {
			t.Errorf("it ended with %v", err)
		}
		expect(t, h.of("shop"))
	})
}

func TestManagerCreateIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := launch(t, newCatalogue(), func(o *namespaces.Options) { o.Max, o.MaxTemporary = 3, 1 })
		h.create(namespaces.Spec{Name: "shop"})
		h.create(namespaces.Spec{Name: "demo", Temporary: true})
		refused := func(s namespaces.Spec, want error) {
			t.Helper()
			if _, err := h.f.Create(t.Context(), s, "tester"); !errors.Is(err, want) {
				t.Errorf("%+v: %v; want %v", s, err, want)
			}
			h.is("default serving", "demo serving", "shop serving")
		}
		refused(namespaces.Spec{Name: "SHOP"}, engine.ErrExists)
		refused(namespaces.Spec{Name: "Default"}, engine.ErrExists)
		refused(namespaces.Spec{Name: "a.b"}, engine.ErrArgument)
		refused(namespaces.Spec{Name: "new", Profile: "none"}, engine.ErrArgument)
		refused(namespaces.Spec{Name: "new", Until: time.Now().Add(time.Hour)}, engine.ErrArgument)
		refused(namespaces.Spec{Name: "new", Temporary: true, Until: time.Now()}, engine.ErrOutOfRange)
		refused(namespaces.Spec{Name: "demo2", Temporary: true}, engine.ErrQuota)
		h.create(namespaces.Spec{Name: "till"})
		h.c.specs["ghost"] = namespaces.Spec{Name: "ghost"}
		if _, err := h.f.Create(t.Context(), namespaces.Spec{Name: "fifth"}, "tester"); !errors.Is(err, engine.ErrQuota) {
			t.Errorf("the fifth: %v", err)
		}
		if err := h.end(); err != nil {
			t.Error(err)
		}
	})
}

func TestManagerRemove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := launch(t, newCatalogue(), nil)
		h.create(namespaces.Spec{Name: "shop"})
		queue(t, h.f, "shop", "orders")
		shop := h.of("shop")
		h.c.stuck = errDisk
		if _, err := h.f.Remove(t.Context(), "shop", "tester"); !errors.Is(err, errDisk) {
			t.Errorf("it was removed: %v", err)
		}
		expect(t, shop, "serve", "forget: The namespace shop was removed.", "leave", "close")
		h.is("default serving", "shop serving") // it is served again, with its contents
		if got := fmt.Sprint(queues(t, h.f, "shop")); got != "[orders]" {
			t.Errorf("shop has %s", got)
		}
		h.c.stuck = nil
		if aside, err := h.f.Remove(t.Context(), "Shop", "tester"); err != nil || aside != "aside/shop" {
			t.Errorf("it was not removed: %q, %v", aside, err)
		}
		h.is("default serving")
		if _, err := h.f.Remove(t.Context(), "shop", "tester"); !errors.Is(err, namespaces.ErrNoNamespace) {
			t.Errorf("it was removed twice: %v", err)
		}
		if _, err := h.f.Remove(t.Context(), "DEFAULT", "tester"); !errors.Is(err, engine.ErrNotAllowed) {
			t.Errorf("the server's own namespace was removed: %v", err)
		}
		if _, _, err := h.f.Broker("shop"); !errors.Is(err, namespaces.ErrNoNamespace) || !errors.Is(err, engine.ErrNotFound) {
			t.Errorf("the broker of a removed namespace: %v", err)
		}
		h.create(namespaces.Spec{Name: "shop"})
		if got := fmt.Sprint(queues(t, h.f, "shop")); got != "[]" {
			t.Errorf("the new shop has %s", got)
		}
		var calls []string
		events, _, err := h.main.broker.Events().After(t.Context(), 1)
		for _, e := range events {
			if e.Audit {
				calls = append(calls, fmt.Sprint(e.Kind, " ", e.Reason, " by ", e.Actor))
			}
		}
		if want := "namespace-created shop by tester, namespace-removed shop by tester, namespace-created shop by tester"; err != nil || strings.Join(calls, ", ") != want {
			t.Errorf("the audit events are %q, %v; want %s", calls, err, want)
		}
		if err := h.end(); err != nil {
			t.Error(err)
		}
	})
}

// A namespace that is being removed when the server ends does not block the end: the removal and
// the end wait for each other no longer than the watchers need.
func TestManagerEndsWhileOneIsRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := launch(t, newCatalogue(), nil)
		h.create(namespaces.Spec{Name: "shop"})
		removed := make(chan error, 1)
		h.of("shop").heard = func(what string) {
			if what == "leave" { // the Manager has ended, and waits for the last request
				go func() {
					_, err := h.f.Remove(context.WithoutCancel(t.Context()), "shop", "tester")
					removed <- err
				}()
			}
		}
		h.atShut = func() { // the last request is the removal
			select {
			case err := <-removed:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(time.Minute):
				t.Error("the removal and the end wait for each other")
			}
		}
		if err := h.end(); err != nil {
			t.Error(err)
		}
		if len(h.c.specs) != 0 {
			t.Errorf("there is %v", h.c.specs)
		}
	})
}

// OnLoaded is called once, when all namespaces are known, even if reading the catalogue fails
// at first.
func TestManagerIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCatalogue()
		c.specs["shop"] = namespaces.Spec{Name: "shop"}
		c.unread = errDisk
		var known []string
		var h *harbour
		h = launch(t, c, func(o *namespaces.Options) {
			o.RefreshInterval = 2 * time.Second
			o.OnLoaded = func() { known = append(known, fmt.Sprint(h.of("shop") != nil)) }
		})
		h.is("default serving")
		if len(known) != 0 || h.f.CatalogueError() == nil {
			t.Errorf("the calls of OnLoaded are %q, the catalogue's error %v", known, h.f.CatalogueError())
		}
		c.mu.Lock()
		c.unread = nil
		c.mu.Unlock()
		time.Sleep(10 * time.Second)
		h.is("default serving", "shop serving")
		if len(known) != 1 || known[0] != "true" || h.f.CatalogueError() != nil {
			t.Errorf("the calls of OnLoaded are %q, the catalogue's error %v", known, h.f.CatalogueError())
		}
		if err := h.end(); err != nil {
			t.Error(err)
		}
	})
}

// A namespace whose limits change is opened again with its contents, on this server and on others.
// Clients are notified of the reopening, and not of a removal.
func TestManagerChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := launch(t, newCatalogue(), func(o *namespaces.Options) { o.RefreshInterval = 2 * time.Second })
		h.create(namespaces.Spec{Name: "shop", Profile: "premium"})
		h.create(namespaces.Spec{Name: "demo", Temporary: true})
		queue(t, h.f, "shop", "orders")
		was := h.of("shop")
		n, err := h.f.Change(t.Context(), "SHOP", "emulator", "tester")
		if err != nil || n.Profile != "emulator" || n.State != namespaces.Serving || h.c.specs["shop"].Profile != "emulator" || n.Created.IsZero() {
			t.Errorf("the namespace is %+v, %v", n, err)
		}
		expect(t, was, "serve", "leave", "close", "The namespace is being reopened with its new limits.")
		same := h.of("shop")
		if n, err := h.f.Change(t.Context(), "shop", "emulator", "tester"); err != nil || n.State != namespaces.Serving || h.of("shop") != same {
			t.Errorf("changed to the same profile: %+v, %v", n, err)
		}
		for _, tc := range []struct {
			name, profile string
			want          error
		}{
			{"default", "premium", engine.ErrNotAllowed}, {"demo", "premium", engine.ErrNotAllowed},
			{"none", "premium", namespaces.ErrNoNamespace}, {"shop", "gold", engine.ErrArgument},
		} {
			if _, err := h.f.Change(t.Context(), tc.name, tc.profile, "tester"); !errors.Is(err, tc.want) {
				t.Errorf("%s, %s: %v; want %v", tc.name, tc.profile, err, tc.want)
			}
		}
		h.c.stuck = errDisk
		if _, err := h.f.Change(t.Context(), "shop", "premium", "tester"); !errors.Is(err, errDisk) {
			t.Errorf("it was changed: %v", err)
		}
		h.c.stuck = nil
		if n, _ := h.f.Find("shop"); n.Profile != "emulator" {
			t.Errorf("the namespace is %+v", n)
		}
		s := h.c.specs["shop"]
		s.Profile = "" // as another server does
		if err := h.c.Change(t.Context(), s); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * time.Second)
		h.is("default serving", "demo serving", "shop serving")
		if n, _ := h.f.Find("shop"); n.Profile != "" || fmt.Sprint(queues(t, h.f, "shop")) != "[orders]" {
			t.Errorf("the namespace is %+v with %v", n, queues(t, h.f, "shop"))
		}
		notified := 0
		for _, e := range h.main.broker.Events().Recent(100) {
			if e.Kind == engine.EventNamespaceChanged && e.Actor == "tester" && e.Reason == "shop (emulator)" {
				notified++
			}
		}
		if notified != 1 {
			t.Errorf("there are %d events of the change", notified)
		}
		if err := h.end(); err != nil {
			t.Error(err)
		}
	})
}
