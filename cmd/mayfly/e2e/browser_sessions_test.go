package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"github.com/chromedp/chromedp"

	"mayfly/cmd/mayfly/client"
)

// inSession returns the address of a session in the API.
func inSession(entity, id string) string {
	return client.APIPath("session", entity) + "?id=" + url.QueryEscape(id)
}

// accept accepts a session by the API and returns the token of its lock.
func (v *visit) accept(entity, id string) string {
	v.t.Helper()
	var got struct{ SessionLockToken string }
	v.answered(client.APIPath("accept-session", entity), fmt.Sprintf(`{"sessionId":%q}`, id), &got)
	return got.SessionLockToken
}

// release releases a session.
func (v *visit) release(entity, hold string) {
	v.t.Helper()
	v.ask("DELETE", v.server.Dashboard+client.APIPath("accept-session", entity)+"?sessionLockToken="+url.QueryEscape(hold), "", "")
}

// received receives one message and returns its lock token.
func (v *visit) received(entity, in string) string {
	v.t.Helper()
	var got struct{ Messages []struct{ LockToken string } }
	if v.answered(client.APIPath("receive", entity), in, &got); len(got.Messages) == 0 {
		v.t.Fatalf("nothing was received from %s", entity)
	}
	return got.Messages[0].LockToken
}

// answered posts a JSON body to a path of the server, and decodes the response into `answer`.
func (v *visit) answered(at, body string, answer any) {
	v.t.Helper()
	r, err := http.NewRequestWithContext(v.t.Context(), http.MethodPost, v.server.Dashboard+at, bytes.NewBufferString(body))
	if err != nil {
		v.t.Fatal(err)
	}
	w, err := http.DefaultClient.Do(r)
	if err != nil {
		v.t.Fatal(err)
	}
	defer w.Body.Close()
	if err := json.NewDecoder(w.Body).Decode(answer); err != nil || w.StatusCode >= 300 {
		v.t.Fatalf("POST %s: %s: %v", at, w.Status, err)
	}
}

// say sends a message in a session.
func (v *visit) say(entity, session, id string) {
	v.t.Helper()
	v.ask("POST", v.server.Dashboard+client.APIPath("send", entity), "", fmt.Sprintf(`{"sessionId":%q,"subject":%q,"body":"{}"}`, session, id))
}

const bornToo = `document.querySelectorAll("main *").forEach((el) => { el.born = true; })`

// sessionsInBrowser checks that changes of sessions appear in their list and on their own
// pages, without disturbing a user who reads or types.
func sessionsInBrowser(_ *testing.T, v *visit) {
	v.create("queue", "chats", `{"RequiresSession":true,"LockDuration":"PT1M"}`)
	v.say("chats", "anna", "one")
	v.say("chats", "anna", "two")
	v.say("chats", "bert", "three")
	v.sessionsListed()
	v.sessionFooted()
	v.sessionLookedAt()
}

// sessionFooted follows the links at the foot of a session's drawer, each of which leads to a part
// of the session's page, and goes back.
func (v *visit) sessionFooted() {
	for _, part := range []string{"f-state", "h-receive"} {
		v.visit("/n/default/q/chats?tab=sessions")
		v.want(isLive)
		v.do(chromedp.Click(chromedp.CSS(`[data-key="anna"] a[data-drawer]`)))
		v.want(`document.querySelector(".drawer footer") !== null`)
		v.click(`.drawer footer a[href$="#` + part + `"]`)
		v.want(`location.hash === "#` + part + `" && document.querySelector(".drawer") === null && document.querySelector("h1")?.innerText === "anna"`)
		v.want(`document.querySelector("#` + part + `").checkVisibility()`)
		v.js(`history.back()`)
		v.want(`location.search === "?tab=sessions" && document.querySelector(".drawer") === null`)
	}
}

