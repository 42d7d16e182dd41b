package e2e

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

// importInBrowser uploads a file, previews it twice with different options and imports it by a
// job; also without scripts.
func importInBrowser(t *testing.T, v *visit) {
	v.create("queue", "orders", `{}`)
	file := filepath.Join(t.TempDir(), "kept.jsonl")
	lines := `{"messageId":"a","body":"1"}` + "\n" + `{"messageId":"b","scheduledEnqueueTime":"1999-01-01T00:00:00Z"}` + "\nhello\n"
	if err := os.WriteFile(file, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	look := func(on bool) {
		v.scripts(on)
		v.visit("/n/default/q/orders")
		v.click(`a[href$="/q/orders/import"]`)
		v.do(chromedp.SetUploadFiles(chromedp.CSS(`input[type=file]`), []string{file}))
		v.click(`form[enctype] .primary`)
		v.want(`document.querySelector("#h-survey")?.innerText === "kept.jsonl"`)
		v.equal(`[...document.querySelectorAll(".fates li span:last-child")].map((el) => el.innerText).join()`, "was scheduled for a time that has passed, and is sent at once,line cannot be read, and would be passed over")
	}
	look(true)
	v.do(chromedp.SetValue(chromedp.CSS(`select[name=schedule]`), "drop"))
	v.click(`form[method=get][aria-labelledby=h-words] .btn[type=submit]`)
	v.want(`document.querySelectorAll(".fates li").length === 1 && new URLSearchParams(location.search).get("schedule") === "drop"`)
	v.counted("orders", 0, 0, 0, 0, 0)
	v.click(`form[action$="/import/start"] .primary`)
	v.want(`location.pathname.endsWith("/jobs/1") && document.querySelector("[data-slot=progress]")?.innerText.includes("3 of 3") && document.querySelector("[data-slot=failures]").innerText.includes("Line 3")`)
	v.counted("orders", 2, 0, 0, 0, 0)

	look(false)
	v.click(`form[action$="/import/start"] .primary`)
	v.want(`location.pathname.endsWith("/jobs/2")`)
	v.until("all messages are imported", func(context.Context) bool { return Entity(t, v.server, "orders").Counts.Active == 4 })
	v.scripts(true)
}

// definitionsInBrowser uploads, previews and applies a Config.json.
func definitionsInBrowser(t *testing.T, v *visit) {
	v.create("queue", "orders", `{"LockDuration":"PT10S"}`)
	file := filepath.Join(t.TempDir(), "Config.json")
	const text = `{"UserConfig":{"Namespaces":[{"Queues":[{"Name":"orders","Properties":{"LockDuration":"PT20S"}},{"Name":"audit"}]}]}}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	v.visit("/n/default/queues")
	v.click(`a[href$="/definitions/import"]`)
	v.do(chromedp.SetUploadFiles(chromedp.CSS(`input[type=file]`), []string{file}))
	v.click(`[aria-labelledby=h-file] .btn[type=submit]`)
	v.want(`document.querySelector("#h-steps")?.innerText === "It would make 2 changes"`)
	v.equal(`document.querySelector(".changes li").innerText.replace(/\s+/g, " ")`, "LockDuration PT10S → PT20S")
	v.click(`button[name=agreed]`)
	v.want(`location.pathname.endsWith("/queues") && document.querySelector("[data-notice]")?.innerText.includes("Made 2 changes") && document.body.innerText.includes("audit")`)
}
