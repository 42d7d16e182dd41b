package live

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

const resubmit = `<button type="button" id="resubmit">Resubmit</button>`

// pressed: an update between the press of a button and its release does not lose the click,
// whatever appears or disappears beside the button.
func pressed(_ *testing.T, s *stage) {
	s.start(parts{T: "parts", Topic: "/page", N: 6, Full: true, Slots: map[string]string{"sum": resubmit}})
	s.js(`{ window.clicks = 0; document.querySelector("#resubmit").onclick = () => { clicks++; } }`)
	for i, sum := range []string{
		resubmit + `<i>2 locked</i>`,
		`<b>New</b> ` + resubmit + `<i>2 locked</i>`,
		`<b>New</b> <button type="button" id="delete">Delete</button>` + resubmit,
		`<p>No locks</p>` + resubmit + `<i>3 locked</i><i>expires soon</i>`,
		resubmit,
	} {
		s.press("#resubmit", input.DispatchMouseEventTypeMousePressed)
		if i == 1 {
			s.js(`document.querySelector("[data-slot]").append(document.createElement("u"))`) // as a script may do
		}
		s.send(parts{T: "parts", Topic: "/page", N: uint64(7 + i), Slots: map[string]string{"sum": sum}})
		s.want(fmt.Sprintf(`document.querySelector("[data-slot]").innerHTML === %q`, sum))
		s.press("#resubmit", input.DispatchMouseEventTypeMouseReleased)
		s.want(fmt.Sprintf(`clicks === %d`, i+1))
	}
}

// press presses or releases the left button of the mouse over the element.
func (s *stage) press(selector string, what input.DispatchMouseEventType) {
	s.t.Helper()
	at, _ := s.js(`(({ x, y }) => [x + 5, y + 5])(document.querySelector("` + selector + `").getBoundingClientRect())`).([]any)
	s.run(chromedp.MouseEvent(what, at[0].(float64), at[1].(float64), chromedp.ButtonLeft, chromedp.ClickCount(1)))
}

// menu returns a row with a link, and with a menu if it has actions.
func menu(key, subject string, does bool) string {
	act := `<a href="#actions">More</a>`
	if does {
		act = `<details><summary>Actions</summary><p><a href="#edit">Edit</a></p></details>`
	}
	return fmt.Sprintf(`<tr data-key=%q><td><input type="checkbox" class="check" name="key"></td><td><a href="#m" class="what">%s</a></td><td>%s</td></tr>`, key, subject, act)
}

// focus: the focus stays in its row, however the row changes.
func focus(_ *testing.T, s *stage) {
	s.start(full(6, []string{"1", "2"}, map[string]string{"1": menu("1", "one", true), "2": menu("2", "two", true)}))
	const in = `document.activeElement.closest("[data-key]")?.dataset.key`
	s.js(`document.querySelector("[data-key='1'] summary").focus()`)
	s.send(delta(7, []string{"1", "2"}, map[string]string{"1": menu("1", "one", false)}, nil)) // it has no actions now
	s.want(`!document.querySelector("[data-key='1'] summary")`)
	s.equal(in, "1")
	s.equal(`document.activeElement.className`, "what")

	// An unchanged element keeps the focus, and a menu stays open.
	s.js(`{ document.querySelector("[data-key='2'] details").open = true; document.querySelector("[data-key='2'] p a").focus() }`)
	s.send(delta(8, []string{"1", "2"}, map[string]string{"2": menu("2", "TWO", true)}, nil))
	s.want(`document.querySelector("[data-key='2'] .what").textContent === "TWO"`)
	s.equal(`document.activeElement.textContent + document.querySelector("[data-key='2'] details").open`, "Edittrue")

	// A row that is added again keeps its state, and the row that has the focus is removed last.
	s.js(`{ document.querySelector("[data-key='2'] input").checked = true; }`)
	s.send(delta(9, []string{"1"}, nil, map[string]string{"2": "locked"}))
	s.want(`document.querySelector("[data-key='2'].leaving")`)
	s.send(delta(10, []string{"1", "2"}, map[string]string{"2": menu("2", "TWO", true)}, nil))
	s.want(`!document.querySelector(".leaving")`)
	s.equal(`document.querySelector("[data-key='2'] input").checked`, true)
	s.equal(in, "2")

	rows, order, gone := map[string]string{}, []string{"1", "2"}, map[string]string{"2": "expired"}
	for i := range 250 {
		key := strconv.Itoa(10 + i)
		rows[key], gone[key], order = menu(key, key, false), "expired", append(order, key)
	}
	s.js(`{ document.querySelector("[data-key='2'] input").checked = false; document.activeElement.blur(); }`)
	s.send(delta(11, order, rows, nil))
	s.want(`document.querySelectorAll("[data-key]").length === 252`)
	s.js(`document.querySelector("[data-key='2'] a").focus()`)
	s.send(delta(12, []string{"1"}, nil, gone))
	s.want(`document.querySelectorAll("[data-key]").length <= 202`)
	s.equal(in, "2")
}