// sessionsListed checks the tab of sessions: SES-2, SES-5, SES-6, SES-7.
func (v *visit) sessionsListed() {
	v.visit("/n/default/q/chats?tab=sessions")
	v.want(isLive)
	v.js(bornToo)
	v.calm()
	row := func(id string) string { return `document.querySelector('[data-list=rows] > [data-key="` + id + `"]')` }
	cell := func(id, label string) string {
		return row(id) + `.querySelector('[data-label="` + label + `"]').innerText.trim()`
	}
	order := func(ids string) {
		v.t.Helper()
		v.want(rows + `.map((row) => row.dataset.key).join() === "` + ids + `"`)
	}
	order("anna,bert")
	v.equal(row("anna")+`.querySelector(".badge").innerText`, "next")

	hold := v.accept("chats", "anna")
	v.want(cell("anna", "Lock") + `.includes("API 127.0.0.1")`)
	order("bert,anna")
	v.equal(row("anna")+`.querySelector(".badge")`, nil)
	v.want(row("bert") + `.querySelector(".badge")?.innerText === "next"`)
	v.equal(`document.querySelector("[data-slot=lede]").innerText`, "2 sessions; one is held. The next receiver gets bert.")

	until := row("anna") + `.querySelector("[role=timer]").dateTime`
	was := v.js(until)
	v.ask("POST", v.server.Dashboard+"/api/v1/renew-lock", "", fmt.Sprintf(`{"sessionLockToken":%q}`, hold))
	v.want(`Date.parse(` + until + `) > Date.parse("` + was.(string) + `")`)

	v.received("chats", fmt.Sprintf(`{"sessionLockToken":%q}`, hold))
	v.want(cell("anna", "Locked") + ` === "1" && ` + cell("anna", "Ready") + ` === "1"`)
	v.release("chats", hold)
	v.want(cell("anna", "Lock") + ` === "free" && ` + cell("anna", "Ready") + ` === "2"`)
	v.ask("PUT", v.server.Dashboard+inSession("chats", "anna"), "", `{"state":"12345"}`)
	v.want(cell("anna", "State") + ` === "5 B"`)
	v.say("chats", "carla", "four")
	v.want(row("carla") + ` && ` + cell("carla", "Ready") + ` === "1"`)
	v.want(slot + `("tab-sessions") === "3"`)

	v.received("chats", fmt.Sprintf(`{"sessionLockToken":%q,"mode":"receive-and-delete"}`, v.accept("chats", "bert")))
	v.stayed()
	v.equal(`["anna", "bert"].every((id) => { const row = document.querySelector('[data-key="' + id + '"]'); return row.born && row.querySelector("a").born; })`, true)
}

// sessionLookedAt checks a session's page while the user types a state.
func (v *visit) sessionLookedAt() {
	v.visit("/n/default/q/chats/session?id=anna")
	v.want(isLive)
	v.js(`{ const form = document.querySelector("form[action*='/session/state']"); form.closest("details").open = true; form.querySelector("textarea").focus(); }`)
	v.do(chromedp.KeyEvent("half"))
	v.js(bornToo)
	v.js(`window.typed = document.activeElement.value`)
	v.calm()
	held, lock := slot+`("held")`, slot+`("lock")`
	message := func(n int) string {
		return fmt.Sprintf(`document.querySelectorAll("[data-list=session-rows] > [data-key]")[%d]`, n)
	}
	v.equal(`document.querySelector(".newer").checkVisibility()`, false)

	hold := v.accept("chats", "anna")
	v.want(held + ` === "Held by API 127.0.0.1"`)
	until := `document.querySelector("[data-slot=lock] time").dateTime`
	was := v.js(until)
	v.ask("POST", v.server.Dashboard+"/api/v1/renew-lock", "", fmt.Sprintf(`{"sessionLockToken":%q}`, hold))
	v.want(`Date.parse(` + until + `) > Date.parse("` + was.(string) + `")`)
	v.received("chats", fmt.Sprintf(`{"sessionLockToken":%q}`, hold))
	v.want(message(0) + `.innerText.includes("one") && ` + message(0) + `.querySelector("td").title === "Locked"`)
	v.say("chats", "anna", "five")
	v.want(message(2) + `?.innerText.includes("five")`)
	v.equal(`document.querySelector(".newer").checkVisibility()`, false)

	v.ask("PUT", v.server.Dashboard+inSession("chats", "anna"), "", `{"state":"67890"}`)
	v.want(`document.querySelector(".newer").checkVisibility()`)
	v.equal(`document.querySelector("#state pre").innerText.trim()`, "12345") // a user may be reading it
	v.release("chats", hold)
	v.want(lock + `.startsWith("Free") && ` + message(0) + `.querySelector("td").title === "Active"`)
	v.stayed()
	v.equal(message(0)+`.born && `+message(1)+`.born && document.activeElement.born`, true)
	v.equal(`document.activeElement.value === typed && typed.includes("half")`, true)
	v.click(`.newer a`)
	v.equal(`document.querySelector("#state pre").innerText.trim()`, "67890")

	// When a button disappears, the focus stays in its slot.
	hold = v.accept("chats", "anna")
	v.want(`document.querySelector("[data-slot=lock] button")`)
	v.js(`document.querySelector("[data-slot=lock] button").focus()`)
	v.release("chats", hold)
	v.want(lock + `.startsWith("Free")`)
	v.equal(`document.activeElement.dataset.slot`, "lock")
}
