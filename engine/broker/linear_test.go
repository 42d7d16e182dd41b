package broker_test

import (
	"flag"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// Histories of one seed again, and more of them than usual:
//
//	go test ./engine/broker -run 'TestLinear$' -v -linear.seed 4711
//	go test ./engine/broker -run 'TestLinear$' -v -timeout 2h -linear.ops 1000000
//
// A seed is what clients choose and which commits fail. Who comes first is the
// scheduler's choice, so that a history may have to be told several times before
// it goes wrong again.
var (
	linearSeed = flag.Uint64("linear.seed", 0, "seed of the first history, the next has one more; zero: drawn")
	linearOps  = flag.Int("linear.ops", 0, "how many operations the histories have together; zero: a few seconds' worth")
)

// judging is how long the checker may take for one history, mostly some
// milliseconds; one that it cannot judge in time is a failure.
const judging = 2 * time.Minute

// What goroutines do to one broker at the same time, on a store whose commits
// fail now and then, is as if they had done it one after the other, each
// operation at a moment between its call and its answer (semantics §3, §5, §6,
// §8, §12).
//
// What is allowed beyond that, and by which rule:
//
//   - An answer that says that nothing was done is as if nobody had asked. One
//     that says that it is not known leaves open whether it was done, all of it
//     or nothing, until somebody sees which: only what was acknowledged is there
//     for certain (MSG-8). That it is done later than the answer is not allowed,
//     because its caller is told to look before it tries again.
//   - When everything is read from the store again, a lock that a later commit
//     made durable stands, and its token with it; one that was taken after the
//     last commit is free, and has not failed; in between nobody can tell
//     (DEC-12).
//   - Then no receiver holds its session any more. One with a locked message is
//     taken, by nobody known (DEC-12).
//   - A receive of several messages is several of one message each: receivers are
//     served in turn (SEQ-9). What each gets is in order all the same (SEQ-7).
//   - The next session is any that is free and has something ready: the exact
//     choice is not documented (SES-2).
//
// No lock runs out here: locks last for five minutes, and nobody waits for
// anything. That a message received and deleted may be lost on its way (LOCK-2)
// is left out: its body can always be read.
func TestLinear(t *testing.T) {
	seed, ops := *linearSeed, *linearOps
	switch {
	case ops > 0:
	case seed != 0:
		ops = 1
	case testing.Short():
		ops = 5_000
	default:
		ops = 40_000
	}
	if seed == 0 {
		seed = rand.Uint64() >> 32
	}
	t.Logf("the first history has the seed %d", seed)
	reached := map[reach]int{}
	longest, histories, operations := time.Duration(0), 0, 0
	for ; operations < ops && !t.Failed(); seed++ {
		h := tell(t, seed)
		all := h.operations()
		if len(all) > mostDeeds {
			t.Errorf("seed %d: %d operations are too many", seed, len(all))
		}
		began := time.Now()
		if r := porcupine.CheckOperationsTimeout(model(), all, judging); r != porcupine.Ok {
			t.Errorf("-linear.seed %d: %s", seed, r)
			explain(t, all)
		}
		longest = max(longest, time.Since(began))
		histories++
		operations += len(all)
		for _, o := range all {
			reached[o.Input.(*deed).reach()]++
		}
		reached[reach{"", nothing}] += int(h.idle.Load())
	}
	t.Logf("%d histories of %d operations; the checker took up to %v for one", histories, operations, longest)
	told(t, reached)
	if operations >= 40_000 && !t.Failed() {
		missed(t, reached)
	}
}