// letIn: new rows wait while a row is selected. When the user shows them by keyboard, the focus
// moves to the first of them. If they disappear while they wait, it moves to the row above.
func letIn(_ *testing.T, s *stage) {
	const in = `document.activeElement.closest("[data-key]")?.dataset.key`
	s.start(full(6, []string{"1"}, map[string]string{"1": menu("1", "one", true)}))
	s.js(`document.querySelector("[data-key='1'] input").checked = true`)
	s.send(delta(7, []string{"1", "2", "3"}, map[string]string{"2": menu("2", "two", true), "3": menu("3", "three", true)}, nil))
	s.want(textOf + `(".newbar") === "2 new while you are here"`)
	s.js(`{ document.querySelector(".newbar").focus({ focusVisible: true }); document.querySelector("[data-key='1'] input").checked = false; window.was = performance.now() }`)
	s.want(`performance.now() > was + 1500`) // a beat later
	s.equal(order, "1")
	s.run(chromedp.KeyEvent(kb.Enter))
	s.want(order + ` === "1,2,3"`)
	s.equal(in, "2")

	// When the waiting rows disappear, so does the button, and the focus moves to the row above.
	s.js(`{ document.activeElement.blur(); document.querySelector("[data-key='1'] input").checked = true }`)
	s.send(delta(8, []string{"1", "2", "3", "4"}, map[string]string{"4": menu("4", "four", true)}, nil))
	s.want(textOf + `(".newbar:not([hidden])") === "1 new while you are here"`)
	s.js(`document.querySelector(".newbar").focus({ focusVisible: true })`)
	s.send(delta(9, []string{"1", "2", "3"}, nil, map[string]string{"4": "expired"}))
	s.want(`document.querySelector(".newbar").hidden`)
	s.equal(in, "3")
}

// steps: the keyboard moves between the rows that stay, from wherever the focus is: also from
// a row that is struck through.
func steps(_ *testing.T, s *stage) {
	rows := map[string]string{}
	for i, name := range []string{"one", "two", "three", "four", "five"} {
		key := strconv.Itoa(i + 1)
		rows[key] = menu(key, name, true)
	}
	s.start(full(6, []string{"1", "2", "3", "4", "5"}, rows))
	press := func(key, row string) {
		s.t.Helper()
		s.run(chromedp.KeyEvent(key))
		s.equal(`document.activeElement.closest("[data-key]")?.dataset.key ?? ""`, row)
	}
	from := func(row string) {
		s.t.Helper()
		s.js(`document.querySelector("[data-key='` + row + `'] a").focus()`)
	}
	press("j", "1")
	press("j", "2")
	press("k", "1")
	press("k", "1")
	s.js(`document.activeElement.blur()`)
	press("k", "5")
	press("j", "5")

	from("3")
	s.send(delta(7, []string{"1", "5"}, nil, map[string]string{"2": "expired", "3": "expired", "4": "deferred"}))
	s.want(`document.querySelectorAll(".leaving").length === 3`)
	press("j", "5")
	from("3")
	press("k", "1")
	press("j", "5")

	from("5") // if none is left on that side, the focus stays
	s.send(delta(8, []string{"1"}, nil, map[string]string{"5": "expired"}))
	s.want(`document.querySelector("[data-key='5'].leaving")`)
	press("j", "5")
	press("k", "1")
}
