package e2e

import (
	"context"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"mayfly/cmd/mayfly/server"
	"mayfly/storage/mongo/mongotest"
)

// peersInBrowser checks that a page of a namespace that another server owns works like that
// server's own. When that server dies, the page reports it, and continues once this server has
// taken over.
func peersInBrowser(t *testing.T, browser context.Context) {
	const lease = 6 * time.Second // three times as long as a browser takes for three failed attempts
	store := mongotest.URL(t)
	here := StartStandby(t, server.Config{Store: store, Lease: lease}).Next(server.StateReady)
	other := spawnPeer(t, store, lease, "")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	there, err := other.next(ctx, server.StateStandby)
	if err != nil {
		t.Fatal(err)
	}
	if code, text := Request(t, http.MethodPost, there.Dashboard+"/api/v1/namespaces", `{"name":"shop","definitions":{"UserConfig":{"Namespaces":[{"Name":"n","Queues":[{"Name":"orders"}]}]}}}`); code != http.StatusCreated {
		t.Fatal(code, text)
	}
	Eventually(t, "requests are forwarded", func() bool {
		code, text := Request(t, http.MethodGet, here.Dashboard+"/readyz?namespace=shop", "")
		return code == http.StatusOK && strings.Contains(text, there.Dashboard)
	})
	const (
		orders = "/n/shop/q/orders"
		rows   = `document.querySelectorAll("[data-list=rows] > *").length === `
	)
	v := visitTo(t, browser, &Server{Ready: here})
	v.visit(orders)
	v.want(isLive + ` && document.querySelector("[data-pill]").innerText.includes("Live")`)
	v.visit(orders + "/send")
	v.fill("body", "from here")
	v.done(`main .primary`, "to orders")
	v.visit(orders)
	v.want(isLive + ` && ` + rows + `1`)
	v.calm()
	if code, text := Request(t, http.MethodPost, there.API+"/n/shop/send/orders", `{"body":"from there"}`); code != http.StatusCreated {
		t.Fatal(code, text)
	}
	v.want(rows + `2`)
	v.stayed()
	v.look("peers-live")

	// A presentation belongs to one server: its followers stay on their page, and the presenter's
	// page reports that.
	v.visit("/n/default?present=1")
	v.want(isLive)
	bob := visitTo(t, browser, v.server)
	bob.visit(v.sharing())
	bob.want(`location.pathname === "/n/default" && ` + together + ` && ` + isLive)
	v.visit("/n/default/share")
	v.equal(`document.querySelector("main").innerText.includes("while you show what another server has")`, true)
	v.visit(orders)
	v.want(isLive)
	bob.want(says + ` === "Ana has left. You stay on this page." && location.pathname === "/n/default"`)
	v.visit("/n/default/queues")
	bob.want(`location.pathname === "/n/default/queues" && ` + together)
	v.visit(orders)
	v.js(`document.querySelector("[data-act=present-leave]").click()`)
	v.want(isLive)

	v.standsBy("/n/shop", orders)
	other.signal(os.Kill)
	<-other.done
	v.want(`document.querySelector("h1").textContent === "Standing by" && document.querySelector("main a").href === "` + there.Dashboard + `/"`)
	v.equal(`location.pathname`, orders)
	v.want(`location.pathname === "` + orders + `" && ` + isLive + ` && ` + rows + `2`)
	v.calm()
	if code, text := Request(t, http.MethodPost, here.API+"/n/shop/send/orders", `{"body":"after it"}`); code != http.StatusCreated {
		t.Fatal(code, text)
	}
	v.want(rows + `3`)
	v.stayed()
}
