package connlimit

import (
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
)

// TestStorm checks that the pools are consistent after connections came, changed and
// ended concurrently.
func TestStorm(t *testing.T) {
	const most = 50
	b := budget(t, most)
	g := b.NewGroup()
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(worker)))
			var mine []*Conn
			for range 1_000 {
				switch i := r.IntN(8); {
				case i < 2 || len(mine) == 0:
					c := arrive(b, "192.0.2."+strconv.Itoa(r.IntN(6)))
					c.OnEvict(func(string) { _ = c.Close() })
					mine = append(mine, c)
				case i == 2:
					_ = mine[0].Close()
					mine = mine[1:]
				default:
					c := mine[r.IntN(len(mine))]
					switch i {
					case 3:
						c.Opened(r.IntN(2) == 0)
					case 4:
						c.Use(r.IntN(2) == 0, r.IntN(2) == 0)
					case 5:
						c.SetClient("192.0.2." + strconv.Itoa(r.IntN(6)))
					case 6:
						c.Admit()
					case 7:
						if g.Join(c, most/2) {
							c.Authenticated()
							g.Leave(c)
						}
					}
				}
				if n := b.Counts(); n.Open[Handshake]+n.Open[Unauthenticated]+n.Open[Unused]+n.Open[Used] > most {
					t.Errorf("got %v", n.Open)
				}
			}
			for _, c := range mine {
				_ = c.Close()
			}
		})
	}
	all.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.all.check(); err != nil || b.all.n != 0 || g.pool.n != 0 || b.leaving != 0 || len(b.emergency[AMQP]) != 0 {
		t.Errorf("%v; %d, %d, %d and %d are left", err, b.all.n, g.pool.n, b.leaving, len(b.emergency[AMQP]))
	}
}
