package main

import "testing"

// metricsInBrowser: the charts are drawn of what the API has, in both themes and at
// every width, and the table beside them says the same.
func metricsInBrowser(_ *testing.T, v *visit) {
	v.create("queue", "orders", `{}`)
	v.send("orders", "", "hello")
	const charts = `[...document.querySelectorAll("[data-plot] canvas")]`
	const drawn = `document.querySelector("[data-plots]")?.dataset.drawn`
	const ink = `new Set(new Uint32Array(` + charts + `[1].getContext("2d").getImageData(0, 0, ` + charts + `[1].width, ` + charts + `[1].height).data.buffer)).size > 3`
	v.visit("/n/default")
	v.click(`main a[href="/n/default/metrics"]`)
	v.want(drawn + ` === "360" && ` + charts + `.length === 2 && ` + ink)
	v.want(`document.querySelectorAll(".numbers tbody tr").length > 0`)
	v.click(`.seg a[href*="within=day"]`)
	v.want(drawn + ` === "288"`)
	v.equal(`document.querySelector(".seg [aria-current]").innerText`, "Day")

	v.visit("/n/default/q/orders?tab=metrics")
	v.want(drawn + ` === "360" && ` + ink)
	v.want(`[...document.querySelectorAll(".numbers tbody tr")].some((tr) => tr.cells[1].innerText === "1" && tr.cells[6].innerText === "1")`)
	v.js(`document.documentElement.dataset.theme = "dark"`)
	v.want(charts + `.length === 2 && ` + ink)
	v.visit("/n/default/topics")
	v.equal(`document.querySelectorAll('script[src*="uPlot"], script[src*="metrics"]').length`, float64(0))
}
