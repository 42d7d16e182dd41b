package namespaces_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine/namespaces"
)

// A temporary namespace is in no catalogue, and ends by itself exactly on time.
func TestManagerTemporary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := launch(t, newCatalogue(), nil)
		n := h.create(namespaces.Spec{Name: "demo", Temporary: true, Until: time.Now().Add(time.Hour)})
		h.create(namespaces.Spec{Name: "demo2", Temporary: true})
		if len(h.c.specs) != 0 || n.State != namespaces.Serving {
			t.Errorf("the namespace is %+v, and the catalogue has %v", n, h.c.specs)
		}
		time.Sleep(time.Hour - time.Millisecond)
		h.is("default serving", "demo serving", "demo2 serving")
		time.Sleep(time.Millisecond)
		h.is("default serving", "demo2 serving")
		if _, err := h.f.Remove(t.Context(), "demo2", "tester"); err != nil {
			t.Error(err)
		}
		h.is("default serving")
		h.create(namespaces.Spec{Name: "demo", Temporary: true, Until: time.Now().Add(time.Hour)})
		if err := h.end(); err != nil { // the end does not wait for the namespace's time
			t.Error(err)
		}
	})
}

// Namespaces that another server adds to or removes from the catalogue are found.
func TestManagerReadsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := launch(t, newCatalogue(), func(o *namespaces.Options) { o.RefreshInterval = 2 * time.Second })
		h.create(namespaces.Spec{Name: "demo", Temporary: true})
		if _, err := h.c.Add(t.Context(), namespaces.Spec{Name: "shop"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		h.is("default serving", "demo serving", "shop serving")
		queue(t, h.f, "shop", "orders")
		h.c.mu.Lock()
		h.c.specs["shop"] = namespaces.Spec{Name: "shop", StoredName: "shop.2"} // removed and created again
		delete(h.c.stores, "shop")
		h.c.mu.Unlock()
		time.Sleep(2 * time.Second)
		h.is("default serving", "demo serving", "shop serving")
		if got := fmt.Sprint(queues(t, h.f, "shop")); got != "[]" {
			t.Errorf("the new shop has %s", got)
		}
		if _, err := h.c.Remove(t.Context(), namespaces.Spec{Name: "shop"}, func() error { return nil }); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		h.is("default serving", "demo serving")
		if err := h.end(); err != nil {
			t.Error(err)
		}
	})
}

// The expiry of a namespace does not remove a new one of the same name.
func TestManagerExpiryIsOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := launch(t, newCatalogue(), nil)
		h.create(namespaces.Spec{Name: "demo", Temporary: true, Until: time.Now().Add(time.Hour)})
		h.create(namespaces.Spec{Name: "slow"})
		h.of("slow").heard = func(what string) {
			if what == "leave" { // changes of the catalogue wait for this
				time.Sleep(time.Minute)
			}
		}
		time.Sleep(time.Hour - time.Second)
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := h.f.Remove(t.Context(), "slow", "tester"); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		all.Go(func() {
			if _, err := h.f.Remove(t.Context(), "demo", "tester"); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		all.Go(func() { h.create(namespaces.Spec{Name: "demo"}) })
		all.Wait()
		time.Sleep(time.Minute)
		h.is("default serving", "demo serving")
		if err := h.end(); err != nil {
			t.Error(err)
		}
	})
}
