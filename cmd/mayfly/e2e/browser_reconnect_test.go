package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// cutInBrowser checks that changes during a lost connection appear exactly once after
// it is back.
func cutInBrowser(t *testing.T, v *visit) {
	w := NewFaultyProxy(t, strings.TrimPrefix(v.server.Dashboard, "http://"))
	v.at = "http://" + w.Addr().String()
	v.create("queue", "steady", `{"DeadLetteringOnMessageExpiration":true,"DefaultMessageTimeToLive":"PT1H"}`)
	send := func(id string, ttl int) {
		v.send("steady", fmt.Sprintf(`{"Label":%q,"TimeToLive":%d}`, id, ttl), "x")
	}
	send("stays-1", 3000)
	send("stays-2", 3000)
	send("goes", 4)
	v.visit("/n/default/q/steady")
	v.want(isLive)
	v.js(recorded)
	v.js(rows + `.forEach((row) => row.querySelectorAll("*").forEach((el) => { el.born = row.born = true; }))`)
	v.calm()
	w.Cut()
	v.want(`document.querySelector("[data-pill]").dataset.state === "reconnecting"`)
	send("comes", 3000)
	send("flashes by", 1)
	v.until("three active and two dead", func(context.Context) bool {
		c := Entity(t, v.server, "steady").Counts
		return c.Active == 3 && c.DeadLetter == 2
	})
	v.equal(slot+`("count-active")`, "3")
	v.equal(slot+`("count-dead")`, "0")
	w.Repair()
	v.want(isLive)
	v.want(slot + `("count-dead") === "2"`)
	names := rows + `.map((row) => row.querySelector("b").textContent).join()`
	v.want(names + ` === "stays-1,stays-2,comes"`)
	send("after", 3000)
	v.want(names + ` === "stays-1,stays-2,comes,after"`)
	v.equal(slot+`("count-active")`, "4")
	v.equal(rows+`.map((row) => !!row.born && [...row.querySelectorAll("*")].every((el) => el.born)).join()`, "true,true,false,false")
	v.equal(`mayfly.reconnects > 0 && mayfly.polls === 0`, true)
	v.stayed()
	seen, _ := v.record()
	if len(seen) != 5 {
		t.Errorf("there were %d rows, want 5", len(seen))
	}
	for key, row := range seen {
		if row.Came != 1 || row.Went > 1 || (row.Went == 1) != (row.Struck > 0) {
			t.Errorf("row %s appeared %d times and disappeared %d times, struck through at %d", key, row.Came, row.Went, row.Struck)
		}
	}
}
