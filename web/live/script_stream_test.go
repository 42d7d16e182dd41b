package live

import (
	"fmt"
	"strconv"
	"testing"
)

// stream: frames that arrived while the page was busy are applied together and painted about once,
// so that a slow browser does not fall behind. While changes are too frequent, rows do not flash.
func stream(_ *testing.T, s *stage) {
	rows := map[string]string{"1": row("1", "one", hour), "2": row("2", "two", hour), "3": row("3", "three", hour)}
	s.start(full(6, []string{"1", "2", "3"}, rows))
	s.js(`{ setTimeout(() => { const end = Date.now() + 1500; while (Date.now() < end); }) }`)
	s.send(delta(7, []string{"1", "2", "3", "4"}, map[string]string{"2": row("2", "a", hour), "4": row("4", "four", hour)}, nil))
	s.send(delta(8, []string{"2", "3", "4"}, map[string]string{"2": row("2", "b", hour)}, map[string]string{"1": "expired"}))
	for n := range uint64(5) {
		s.send(delta(9+n, []string{"2", "3", "4"}, map[string]string{"2": row("2", fmt.Sprint("c", n), hour)}, nil))
	}
	s.want(`document.body.dataset.n === "13"`)
	s.equal(`mayfly.frames`, 8)
	s.equal(textOf+`("[data-key='2'] .what")`, "c4")
	s.equal(textOf+`("[data-key='4'] .what")`, "four") // no frame after the first had it
	s.equal(`document.querySelector("[data-key='1'].leaving").dataset.gone`, "expired")
	s.equal(`mayfly.put <= 4`, true) // some frames may have been painted in between, but not each

	// After more than three changes a second for a while, rows stop flashing until the rate drops.
	s.js(`{ window.at = performance.now(); performance.now = () => at; window.flashes = 0; }`)
	s.js(`new MutationObserver((all) => { for (const m of all) if (m.target.classList.contains("flash")) flashes++; }).observe(document.querySelector("tbody"), { subtree: true, attributes: true, attributeFilter: ["class"] })`)
	change := func(n uint64) {
		s.send(delta(n, []string{"2", "3", "4"}, map[string]string{"2": row("2", fmt.Sprint("d", n), hour)}, nil))
		s.want(textOf + `("[data-key='2'] .what") === "d` + strconv.FormatUint(n, 10) + `"`)
	}
	for n := range uint64(20) {
		change(20 + n)
	}
	s.want(`flashes > 0 && !document.querySelector(".flash")`)
	s.js(`{ flashes = 0; }`)
	change(40)
	s.equal(`flashes`, 0)
	s.js(`{ at += 10000; }`)
	change(41)
	s.equal(`flashes`, 1)
}

// pieces: a change that is sent in several frames is shown at once, or the part that has arrived if
// the rest does not arrive.
func pieces(_ *testing.T, s *stage) {
	s.start(full(6, []string{"1"}, map[string]string{"1": row("1", "one", hour)}))
	s.js(`{ const later = setTimeout; window.held = []; window.setTimeout = (f, ms) => (ms === 100 ? held.push(f) * -1 : later(f, ms)); }`)
	piece := func(n uint64, key string) parts {
		p := delta(n, []string{"1", "2", "3"}, map[string]string{key: row(key, key, hour)}, nil)
		p.More = true
		return p
	}
	s.send(piece(7, "2"))
	s.want(`mayfly.frames === 2 && held.length === 1`)
	s.equal(order, "1")
	p := piece(7, "3")
	p.More = false
	s.send(p)
	s.want(order + ` === "1,2,3"`)
	s.equal(`document.body.dataset.n`, "7")

	s.send(delta(8, []string{"1"}, nil, nil))
	s.want(order + ` === "1"`)
	s.send(piece(9, "2"))
	s.send(piece(9, "3"))
	s.want(`mayfly.frames === 6 && held.length === 2`)
	s.equal(order, "1")
	s.js(`{ held[1](); }`)
	s.want(order + ` === "1,2,3"`)
}

// chosen: rows do not move while the user selects their text.
func chosen(_ *testing.T, s *stage) {
	s.start(full(6, []string{"1"}, map[string]string{"1": row("1", "one", hour)}))
	s.js(`getSelection().selectAllChildren(document.querySelector("[data-key='1'] .what"))`)
	s.send(delta(7, []string{"2", "1"}, map[string]string{"2": row("2", "two", hour)}, nil))
	s.want(`document.body.dataset.n === "7"`)
	s.equal(order, "1")
	s.js(`getSelection().removeAllRanges()`)
	s.want(order + ` === "2,1"`)
	// A selection outside the list delays nothing.
	s.js(`getSelection().selectAllChildren(document.querySelector("[data-slot]"))`)
	s.send(delta(8, []string{"3", "2", "1"}, map[string]string{"3": row("3", "three", hour)}, nil))
	s.want(order + ` === "3,2,1"`)
}

// storm: when 200 rows expire at once, only twelve of them are struck through before they are
// removed, and the others are removed at once.
func storm(_ *testing.T, s *stage) {
	rows, order, gone := map[string]string{}, []string{}, map[string]string{}
	for i := range 200 {
		key := strconv.Itoa(i)
		rows[key], gone[key], order = row(key, key, hour), "expired", append(order, key)
	}
	s.asked("sub", 5)
	s.js(`{ setTimeout(() => { const end = Date.now() + 1000; while (Date.now() < end); }) }`)
	s.send(full(5, order, rows))
	s.send(delta(6, order, map[string]string{"7": row("7", "seven", hour)}, nil))
	s.want(live) // though the last frame was no snapshot
	s.equal(`document.querySelectorAll("[data-key]").length`, 200)
	s.send(delta(7, []string{}, nil, gone))
	s.want(`document.querySelectorAll(".leaving").length === 12 && document.querySelectorAll("[data-key]").length === 12`)
	s.equal(`mayfly.gone`, 200)
	s.want(`!document.querySelector("[data-key]")`)
}
