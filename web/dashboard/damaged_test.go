package dashboard_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"mayfly/engine"
	"mayfly/web/auth"
)

// damage restarts the world with a store that reports n damaged messages in the queue orders.
func (w *world) damage(n int) {
	w.Helper()
	w.b.CreateQueue("orders", engine.Config{})
	state := w.b.State("orders")
	w.stop()
	w.store = &breakable{Store: w.store.Reopen()}
	for i := range n {
		w.store.damaged = append(w.store.damaged, engine.Damaged{Key: engine.Key(1<<40 + i), Subqueue: state.ID, Seq: engine.Seq(1000 + i), Part: engine.DamagedBody})
	}
	w.start()
}

// TestMoveAside: the banner, the queue's page and the message's page link to the list of
// damaged messages. One is moved aside by a button, all once the namespace's name was typed.
func TestMoveAside(t *testing.T) {
	within(t, func(w *world) {
		const list, ask = "/n/default/damaged", "/n/default/damaged/move-aside"
		w.see(list).wants(http.StatusOK, "No damaged messages", "mayfly verify reads the whole store")
		w.damage(3)
		for _, at := range []string{"/n/default", "/n/default/q/orders"} {
			if w.see(at).Find(`.notice a[href="`+list+`"]`).Length() == 0 {
				t.Errorf("%s does not link to the list", at)
			}
		}
		if w.see("/n/default/q/orders").Find(`[data-slot="gone"] *`).Length() != 0 {
			t.Error("the queue is shown as deleted")
		}
		w.see("/n/default/q/orders").wants(http.StatusOK, "3 messages of this entity are damaged")
		w.get("/n/default/m/"+strconv.Itoa(1<<40)).wants(http.StatusNotFound, "This message is damaged")
		rows := func() int { return w.see(list).Find("table.damaged tbody tr").Length() }
		if n := rows(); n != 3 {
			t.Fatalf("got %d rows", n)
		}
		w.see(list).wants(http.StatusOK, "#1000", "orders", "Body")

		w.caller = auth.Caller{Name: "eva", Role: auth.Operator, Method: auth.Password}
		if w.see(list).Find(`a[href^="`+ask+`"]`).Length() != 0 {
			t.Error("an operator sees an action that requires an admin")
		}
		w.caller = auth.OpenCaller()

		one := ask + "?key=" + strconv.Itoa(1<<40)
		w.see(one).wants(http.StatusOK, "#1000", "Move the damaged message")
		seen := w.b.Events().Last()
		if says, at := w.done(one, "count", "1"); at != list || !strings.Contains(says, "1 damaged message moved aside") {
			t.Errorf("redirected to %s: %s", at, says)
		}
		if e := w.b.Events().Recent(1)[0]; e.N <= seen || !e.Audit || e.Actor != "dashboard" {
			t.Errorf("the event is %+v", e)
		}
		w.post(one, "count", "1").wants(http.StatusNotFound, "not damaged, or it was moved aside already")

		w.post(ask, "count", "2").wants(http.StatusUnprocessableEntity, "Type")
		w.post(ask, "count", "1", "confirm", "default").wants(http.StatusConflict, "now there are 2")
		w.post("/n/default/safe", "safe", "on")
		w.post(ask, "count", "2", "confirm", "default").wants(http.StatusForbidden, "Safe mode is on")
		if n := rows(); n != 2 {
			t.Fatalf("%d rows are left", n)
		}
		w.post("/n/default/safe", "safe", "off")
		if says, at := w.done(ask, "count", "2", "confirm", "default"); at != list || !strings.Contains(says, "2 damaged messages moved aside") || rows() != 0 {
			t.Errorf("redirected to %s: %s", at, says)
		}
	})
}
