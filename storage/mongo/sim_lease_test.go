package mongo

import (
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine"
)

// An owner that hears nothing for a while sends its beat again and again. Nobody
// sees more in the repetitions than in the first that got through, so they must
// not keep it longer in office. Then it is cut off, and another one takes over.
func TestARepeatedBeatIsNoNewOne(t *testing.T) {
	const lease = 5 * time.Second
	for phase := time.Duration(0); phase < lease/5; phase += lease / 40 {
		for deaf := lease / 10; deaf < 3*lease/4; deaf += lease / 10 {
			synctest.Test(t, func(t *testing.T) {
				w := &world{seed: uint64(phase + deaf), db: new(toy), lease: lease, began: time.Now(), judge: &judge{}}
				opened := func(name string) (*Store, *client) {
					c := w.connect(name, weather{})
					s, err := openOn(t.Context(), c, nil, Options{Lease: lease, clock: c.clock, Standby: func(engine.Owner) {}})
					if err != nil {
						t.Fatal(err)
					}
					return s, c
				}
				former, c := opened("former")
				time.Sleep(2*lease + phase)
				c.deafen(deaf)
				// It hears once more that all is well, if it asks in that moment.
				time.AfterFunc(deaf+lease/20, func() { c.part(10 * lease) })
				next, _ := opened("next")
				if former.Owned() {
					t.Errorf("deaf for %v from %v after a beat: it owns beside epoch %d", deaf, phase, next.Epoch())
				}
				c.kill()
				_ = former.Close()
				if err := next.Close(); err != nil {
					t.Error(err)
				}
				w.settle()
			})
		}
	}
}
