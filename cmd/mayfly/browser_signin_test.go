package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"

	"mayfly/web/identity"
	"mayfly/web/users"
)

// usersFile has ana, an admin, and vera, a viewer, whose passwords are "password of …".
func usersFile(t *testing.T) string {
	t.Helper()
	text := ""
	for name, role := range map[string]identity.Role{"ana": identity.Admin, "vera": identity.Viewer} {
		hash, err := users.Hash("password of " + name)
		if err != nil {
			t.Fatal(err)
		}
		text += users.Line(name, role, hash) + "\n"
	}
	path := filepath.Join(t.TempDir(), "users.txt")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// signIn fills in the form that the page has.
func (v *visit) signIn(name string) {
	v.t.Helper()
	v.js(`{ document.querySelector("#f-user").value = "` + name + `"; document.querySelector("#f-password").value = "password of ` + name + `" }`)
	v.click("form button[type=submit]")
}

// TestBrowserSignsInAndOut: who is led to sign in gets where he wanted to, sees what he
// may do and nothing else, and is signed out with every page that is open.
func TestBrowserSignsInAndOut(t *testing.T) {
	browser := chromium(t)
	s := serving(t, Config{Store: "memory:", Auth: usersFile(t)})
	admin, viewer := visitTo(t, browser, s), visitTo(t, browser, s)
	admin.visit("/n/default/queues?sort=name")
	admin.signIn("ana")
	admin.want(`location.pathname + location.search === "/n/default/queues?sort=name" && mayfly.state === "live"`)
	admin.want(`document.querySelector("a[href='/n/default/queues/new']") !== null && document.querySelector(".user summary").textContent.includes("ana")`)
	admin.visit("/n/default/queues/new")

	viewer.visit("/n/default/queues")
	viewer.signIn("vera")
	viewer.want(`location.pathname === "/n/default/queues" && mayfly.state === "live"`)
	viewer.want(`document.querySelector("a[href='/n/default/queues/new']") === null && document.querySelector(".user a[href='/sessions']") === null`)

	admin.visit("/sessions")
	admin.want(`document.querySelectorAll(".signed tbody tr").length === 2 && document.querySelector(".user") !== null`)

	viewer.do(chromedp.Click(chromedp.CSS(".user summary")))
	viewer.click(".user button")
	viewer.want(`location.pathname === "/login" && document.querySelector(".gate [role=status]") !== null`)
	viewer.visit("/n/default/queues")
	viewer.want(`location.pathname === "/login"`)
}
