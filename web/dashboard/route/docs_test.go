package route_test

import (
	"errors"
	"testing"

	"mayfly/views/layout"
	"mayfly/web/auth"
	"mayfly/web/dashboard/admin"
	"mayfly/web/dashboard/pages"
)

// TestDocsWithinANamespace checks that pages of the documentation show a visitor who may see only
// one namespace no links to other namespaces, settings or scenes.
func TestDocsWithinANamespace(t *testing.T) {
	isConfined(t, func(w *world) {
		sh := admin.Docs(auth.WithCaller(w.Context(), auth.Caller{Name: "guest", Role: auth.Viewer, Namespace: "shop"}), w.pages, "").Shell
		if sh.Namespace != "shop" || sh.Home != "/n/shop" || sh.Docs != "/docs" || sh.Active != layout.Docs || sh.Namespaces != nil || sh.Settings != "" || sh.Scenes != "" {
			t.Errorf("%+v", sh)
		}
		if sh := admin.Docs(w.Context(), w.pages, "lock expires").Shell; sh.Back != "/docs?q=lock+expires" {
			t.Errorf("actions redirect to %s", sh.Back)
		}
		if _, err := admin.Doc(w.Context(), w.pages, "nothing"); !errors.Is(err, pages.ErrPageNotFound) {
			t.Errorf("a page that does not exist: %v", err)
		}
	})
}
