package e2e

import (
	"context"
	"testing"

	"mayfly/cmd/mayfly/server"
)

// standbyInBrowser checks that an open page shows the standby page when another server takes
// over the namespace, and returns with it; with and without scripts.
func standbyInBrowser(t *testing.T, browser context.Context) {
	on := NewSharedStore()
	s := StartShared(t, on, server.Config{})
	v := visitTo(t, browser, &Server{Ready: s.Next(server.StateReady)})
	v.create("queue", "steady", `{}`)
	v.visit("/n/default/q/steady")
	v.want(isLive)
	const standsBy = `document.querySelector("h1").textContent === "Standing by" && document.querySelector("main a").href === "http://till-2.example:8080/"`

	v.standsBy("/n/default", "/n/default/q/steady")
	on.Seize(other)
	s.Next(server.StateStandby)
	v.want(standsBy)
	v.equal(`location.pathname`, "/n/default/q/steady")
	v.inThemes("standing by", `document`)
	v.hears("standing by")
	v.tabbedPage("standing by")
	on.Release()
	s.Next(server.StateReady)
	v.want(`location.pathname === "/n/default/q/steady" && ` + isLive)

	v.scripts(false)
	on.Seize(other)
	s.Next(server.StateStandby)
	v.standsBy("/n/default", "/n/default/queues")
	v.visit("/n/default/queues")
	v.equal(standsBy, true)
	on.Release()
	s.Next(server.StateReady)
	v.want(`document.querySelector("[data-list=rows]").textContent.includes("steady")`)
}
