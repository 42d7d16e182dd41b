package show_test

import (
	"errors"
	"testing"

	"mayfly/views/layout"
	"mayfly/web/auth"
	"mayfly/web/show"
)

// TestDocsWithinANamespace: the documentation shows a visitor who may see only one namespace
// nothing of the others.
func TestDocsWithinANamespace(t *testing.T) {
	isConfined(t, func(w *world) {
		sh := w.pages.Docs(auth.WithCaller(w.Context(), auth.Caller{Name: "guest", Role: auth.Viewer, Namespace: "shop"}), "").Shell
		if sh.Namespace != "shop" || sh.Home != "/n/shop" || sh.Docs != "/docs" || sh.Active != layout.Docs || sh.Namespaces != nil || sh.Settings != "" || sh.Scenes != "" {
			t.Errorf("%+v", sh)
		}
		if sh := w.pages.Docs(w.Context(), "lock expires").Shell; sh.Back != "/docs?q=lock+expires" {
			t.Errorf("actions return to %s", sh.Back)
		}
		if _, err := w.pages.Doc(w.Context(), "nothing"); !errors.Is(err, show.ErrPageNotFound) {
			t.Errorf("a page that does not exist: %v", err)
		}
	})
}
