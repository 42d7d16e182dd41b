package broker_test

import (
	"flag"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"mayfly/engine/longtest"
)

// These flags repeat the histories of one seed, and run more of them than usual:
//
//	go test ./engine/broker -run 'TestLinear$' -v -linear.seed 4711
//	go test ./engine/broker -run 'TestLinear$' -v -timeout 2h -linear.ops 1000000
//
// A seed determines what clients choose and which commits fail. The scheduler chooses the
// order, so a history may have to be repeated several times before it goes wrong again.
var (
	linearSeed = flag.Uint64("linear.seed", 0, "seed of the first history, the next has one more; zero: drawn")
	linearOps  = flag.Int("linear.ops", 0, "how many operations the histories have together; zero: a few seconds' worth")
)

// judging is the time limit of the checker for one history. It usually takes some milliseconds. The
// test fails for a history that the checker cannot judge in time.
const judging = 2 * time.Minute

// TestLinear checks that concurrent operations on one broker, on a store whose commits
// fail now and then, are linearizable: as if done one after another, each at a moment
// between its call and its answer (semantics §3, §5, §6, §8, §12).
//
// Further allowed results, and the rule of each:
//
//   - An operation that was refused did not happen. If the answer is that the outcome is
//     unknown, all of the operation may have been done or nothing, until a client sees
//     which: only acknowledged messages exist for certain (MSG-8). It must not be done
//     later than the answer, because its caller is asked to check before a retry.
//   - When everything is read from the store again, a lock that a later commit made
//     durable remains, and its token is valid. A message locked after the last commit is
//     unlocked, and has not failed. For locks in between, both are possible (DEC-12).
//   - Then no receiver holds its session any more. A session with a locked message is
//     held by an unknown holder (DEC-12).
//   - A receive of several messages counts as several receives of one message each,
//     because receivers are served in turn (SEQ-9). Each receiver still gets its messages
//     in order (SEQ-7).
//   - The next session may be any session that is free and has a ready message, because
//     the exact choice is not documented (SES-2).
//
// No lock expires here: locks last for five minutes, and no client waits. That a message
// received and deleted may be lost on its way (LOCK-2) is not tested: its body can always be
// read.
func TestLinear(t *testing.T) {
	seed, ops := *linearSeed, *linearOps
	switch {
	case ops > 0:
	case seed != 0:
		ops = 1
	case testing.Short(), !longtest.Enabled(t):
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
		all := h.porcupineOperations()
		if len(all) > mostOperations {
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
			reached[o.Input.(*operation).reach()]++
		}
		reached[reach{"", nothing}] += int(h.idle.Load())
	}
	t.Logf("%d histories of %d operations; the checker took up to %v for one", histories, operations, longest)
	reported(t, reached)
	if operations >= 40_000 && !t.Failed() {
		missed(t, reached)
	}
}
