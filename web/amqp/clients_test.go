package amqp_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	goamqp "github.com/Azure/go-amqp"

	"mayfly/web/connections"
)

// Of several clients with the same container id, the latest connected one is found, in whatever
// order they disconnect. The indexes stay consistent, and keep nothing of disconnected clients.
func TestTwins(t *testing.T) {
	for _, leave := range [][]int{{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		t.Run(fmt.Sprint(leave), func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				check := func() {
					t.Helper()
					synctest.Wait()
					if err := w.s.Check(); err != nil {
						t.Error(err)
					}
				}
				var twins []*goamqp.Conn
				var ids []string
				for range 3 {
					twins = append(twins, w.dialAs("twin", nil))
					check()
					client, _ := w.s.Client("AMQP twin")
					ids = append(ids, client.ID)
				}
				w.dialAs("other", nil)
				there := map[int]bool{0: true, 1: true, 2: true}
				for _, i := range leave {
					_ = twins[i].Close() // the server may be faster
					check()
					delete(there, i)
					want := ""
					for j := range ids {
						if there[j] {
							want = ids[j]
						}
					}
					if client, ok := w.s.Client("AMQP twin"); !ok || client.ID != want {
						t.Errorf("after %d disconnected, got client %+v, want %s", i, client, want)
					}
					if c, ok := w.s.Connection(ids[i], 0); ok {
						t.Errorf("connection %d is still found: %+v", i, c)
					}
				}
				if other := w.only(connections.Query{}); other.Client != "AMQP other" {
					t.Errorf("the remaining client is %s", other.Client)
				}
			})
		})
	}
}

// TestClientIsALookup checks that Server.Client finds a client without going through all
// connections.
func TestClientIsALookup(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		for i := range 100 {
			w.dialAs(fmt.Sprint("c", i), nil)
		}
		synctest.Wait()
		if n := testing.AllocsPerRun(10, func() { w.s.Client("AMQP c7") }); n > 10 {
			t.Errorf("the lookup takes %v allocations, with 100 connections", n)
		}
	})
}
