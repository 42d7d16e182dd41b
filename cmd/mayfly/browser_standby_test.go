package main

import (
	"context"
	"slices"
	"strings"
	"testing"
)

// standbyInBrowser: an open page becomes the one of a server that stands by when
// another server takes the namespace over, and comes back with it; with scripts
// and without.
func standbyInBrowser(t *testing.T, browser context.Context) {
	on := newShelf()
	s := share(t, on, Config{})
	v := visitTo(t, browser, &server{Ready: s.next(stateReady)})
	v.create("queue", "steady", `{}`)
	v.visit("/n/default/q/steady")
	v.want(isLive)
	const standsBy = `document.querySelector("h1").textContent === "Standing by" && document.querySelector("main a").href === "http://till-2.example:8080/"`

	on.seize(other)
	s.next(stateStandby)
	v.want(standsBy)
	v.equal(`location.pathname`, "/n/default/q/steady")
	v.inThemes("standing by", `document`)
	v.hears("standing by")
	v.tabbedPage("standing by")
	on.release()
	s.next(stateReady)
	v.want(`location.pathname === "/n/default/q/steady" && ` + isLive)

	v.scripts(false)
	on.seize(other)
	s.next(stateStandby)
	v.visit("/n/default/queues")
	v.equal(standsBy, true)
	on.release()
	s.next(stateReady)
	v.want(`document.querySelector("[data-list=rows]").textContent.includes("steady")`)

	// That it was told to come again is no complaint here.
	v.mu.Lock()
	defer v.mu.Unlock()
	v.wrong = slices.DeleteFunc(v.wrong, func(w string) bool { return strings.Contains(w, "503") })
}
