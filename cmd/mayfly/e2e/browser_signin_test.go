package e2e

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"

	"mayfly/cmd/mayfly/server"
	"mayfly/web/auth"
	"mayfly/web/auth/users"
)

// UsersFile returns a file with ana, an admin, and vera, a viewer; the password of NAME is
// "password of NAME".
func UsersFile(t *testing.T) string {
	t.Helper()
	text, err := usersText()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "users.txt")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// usersText hashes the passwords only once, because hashing is slow.
var usersText = sync.OnceValues(func() (text string, err error) {
	for name, role := range map[string]auth.Role{"ana": auth.Admin, "vera": auth.Viewer} {
		hash, err := users.Hash("password of " + name)
		if err != nil {
			return "", err
		}
		text += users.FormatLine(name, role, hash) + "\n"
	}
	return text, nil
})

// signIn fills in the page's sign-in form.
func (v *visit) signIn(name string) {
	v.t.Helper()
	v.js(`{ document.querySelector("#f-user").value = "` + name + `"; document.querySelector("#f-password").value = "password of ` + name + `" }`)
	v.click("form button[type=submit]")
}

// TestBrowserSignsInAndOut checks that signing in leads to the requested page, that a viewer
// only sees what the role permits, and that signing out affects all open pages.
func TestBrowserSignsInAndOut(t *testing.T) {
	browser := chromium(t)
	s := Start(t, server.Config{Store: "memory:", Auth: UsersFile(t)})
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
