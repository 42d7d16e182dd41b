package mongo_test

import (
	"errors"
	"testing"

	"mayfly/engine/namespaces"
	"mayfly/storage/mongo"
	"mayfly/storage/mongo/mongotest"
)

// Every server on the database has a namespace in its catalogue, and one that is created again
// has none of its former content.
func TestCatalogue(t *testing.T) {
	url := mongotest.URL(t)
	one, other := &mongo.Catalogue{URL: url}, &mongo.Catalogue{URL: url}
	for _, c := range []*mongo.Catalogue{one, other} {
		t.Cleanup(func() {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	listed := func(want ...namespaces.Spec) {
		t.Helper()
		got, err := other.List(t.Context())
		if err != nil || len(got) != len(want) || len(want) > 0 && got[0] != want[0] {
			t.Errorf("there is %+v, %v; want %+v", got, err, want)
		}
	}
	shop, err := one.Add(t.Context(), namespaces.Spec{Name: "shop", Profile: "premium"})
	if err != nil || shop.StoredName != "" {
		t.Fatalf("%+v, %v", shop, err)
	}
	listed(shop)
	if _, err := other.Add(t.Context(), namespaces.Spec{Name: "shop"}); !errors.Is(err, namespaces.ErrNamespaceExists) {
		t.Errorf("the namespace was created twice: %v", err)
	}
	s, err := mongo.Open(t.Context(), url, mongo.Options{Namespace: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	if aside, err := one.Remove(t.Context(), shop, s.Close); err != nil || aside != "" {
		t.Errorf("removed: %q, %v", aside, err)
	}
	listed()
	again, err := other.Add(t.Context(), namespaces.Spec{Name: "shop"})
	if err != nil || again.StoredName != "shop.2" {
		t.Errorf("created again, the namespace is %+v, %v", again, err)
	}
	listed(again)
	again.Profile = "emulator"
	if err := one.Change(t.Context(), again); err != nil {
		t.Error(err)
	}
	listed(again)
	if err := one.Change(t.Context(), shop); !errors.Is(err, namespaces.ErrNoNamespace) {
		t.Errorf("a removed namespace was changed: %v", err)
	}
	// A server that has not noticed a newer namespace removes only the one it knew.
	if _, err := one.Remove(t.Context(), shop, func() error { return nil }); err != nil {
		t.Error(err)
	}
	listed(again)
	own, err := mongo.Open(t.Context(), url, mongo.Options{Namespace: "own"})
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	if _, err := one.Add(t.Context(), namespaces.Spec{Name: "own"}); !errors.Is(err, namespaces.ErrNamespaceExists) {
		t.Errorf("a server's own namespace was created: %v", err)
	}
}
