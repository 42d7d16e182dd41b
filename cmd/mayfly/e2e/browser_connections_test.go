package e2e

import (
	"context"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
)

// connectionsInBrowser checks that a client of the Go SDK appears live, that its locks name
// it, and that an operator can end its connection.
func connectionsInBrowser(_ *testing.T, v *visit) {
	ctx := v.t.Context()
	v.create("queue", "orders", `{"LockDuration":"PT5M"}`)
	v.send("orders", "", "hello")
	const first = `document.querySelector("#h-first ~ .snippet button")?.closest(".snippet").innerText.trim()`
	v.visit("/n/default")
	v.equal(first, v.server.ConnectionString)
	v.visit("/n/default/connections")
	v.want(isLive)
	v.want(`document.querySelector("[data-slot=empty]").innerText.includes("Nobody is connected")`)

	receiver := func() (*azservicebus.Receiver, *azservicebus.Client) {
		client, err := azservicebus.NewClientFromConnectionString(v.server.ConnectionString, &azservicebus.ClientOptions{
			RetryOptions: azservicebus.RetryOptions{MaxRetries: -1},
		})
		if err != nil {
			v.t.Fatal(err)
		}
		v.t.Cleanup(func() { _ = client.Close(context.WithoutCancel(ctx)) })
		r, err := client.NewReceiverForQueue("orders", nil)
		if err != nil {
			v.t.Fatal(err)
		}
		return r, client
	}
	r, _ := receiver()
	got, err := r.ReceiveMessages(ctx, 1, nil)
	if err != nil {
		v.t.Fatal(err)
	}
	v.want(rows + `.length === 1 && ` + rows + `[0].innerText.includes("Go SDK") && ` + rows + `[0].querySelector('[data-label="Locks"]').innerText.trim() === "1"`)
	v.want(`document.querySelector("[data-slot=lede]").innerText === "One client is connected. It holds one lock."`)

	v.visit("/n/default/q/orders?tab=locked")
	v.want(isLive)
	v.want(`document.querySelector("td.holder a")?.innerText.endsWith("· Go SDK")`)
	v.want(`document.querySelector("[data-slot=facts]").innerText.includes("Receiver")`)

	// A renewal updates the lock's end and the count, live.
	const past, end = `document.querySelector("td.holder .lock-past").innerText`, `document.querySelector("td.lock-left time").dateTime`
	v.want(past + `.startsWith("locked ") && !` + past + `.includes("renewed")`)
	v.js(`window.ended = ` + end)
	if err := r.RenewMessageLock(ctx, got[0], nil); err != nil {
		v.t.Fatal(err)
	}
	v.want(past + `.includes("renewed once, ") && Date.parse(` + end + `) > Date.parse(window.ended) && document.querySelector("td svg .hold").dataset.until === ` + end)
	if err := r.RenewMessageLock(ctx, got[0], nil); err != nil {
		v.t.Fatal(err)
	}
	v.want(past + `.includes("renewed 2 times, last ")`)
	v.visit("/n/default")
	v.equal(first, nil)
	v.visit("/n/default/q/orders?tab=locked")
	v.click("td.holder a")
	v.want(`location.pathname.startsWith("/n/default/connections/") && document.querySelector("[data-list=links]").innerText.includes("receives under locks")`)
	const held = `document.querySelector("[data-list=held]")`
	v.want(held + `.rows.length === 1 && ` + held + `.innerText.includes("renewed 2 times")`)
	if err := r.RenewMessageLock(ctx, got[0], nil); err != nil {
		v.t.Fatal(err)
	}
	v.want(held + `.innerText.includes("renewed 3 times")`)
	v.click(`[data-list=held] a`)
	v.want(`document.querySelector("[data-slot=time]").innerText.includes("renewed 3 times, last ")`)
	v.js(`history.back()`)
	v.want(isLive)
	v.asks(`a[href$="/disconnect"]`)
	v.want(`document.querySelector("h1").innerText.startsWith("Disconnect")`)
	v.click(`form.asking button[type=submit]`)
	v.want(`location.pathname === "/n/default/connections" && document.querySelector("[data-notice]").innerText.includes("Disconnected")`)
	v.want(`document.querySelector("[data-slot=empty]").innerText.includes("Nobody is connected")`)
	v.visit("/n/default/q/orders?tab=locked")
	v.want(`document.querySelector("td.holder span").innerText.endsWith("Go SDK, gone")`)

	// A closed connection shows no links and no table of them.
	r, again := receiver()
	if _, err := r.PeekMessages(ctx, 1, nil); err != nil {
		v.t.Fatal(err)
	}
	v.visit("/n/default/connections")
	v.click(`[data-list=rows] .name a`)
	v.want(isLive)
	v.equal(`document.querySelector("#h-links").checkVisibility()`, true)
	if err := again.Close(ctx); err != nil {
		v.t.Fatal(err)
	}
	v.want(`document.querySelector("[data-slot=over]").innerText.includes("This connection is over") && !document.querySelector("#h-links").checkVisibility()`)
}
