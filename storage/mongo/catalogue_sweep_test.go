package mongo

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mayfly/engine/namespaces"
	"mayfly/storage/mongo/mongotest"
)

// The rest of a removed namespace is swept, and nothing else: documents written by a server
// that had not noticed the removal, and documents that a server could not delete before it
// ended.
func TestCatalogueSweeps(t *testing.T) {
	url := mongotest.URL(t)
	c := &Catalogue{URL: url}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	add := func(name, kept string) namespaces.Spec {
		t.Helper()
		s, err := c.Add(t.Context(), namespaces.Spec{Name: name})
		if err != nil || s.StoredName != kept {
			t.Fatalf("%+v, %v", s, err)
		}
		return s
	}
	remove := func(s namespaces.Spec) {
		t.Helper()
		if _, err := c.Remove(t.Context(), s, func() error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	on, err := c.server(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	write := func(as string) { // as a server that has not noticed the removal
		t.Helper()
		for _, in := range []collection{settings, owners, messages} {
			if err := on.Insert(t.Context(), in, marshal(bson.D{{Key: "_id", Value: as + "/left"}, {Key: "v", Value: int64(1)}})); err != nil {
				t.Fatal(err)
			}
		}
	}
	isLeft := func(as string) (left bool) {
		t.Helper()
		for _, in := range []collection{settings, owners, messages} {
			raw, err := on.Get(t.Context(), in, as+"/left")
			if err != nil {
				t.Fatal(err)
			}
			left = left || raw != nil
		}
		return left
	}
	remove(add("shop", ""))
	remove(add("shop", "shop.2"))
	add("shop", "shop.3")
	for _, as := range []string{"shop", "shop.2", "shop.3"} {
		write(as)
	}
	for i := range sweepAfter {
		if !isLeft("shop.2") {
			t.Fatalf("the rest was swept after only %d lists", i)
		}
		if _, err := c.List(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if isLeft("shop.2") || !isLeft("shop.3") || !isLeft("shop") { // the server's own namespace may be called shop
		t.Errorf("left are shop.2: %v, shop.3: %v, shop: %v", isLeft("shop.2"), isLeft("shop.3"), isLeft("shop"))
	}
	write("shop.2")
	for range 2 * sweepAfter {
		if _, err := c.List(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if !isLeft("shop.2") {
		t.Error("a namespace was swept twice")
	}
}
