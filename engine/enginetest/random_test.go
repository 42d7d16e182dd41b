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
)

func errIs(err, target error) bool { return errors.Is(err, target) }

// setting is a flag that can come from the environment too.
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

// run takes a walk and tells how it failed.
func run(steps []step, sweeping bool, reached map[pair]int) (x *walk, fault string) {
	x = newWalk(sweeping, reached)
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

// shape is a fault without what changes as steps are left out.
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

// shorten leaves out steps as long as the walk still fails in the same way.
func shorten(steps []step, sweeping bool, fault string) []step {
	fails := func(s []step) bool {
		_, f := run(s, sweeping, map[pair]int{})
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

// TestEngineIsTheModel takes the engine and the model through the same random
// steps, with and without a sweeper, and demands the same answers and the same
// state after every one of them.
func TestEngineIsTheModel(t *testing.T) {
	seed, walks := *seedFlag, *walksFlag
	if seed == 0 {
		seed = time.Now().UnixNano()
	}
	if walks == 0 {
		walks = 12
	}
	reached := map[pair]int{}
	start, taken := time.Now(), 0
	// What must be reached is reached at some walk or other: more are taken as
	// long as something is missing.
	for i := int64(0); i < walks || i < 16*walks && len(missing(reached)) > 0; i++ {
		for _, sweeping := range []bool{true, false} {
			s := uint64(seed + i)
			steps := draw(s)
			taken += len(steps)
			if _, fault := run(steps, sweeping, reached); fault != "" {
				short := shorten(steps, sweeping, fault)
				x, why := run(short, sweeping, map[pair]int{})
				t.Fatalf("sweeping %v, seed %d (-walk.seed=%d -walk.count=1): %s\nshortened to %d steps:\n%s\n%s", sweeping, s, s, fault, len(short), strings.Join(x.trace, "\n"), why)
			}
		}
	}
	t.Logf("seed %d: %d steps, %.0f a second", seed, taken, float64(taken)/time.Since(start).Seconds())
	report(t, reached)
}

// missing is what should have met and did not.
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

// report prints what met what, and fails for what should have met and did not.
func report(t *testing.T, reached map[pair]int) {
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
			t.Errorf("%s × %s was reached, and the table does not know it", p.operation, p.state)
		}
		if why := inapplicable(p.operation, p.state); why != "" {
			t.Errorf("%s × %s was reached, and should not be possible: %s", p.operation, p.state, why)
		}
	}
	if pairs := missing(reached); len(pairs) > 0 && *walksFlag != 1 {
		t.Errorf("never reached:\n%s", strings.Join(pairs, "\n"))
	}
}
