package enginetest

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"mayfly/engine/longtest"
)

func errIs(err, target error) bool { return errors.Is(err, target) }

// setting defines a flag that an environment variable can set too.
func setting(name, env, usage string) *int64 {
	def, err := strconv.ParseInt(os.Getenv(env), 10, 64)
	if err != nil {
		def = 0
	}
	return flag.Int64(name, def, usage+" (or "+env+")")
}

var (
	seedFlag  = setting("walk.seed", "MAYFLY_WALK_SEED", "seed of the first random walk; zero: drawn")
	walksFlag = setting("walk.count", "MAYFLY_WALKS", "how many random walks to take in each mode; zero: a few seconds' worth")
)

const stepsInWalk = 1500

func draw(seed uint64) []step {
	r := rand.New(rand.NewPCG(seed, 0))
	var names []string
	for name := range operations() {
		for range often(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	steps := make([]step, stepsInWalk)
	for i := range steps {
		steps[i] = step{names[r.IntN(len(names))], r.Uint64()}
	}
	return steps
}

// A mode is the configuration of a walk: whether it has a sweeper, and whether entities are
// charged with the memory that their messages take. In the latter case no quota is reached.
type mode struct{ sweeping, charged bool }

// run runs a walk and returns why it failed, or "" if it did not.
func run(steps []step, is mode, reached map[pair]int) (x *walk, fault string) {
	x = newWalk(is, reached)
	defer func() {
		switch p := recover().(type) {
		case nil:
		case failure:
			fault = p.text
		default:
			fault = fmt.Sprintf("panic: %v", p)
			fault += "\n" + stack()
		}
	}()
	for _, s := range steps {
		x.take(s)
	}
	x.finish()
	return x, ""
}

// shape returns a fault without the parts that vary when steps are omitted.
func shape(fault string) string {
	fault, _, _ = strings.Cut(fault, "\n")
	fault = fault[strings.LastIndex(fault, ": ")+1:]
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return -1
		}
		return r
	}, fault)
}

// shorten omits steps as long as the walk still fails in the same way.
func shorten(steps []step, is mode, fault string) []step {
	fails := func(s []step) bool {
		_, f := run(s, is, map[pair]int{})
		return f != "" && shape(f) == shape(fault)
	}
	until := time.Now().Add(20 * time.Second)
	for size := len(steps) / 2; size > 0; size /= 2 {
		for at := 0; at+size <= len(steps) && time.Now().Before(until); {
			if less := slices.Delete(slices.Clone(steps), at, at+size); fails(less) {
				steps = less
			} else {
				at += size
			}
		}
	}
	return steps
}

// TestEngineIsTheModel runs the same random steps on the engine and the model, with and
// without a sweeper, and requires the same answers and the same state after every step.
func TestEngineIsTheModel(t *testing.T) {
	seed, walks := *seedFlag, *walksFlag
	if seed == 0 {
		seed = time.Now().UnixNano()
	}
	most := 16 * walks // enough to reach everything
	if walks == 0 {
		walks, most = 2, 2
		if longtest.Enabled(t) {
			walks, most = 12, 192
		}
	}
	reached := map[pair]int{}
	start, taken := time.Now(), 0
	// A pair can be reached by any walk, so more walks are run as long as a pair is missing.
	for i := int64(0); i < walks || i < most && len(missing(reached)) > 0; i++ {
		for _, is := range []mode{{sweeping: true}, {}, {sweeping: i%2 == 0, charged: true}} {
			if is.charged && i%3 != 0 {
				continue
			}
			s := uint64(seed + i)
			steps := draw(s)
			taken += len(steps)
			if _, fault := run(steps, is, reached); fault != "" {
				short := shorten(steps, is, fault)
				x, why := run(short, is, map[pair]int{})
				t.Fatalf("%+v, seed %d (-walk.seed=%d -walk.count=1): %s\nshortened to %d steps:\n%s\n%s", is, s, s, fault, len(short), strings.Join(x.trace, "\n"), why)
			}
		}
	}
	t.Logf("seed %d: %d steps, %.0f a second", seed, taken, float64(taken)/time.Since(start).Seconds())
	report(t, reached, most > 2)
}

// missing returns the pairs that must be reached and were not.
func missing(reached map[pair]int) (pairs []string) {
	for _, o := range everyOperation() {
		for _, s := range everyState() {
			if reached[pair{o, s}] == 0 && inapplicable(o, s) == "" {
				pairs = append(pairs, o+" × "+s)
			}
		}
	}
	for _, f := range everyFate() {
		if reached[pair{"transaction", f}] == 0 {
			pairs = append(pairs, "transaction × "+f)
		}
	}
	if reached[sparedLock] == 0 {
		pairs = append(pairs, sparedLock.operation+" × "+sparedLock.state)
	}
	return pairs
}

// report logs which operation met which state. It fails for pairs that must not be reached but
// were and, if all is set, for those that must be reached but were not.
func report(t *testing.T, reached map[pair]int, all bool) {
	t.Helper()
	var b strings.Builder
	for i, s := range everyState() {
		fmt.Fprintf(&b, "%2d = %s\n", i+1, s)
	}
	fmt.Fprintf(&b, "%-20s", "")
	for i := range everyState() {
		fmt.Fprintf(&b, "%6d", i+1)
	}
	for _, o := range everyOperation() {
		fmt.Fprintf(&b, "\n%-20s", o)
		for _, s := range everyState() {
			switch count := reached[pair{o, s}]; {
			case count > 0:
				fmt.Fprintf(&b, "%6d", count)
			case inapplicable(o, s) != "":
				fmt.Fprintf(&b, "%6s", "·")
			default:
				fmt.Fprintf(&b, "%6s", "!")
			}
		}
	}
	t.Logf("operation × state (· cannot be, ! was not reached):\n%s", b.String())
	for _, f := range everyFate() {
		t.Logf("transactions %s: %d", f, reached[pair{"transaction", f}])
	}
	for p := range reached {
		if p == sparedLock || p.operation == "transaction" && slices.Contains(everyFate(), p.state) {
			continue
		}
		if !slices.Contains(everyState(), p.state) || !slices.Contains(everyOperation(), p.operation) {
			t.Errorf("%s × %s was reached, and is not in the table", p.operation, p.state)
		}
		if why := inapplicable(p.operation, p.state); why != "" {
			t.Errorf("%s × %s was reached, and should not be possible: %s", p.operation, p.state, why)
		}
	}
	if pairs := missing(reached); len(pairs) > 0 && all && *walksFlag != 1 {
		t.Errorf("never reached:\n%s", strings.Join(pairs, "\n"))
	}
}
