package e2e

import (
	"fmt"
	"testing"
)

// groupsInBrowser checks that dead letters are grouped by their cause, and that a job on a
// group affects only that group.
func groupsInBrowser(t *testing.T, v *visit) {
	api := v.server.Dashboard + "/api/v1"
	die := func(entity, reason, text string, times int) {
		for range times {
			v.ask("POST", api+"/send/"+entity, "", `{"body":"x"}`)
			var got struct{ Messages []struct{ LockToken string } }
			v.answered("/api/v1/receive/"+entity, `{}`, &got)
			v.ask("POST", api+"/settle", "", fmt.Sprintf(`{"lockToken":%q,"outcome":"dead-letter","reason":%q,"description":%q}`, got.Messages[0].LockToken, reason, text))
		}
	}
	v.create("queue", "orders", `{}`)
	v.create("queue", "bills", `{}`)
	for i := range 25 {
		die("orders", "Boom", fmt.Sprintf("timeout after %d ms", i), 1)
	}
	die("orders", "Boom", `no "such" <b>order</b> *`, 3)
	die("orders", "Late", "timeout after 5 ms", 2)
	die("bills", "Boom", "timeout after 1 ms", 1)

	const groups = `[...document.querySelectorAll(".group > a")].map((el) => el.querySelector("b").innerText + " " + el.querySelector(".n").innerText).join()`
	v.visit("/n/default/q/orders?tab=dead-letter")
	v.want(groups + ` === "Boom 28,Late 2"`)
	v.click(`.group:first-child > a`)
	v.want(groups + ` === "Boom 28,Late 2,timeout after # ms 25,no \"such\" <b>order</b> * 3"`)
	v.look("groups-tab")
	v.click(`ul + header + ul .group:nth-child(2) > a`)
	v.want(rows + `.length === 3`)
	v.equal(`[...document.querySelectorAll(".group > [aria-current]")].map((el) => el.querySelector("b").innerText).join()`, `Boom,no "such" <b>order</b> *`)

	// The job affects only the 25 dead letters of the group in this queue.
	v.click(`ul + header + ul .group:first-child .deeds a[href*="kind=resubmit"]`)
	v.want(`document.querySelector("#h-count")?.innerText === "25 messages"`)
	v.click(`form[method=post] button[type=submit].btn.primary`)
	v.want(`/\/jobs\/1$/.test(location.pathname) && document.querySelector("[data-slot=progress]").innerText.includes("Done")`)
	v.counted("orders", 25, 0, 0, 0, 5)
	v.counted("bills", 0, 0, 0, 0, 1)

	// The namespace's page has groups over all entities. Deleting one asks for confirmation.
	v.visit("/n/default")
	v.click(`[href$="/dead-letters"]`)
	v.want(groups + ` === "Boom 3,Late 2,Boom 1"`)
	v.look("groups")
	v.equal(`[...document.querySelectorAll(".group small")].map((el) => el.innerText.split(" · ").slice(0, 2).join("/")).join()`, `orders/no "such" <b>order</b> *,orders/timeout after # ms,bills/timeout after # ms`)
	v.click(`.group:first-child .deeds a[href*="kind=delete"]`)
	v.want(`document.querySelector("#h-count")?.innerText === "3 messages"`)
	v.equal(`document.querySelector("form[method=post] button[type=submit]").innerText`, "Delete 3 messages")
	v.click(`form[method=post] button[type=submit]`)
	v.want(`/\/jobs\/2$/.test(location.pathname) && document.querySelector("[data-slot=progress]").innerText.includes("Done")`)
	v.counted("orders", 25, 0, 0, 0, 2)
	v.counted("bills", 0, 0, 0, 0, 1)
}
