package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// languageInBrowser chooses the language of pages, live updates and countdowns, and checks
// that no text is cut off in the longest language.
func languageInBrowser(t *testing.T, v *visit) {
	furnish(v)
	choose := func(tag string) {
		t.Helper()
		v.want(`!window.mayfly || !document.body.dataset.live || ` + isLive) // a change of the live state moves the menu
		v.do(chromedp.Click(chromedp.CSS(`.tongues summary`)))
		v.want(`document.querySelector(".tongues button").checkVisibility()`)
		v.click(`.tongues [value="` + tag + `"]`)
	}
	const spans = `[...document.querySelectorAll("[data-list=rows] .ttl time")].map((el) => el.innerText)`
	v.visit("/n/default/q/orders")
	v.equal(`document.documentElement.lang`, "en")
	v.want(spans + `.some((text) => /^\d+m \d\ds$/.test(text))`)
	choose("pt-PT")
	v.equal(`document.documentElement.lang + location.pathname + location.search`, "pt-PT/n/default/q/orders")
	v.want(isLive)
	v.want(spans + `.some((text) => /^\d+\smin \d\d\ss$/.test(text))`)
	v.equal(`document.querySelector("[data-pill] b").innerText`, "Em direto")
	v.want(`[...document.querySelectorAll("[data-list=rows] time[aria-label]")].some((el) => /minutos/.test(el.ariaLabel))`)

	v.create("queue", "reply-00aa", `{"AutoDeleteOnIdle":"PT25S"}`)
	v.visit("/n/default/temporary")
	v.want(`document.querySelector(".toast[data-gone] b")`)
	v.equal(`/^reply-\w+ elimina-se em \d+\ss$/.test(document.querySelector(".toast[data-gone] b").innerText)`, true)
	v.visit("/n/default/q/orders")
	v.want(isLive)

	// Another tab chooses another language: this tab keeps its own, also in live updates.
	v.js(`document.cookie = "other=1"; fetch("/n/default/language", { method: "POST", redirect: "manual", body: new URLSearchParams({ csrf: document.querySelector("[name=csrf]").value, lang: "cs" }) }).then(() => { window.chosen = true; })`)
	v.want(`window.chosen`)
	v.send("orders", `{"Label":"order.late","TimeToLive":3000}`, "x")
	v.want(`[...document.querySelectorAll("[data-list=rows] tr, [data-list=rows] [data-key]")].some((el) => /order.late/.test(el.innerText))`)
	v.equal(`[...document.querySelectorAll("[data-list=rows] [data-key]")].every((el) => !/Akce|Vybrat/.test(el.outerHTML))`, true)
	v.visit("/n/default")
	v.equal(`document.documentElement.lang`, "cs")

	// Czech has the longest texts, so every page is checked in it.
	all := v.places()
	for _, tag := range []string{"cs", "pt-PT", "pt-BR", "zh-CN"} {
		v.visit("/n/default")
		choose(tag)
		for _, p := range all {
			if tag != "cs" && !slices.Contains(strings.Fields("overview expirations queues queue message temporary search deferred alerts create-queue jobs-new send purge activity connections session namespaces lab-tried palette"), p.name) {
				continue
			}
			v.visit(p.path)
			v.want(`!document.body.dataset.live || ` + isLive)
			v.equal(`document.documentElement.lang`, tag)
			v.look(tag + "-" + p.name)
			v.equal(`[...document.querySelectorAll(".board .fate:not([data-tone=dead]) span")].filter((el) => el.scrollWidth > el.clientWidth).map((el) => el.innerText).join()`, "")
			v.do(chromedp.EmulateViewport(390, 844)) // the namespace's name is always visible
			v.equal(`document.querySelector(".bar .ns .clip").clientWidth > 24`, true)
			v.do(chromedp.EmulateViewport(looks[0].width, looks[0].height))
		}
	}
	v.visit("/n/default/q/orders")
	v.scripts(false)
	v.visit("/n/default/q/orders")
	choose("auto")
	v.equal(`document.documentElement.lang`, "en")
	v.scripts(true)
}
