package e2e

import (
	"fmt"
	"net/http"
	"testing"
)

// sendInBrowser previews a repeated message and sends it as previewed, saves it as a template,
// sends that by a job, and undoes the job.
func sendInBrowser(t *testing.T, v *visit) {
	v.create("queue", "orders", `{}`)
	v.visit("/n/default/q/orders/send")
	v.equal(`(() => {
		const tops = ["body", "subject", "ttl", "schedule", "message-id", "session-id", "property-0-name"].map((name) => document.querySelector("#f [name=" + name + "]").getBoundingClientRect().top);
		return tops.every((top, i) => !i || top > tops[i - 1]);
	})()`, true)
	v.look("send")
	v.fill("body", `{"order":{{n}},"id":"{{uuid}}"}`)
	v.fill("subject", "order {{n}}")
	v.fill("ttl", "{{random 10 60}}m")
	v.fill("repeat", "4")
	v.click(`[name=preview]`)
	v.want(`document.querySelectorAll(".sight").length === 3 && document.querySelector(".sight:nth-of-type(3) .facts").innerText.includes("order 3")`)
	v.look("send-preview")
	first, _ := v.js(`document.querySelector(".sight pre").innerText.trim()`).(string)
	v.fill("template-name", "late orders")
	v.done(`[name=save]`, "Kept as template late orders")
	v.want(`document.querySelector("#f-template").value === "late orders" && document.querySelector("[name=repeat]").value === "4"`)
	v.look("send-template")
	v.click(`[name=preview]`)
	v.want(`document.querySelectorAll(".sight").length === 3`)
	second, _ := v.js(`document.querySelector(".sight pre").innerText.trim()`).(string)
	if first == second {
		t.Errorf("another preview has the same id: %s", first)
	}
	v.done(`main .primary`, "Sent 4 messages to orders")
	v.noticePasses("Sent 4 messages to orders")
	var got struct {
		Messages []struct{ Body, Subject string }
	}
	RequestJSON(t, v.server.Ready, "GET", "/peek/orders", "", &got)
	if len(got.Messages) != 4 || got.Messages[0].Body != second || got.Messages[3].Subject != "order 4" {
		t.Errorf("%q was previewed, got %+v", second, got)
	}

	v.visit("/n/default/q/orders/send?template=late+orders")
	v.fill("repeat", "1500")
	v.fill("subject", "{{nothing}}")
	v.js(`scrollTo(0, 0)`) // so that the bar does not cover it
	v.click(`main .primary`)
	v.want(`document.querySelector("#f-subject-e").innerText.includes("The placeholder {{nothing}} does not exist")`)
	v.refused(http.StatusUnprocessableEntity, "/n/default/q/orders/send")
	v.fill("subject", "many {{n}}")
	v.done(`main .primary`, "Sending to orders in the background")
	v.want(`document.querySelector("[data-slot=progress]").innerText.includes("Done") && document.querySelector("[data-slot=facts]").innerText.includes("1,500")`)
	v.look("send-job")
	v.click(`[data-slot=deeds] [formaction$="/undo"]`)
	v.want(`/\/jobs\/2$/.test(location.pathname) && document.querySelector("[data-slot=progress]").innerText.includes("Done")`)
	var e struct{ Counts struct{ Active int } }
	if RequestJSON(t, v.server.Ready, "GET", "/entities/orders", "", &e); e.Counts.Active != 4 {
		t.Errorf("%d messages are left", e.Counts.Active)
	}

	v.visit("/n/default/templates")
	v.look("templates")
	v.fill("template-name", "early orders")
	v.done(`main form button[type=submit]`, "It is called early orders now")
	v.asks(`main a[href*="/templates/remove"]`)
	v.want(`document.activeElement.innerText === "Cancel"`)
	v.look("template-delete")
	v.done(`.guard .final`, "Deleted template early orders")
	v.want(fmt.Sprintf(`document.querySelector("main").innerText.includes(%q)`, "No templates yet"))
}

// noticePasses checks a notice: it lies over the page, is announced once, and disappears by
// itself, but not while the pointer or the focus is on it.
func (v *visit) noticePasses(says string) {
	v.t.Helper()
	const notice = `document.querySelector("[data-notice] .notice")`
	v.want(`document.querySelector("[data-status]").textContent === "` + says + `"`)
	v.equal(`getComputedStyle(`+notice+`).position`, "fixed")
	v.look("notice")
	v.js(`window.top0 = document.querySelector("main h1").getBoundingClientRect().top`)
	stays := func() {
		v.t.Helper()
		v.js(`(` + notice + `.dataset.stays = 0, window.was = performance.now())`)
		v.want(`performance.now() > was + 2500`) // two beats of the clock
		v.equal(notice+` !== null`, true)
	}
	v.js(notice + `.querySelector("[data-act=dismiss]").focus()`)
	stays()
	v.js(`document.activeElement.blur()`)
	v.want(notice + ` === null`)
	v.equal(`document.querySelector("main h1").getBoundingClientRect().top - window.top0`, 0)
	v.equal(`document.querySelectorAll("[data-status]").length`, 1)
}

// editInBrowser edits and resends a dead letter: the new message has the changes, the dead
// letter is gone, and both refer to each other.
func editInBrowser(t *testing.T, v *visit) {
	v.create("queue", "orders", `{}`)
	var sent struct {
		Messages []struct{ Key, LockToken, Body, Subject string }
	}
	var ignored any
	RequestJSON(t, v.server.Ready, "POST", "/send/orders", `{"messageId":"m","subject":"wrong","body":"{\"total\":-1}","properties":{"tries":{"type":"int","value":"3"}}}`, &ignored)
	RequestJSON(t, v.server.Ready, "POST", "/receive/orders", `{}`, &sent)
	key := sent.Messages[0].Key
	v.settled(sent.Messages[0].LockToken)
	v.visit("/n/default/m/" + key)
	v.click(`main a[href$="/edit"]`)
	v.want(`document.querySelector("[name=target]").value === "orders" && document.querySelector("[name=property-0-type]").value === "int"`)
	v.look("message-edit")
	v.js(`scrollTo(0, 0)`)
	v.fill("subject", "right")
	v.fill("body", `{"total":1}`)
	v.js(`scrollTo(0, 0)`)
	v.done(`main .primary`, "Resubmitted as edited")
	RequestJSON(t, v.server.Ready, "GET", "/peek/orders", "", &sent)
	if len(sent.Messages) != 1 || sent.Messages[0].Body != `{"total":1}` || sent.Messages[0].Subject != "right" {
		t.Errorf("got %+v", sent)
	}
	next := sent.Messages[0].Key
	v.want(fmt.Sprintf(`location.pathname.endsWith("/m/%s") && document.querySelector('main a[href$="/m/%s"]')`, key, next))
	v.visit("/n/default/m/" + next)
	v.want(fmt.Sprintf(`document.querySelector('main a[href$="/m/%s"]')`, key))
	var e struct {
		Counts struct{ Active, DeadLetter int }
	}
	if RequestJSON(t, v.server.Ready, "GET", "/entities/orders", "", &e); e.Counts.Active != 1 || e.Counts.DeadLetter != 0 {
		t.Errorf("got %+v", e.Counts)
	}
}

// settled dead-letters the message with a lock token, with the reason Bad.
func (v *visit) settled(token string) {
	v.t.Helper()
	if code, text := PostJSON(v.t, v.server.Dashboard+"/api/v1/settle", `{"lockToken":"`+token+`","outcome":"dead-letter","reason":"Bad"}`); code >= 300 {
		v.t.Fatal(code, text)
	}
}
