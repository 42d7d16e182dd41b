package e2e

import (
	"fmt"
	"net/http"
)

// An answer is the page that a form's submission returns: the result, or the form with errors.
type answer struct {
	name, at, fields string // fields is an object of form values
	press            string
	status           int
	shows            string
}

// answers lists the pages that have no address. Their submissions have lasting effects.
func answers() []answer {
	const (
		n, save, last = "/n/default", "main .primary", "main .final"
		wrong         = "main [aria-invalid=true]"
	)
	return []answer{
		{"token made", "/tokens/new", `{ name: "ci" }`, save, 200, "[data-secret=token]"},
		{"token refused", "/tokens/new", `{ name: "" }`, save, 422, wrong},
		{"link made", "/tokens/link", `{ name: "demo", page: "/n/default/queues" }`, save, 200, ".made .snippet"},
		{"link refused", "/tokens/link", `{ name: "", page: "/nowhere" }`, save, 422, wrong},
		{"keys shown", n + "/access", `{}`, "tr[data-key=worker] button", 200, "[data-secret]"},
		{"access rule refused", n + "/access/new", `{ name: "" }`, save, 422, wrong},
		{"queue refused", n + "/queues/new", `{ name: "a//b", LockDuration: "soon" }`, save, 422, wrong},
		{"settings refused", n + "/q/orders/edit", `{ LockDuration: "soon" }`, save, 422, wrong},
		{"deletion refused", n + "/q/orders/delete", `{ confirm: "order" }`, last, 422, wrong},
		{"message refused", n + "/q/orders/send", `{ ttl: "soon", repeat: "many" }`, save, 422, wrong},
		{"purge refused", n + "/q/orders/purge", `{ filter: "price >> 1" }`, "main footer .final", 422, "main :is([aria-invalid=true], .fault)"},
		{"rule refused", n + "/t/prices/s/eu/rules/new", `{ "rule-name": "dear", "rule-kind": "sql", "rule-sql": "price >> 100" }`, save, 422, ".fault"},
		{"alert refused", n + "/alerts/new", `{ name: "" }`, save, 422, wrong},
		{"job refused", n + "/jobs/new?kind=delete&path=orders&q=subject:order*", `{ q: "color:red" }`, last, 422, "main :is([aria-invalid=true], .notice)"},
		{"view refused", n + "/views/edit?back=%2Fn%2Fdefault%2Fq%2Forders", `{ name: "" }`, save, 422, wrong},
		{"namespace refused", "/namespaces", `{ name: "a.b" }`, save, 422, wrong},
		{"namespace kept", "/namespaces/shop/remove", `{ confirm: "till" }`, last, 422, wrong},
		{"scene refused", "/scenes/new", `{ text: "title: Lunch", id: "" }`, save, 422, wrong},
		{"scene with faults", "/scenes/new", `{ text: "title: [", id: "lunch" }`, save, 422, "main h2"},
		{"messages checked", n + "/q/orders/import", `{ lines: '{"messageId":"a","body":"1"}\nhello' }`, save, 200, "#h-survey"},
		{"messages not sent", n + "/q/orders/import", `{ lines: "" }`, save, 422, wrong},
		{"definitions checked", n + "/definitions/import", `{ text: '{"UserConfig":{"Namespaces":[{"Queues":[{"Name":"orders","Properties":{"LockDuration":"PT20S"}},{"Name":"audit"}]}]}}' }`, "[aria-labelledby=h-file] .btn[type=submit]", 200, "#h-steps"},
		{"definitions refused", n + "/definitions/import", `{ text: '{"UserConfig":{"Namespaces":[{"Queues":[{"Name":"a//b","Properties":{"LockDuration":"soon"}}]}]}}' }`, "[aria-labelledby=h-file] .btn[type=submit]", 422, "#h-wrong"},
		{"definitions unread", n + "/definitions/import", `{ text: "{" }`, "[aria-labelledby=h-file] .btn[type=submit]", 422, "main :is(#h-wrong, .notice)"},
	}
}

// fillsIn submits a form without client-side validation, and waits for the response.
func (v *visit) fillsIn(a answer) {
	v.t.Helper()
	v.visit(a.at)
	v.js(fmt.Sprintf(`{
		const by = document.querySelector(%q), { form } = by;
		for (const [name, value] of Object.entries(%s)) form.elements[name].value = value;
		form.noValidate = window.left = true;
		by.click();
	}`, a.press, a.fields))
	v.want(`!window.left && document.readyState === "complete"`)
	v.equal(`performance.getEntriesByType("navigation")[0].responseStatus`, a.status)
	v.equal(fmt.Sprintf(`!!document.querySelector(%q)`, a.shows), true)
}

// axeAnswers runs axe on responses to forms and on pages for errors.
func (v *visit) axeAnswers() {
	for _, a := range answers() {
		v.fillsIn(a)
		v.inThemes(a.name, `document`)
		v.hears(a.name)
		if a.status >= http.StatusBadRequest {
			page, _ := v.js(`location.pathname`).(string)
			v.refused(a.status, page)
		}
	}
	v.visit("/n/default/nowhere")
	v.inThemes("nowhere", `document`)
	v.refused(http.StatusNotFound, "/n/default/nowhere")
}
