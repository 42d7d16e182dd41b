package e2e

import (
	"github.com/chromedp/chromedp"

	"mayfly/cmd/mayfly/client"
)

// formsOfSessions accepts a session, releases it, breaks the lock of another, and sets states.
func formsOfSessions(v *visit) {
	v.create("queue", "chats", `{"RequiresSession":true}`)
	v.say("chats", "anna", "one")
	v.say("chats", "anna", "two")
	const anna, tab = "/n/default/q/chats/session?id=anna", "/n/default/q/chats?tab=sessions"
	v.visit(tab)
	v.fill("id", "anna")
	v.click(`main [role=search] button`)
	v.equal(`document.querySelector("h1").textContent.trim()`, "anna")
	v.done(do("receive?id=anna"), "You hold the lock")
	v.visit(tab)
	v.done(do("receive"), "No session")
	v.visit(anna)
	v.done(do("session/release?id=anna"), "Session anna is given back")
	v.accept("chats", "anna")
	v.visit(anna)
	v.done(do("session/break?id=anna"), "The lock of session anna is broken")
	v.equal(`document.querySelector("[data-slot=lock]").textContent.includes("Free")`, true)

	// Folded parts can be opened without scripts.
	state := `main form[action*="/session/state"] `
	v.do(chromedp.Click(chromedp.CSS(`#state summary.fold`)))
	v.fill("state", "41 42")
	v.do(chromedp.Click(chromedp.CSS(`[name=as][value=hex]`)))
	v.done(state+`[type=submit]`, "The state of session anna is set")
	v.equal(`document.querySelector("#state pre").textContent.trim()`, "AB")
	v.do(chromedp.Click(chromedp.JSPath(`[...document.querySelectorAll("#state summary.fold")].at(-1)`)))
	v.done(`main form[action*="/session/clear"] [type=submit]`, "The state of session anna is cleared")
	v.equal(`document.querySelector("#state pre")`, nil)
}

// formsOfStatus disables an entity by its switch, and enables it again. Disabled actions are
// not offered meanwhile.
func formsOfStatus(v *visit) {
	v.create("queue", "door", `{}`)
	v.visit("/n/default/q/door")
	v.click(`[data-slot=status] a`)
	v.click(`#status [href*="to=Disabled"]`)
	v.done(submits, "door is disabled")
	v.equal(`document.querySelectorAll('.living [href$="/q/door/send"], .living [formaction$="/receive"]').length`, 0)
	v.visit("/n/default/q/door?tab=settings")
	v.done(`#status [formaction$="/status"][value=Active]`, "door is open")
	v.equal(`document.querySelectorAll('.living [href$="/q/door/send"], .living [formaction$="/receive"]').length`, 2)
}

// formsOfLab tries a message that no subscription received in the rules lab, and creates a
// subscription that matches it.
func formsOfLab(v *visit) {
	v.create("topic", "alarms", `{}`)
	v.ask("POST", v.server.Dashboard+client.APIPath("send", "alarms"), "", `{"subject":"door.opened","properties":{"level":3}}`)
	v.visit("/n/default/lab")
	v.click(`[data-list=tray] [href*="from="]`)
	v.equal(`document.querySelector("[data-verdict]").textContent.includes("no subscription")`, true)
	v.fill("subject", "door.closed")
	v.click(`main .primary[form=f]`)
	v.equal(`location.hash + document.querySelector("[name=subject]").value`, "#h-outcomedoor.closed")
	v.visit("/n/default/lab")
	v.do(chromedp.Click(chromedp.CSS(`[data-list=tray] .check`)))
	v.click(`.bulk .primary`)
	v.fill("name", "doors")
	v.done(`main button.primary`, "Created the subscription alarms/doors")
	if n := len(Entity(v.t, v.server, "alarms/Subscriptions/doors").Rules); n != 1 {
		v.t.Errorf("the subscription has %d rules", n)
	}
}
