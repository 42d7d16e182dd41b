package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// jobsInBrowser counts, starts and watches a job. Deleting asks for a typed name, and a move
// can be undone.
func jobsInBrowser(t *testing.T, v *visit) {
	v.create("queue", "orders", `{}`)
	v.create("queue", "other", `{}`)
	var all []string
	for i := range 3000 {
		all = append(all, fmt.Sprintf(`{"messageId":"%d","subject":"s%d"}`, i, i%2))
	}
	var ignored any
	RequestJSON(t, v.server.Ready, "POST", "/import/orders", strings.Join(all, "\n"), &ignored)

	v.visit("/n/default/activity")
	v.click(`main a[href$="/jobs"]`)
	v.want(`location.pathname === "/n/default/jobs" && document.querySelector("[data-slot=empty]").innerText.includes("No jobs yet")`)
	v.visit("/n/default/jobs/new?kind=delete&path=orders&q=subject:s1")
	v.want(`document.querySelector("#h-count").innerText === "1,500 messages" && document.querySelector("input[name=confirm]").required`)
	v.look("jobs-new")
	v.visit("/n/default/jobs/new?kind=move&path=orders&q=subject:s1&to=other")
	v.want(`!document.querySelector("input[name=confirm]")`)
	v.click(`form[method=post] button[type=submit].btn.primary`)
	v.want(`/\/jobs\/1$/.test(location.pathname) && document.querySelector("[data-notice]").innerText.includes("begun")`)
	v.want(`document.querySelector("[data-slot=progress]").innerText.includes("Done") && document.querySelector("progress").value === 3000`)
	v.want(`document.querySelector("[data-slot=facts]").innerText.includes("1,500")`)
	v.look("jobs-one")
	v.click(`[data-slot=deeds] [formaction$="/undo"]`)
	v.want(`/\/jobs\/2$/.test(location.pathname) && document.querySelector("[data-slot=progress]").innerText.includes("Done")`)
	v.visit("/n/default/jobs")
	v.want(isLive)
	v.want(rows + `.length === 2`)
	v.look("jobs")

	// Other pages get the progress by their sockets, and announce the end.
	v.visit("/n/default/queues")
	v.want(isLive)
	v.js(`document.querySelector("[data-status]").textContent = ""`)
	v.calm()
	RequestJSON(t, v.server.Ready, "POST", "/jobs", `{"kind":"purge","paths":["other"]}`, &ignored)
	v.want(`document.querySelector(".bar a.going[href$='/jobs/3']")?.innerText.includes("Job done")`)
	v.want(`document.querySelector("[data-status]").textContent.includes("Job done")`)
	v.stayed()
	v.look("jobs-now")
	v.visit("/n/default/q/orders/send")
	v.equal(`document.querySelector(".bar a.going").innerText.trim()`, "Job done")

	var e struct{ Counts struct{ Active int } }
	if RequestJSON(t, v.server.Ready, "GET", "/entities/orders", "", &e); e.Counts.Active != 3000 {
		t.Errorf("%d messages are back", e.Counts.Active)
	}
}
