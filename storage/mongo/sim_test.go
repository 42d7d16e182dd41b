package mongo

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine"
	"mayfly/engine/longtest"
)

// To repeat one schedule, logged step by step:
//
//	go test ./storage/mongo -run 'TestProtocol$' -v -sim.seed 4711
//
// -sim.schedules sets how many there are.
var (
	simSeed      = flag.Uint64("sim.seed", 0, "the only schedule of the simulation to run, step by step; zero: many")
	simSchedules = flag.Int("sim.schedules", 0, "how many schedules the simulation runs; zero: 50, with MAYFLY_LONG=1 2,000, then in CI 10,000, fewer with -race or -short")
)

// A plan contains what all schedules of a test have in common.
type plan struct {
	weaken    weaken
	unguarded bool // the database does not compare versions
	unburied  bool // the database deletes documents that should get a tombstone
	clocks    bool // clocks run up to ten times as fast or as slow as real time
	enough    int  // run no more schedules after so many have failed; zero means that all run
}

// A world is one database and the processes that use it for a limited time.
type world struct {
	plan
	seed    uint64
	rnd     *rand.Rand // for setting the world up
	db      *toy
	judge   *judge
	lease   time.Duration
	weather weather
	began   time.Time
	lasts   time.Duration
	kept    int                              // how many commits stay in the journal
	logf    func(format string, args ...any) // nil if not logged

	mu      sync.Mutex
	owners  []*broker // all owners so far
	latest  engine.Instant
	landing time.Time // when the last request under way takes effect
}

func (w *world) over() bool { return time.Since(w.began) >= w.lasts }

// rest sleeps. It must be called in a synctest bubble.
func rest(d time.Duration) { time.Sleep(d) }

// now returns the instant of the next batch, which is later than all before.
func (w *world) now() engine.Instant {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.latest = max(w.latest+1, engine.At(time.Now()))
	return w.latest
}

// succeed checks that no former owner that runs believes that it still owns the namespace.
// Frozen ones are checked when they run again.
func (w *world) succeed(next *broker) {
	w.mu.Lock()
	former := slices.Clone(w.owners)
	w.owners = append(w.owners, next)
	w.mu.Unlock()
	for _, b := range former {
		if b.epoch < next.epoch && b.client.runs() {
			b.act()
		}
	}
}

func (w *world) tell(format string, args ...any) {
	if w.logf != nil {
		w.logf("%12v "+format, append([]any{time.Since(w.began)}, args...)...)
	}
}

func (w *world) logger(name string) *slog.Logger {
	if w.logf == nil {
		return nil
	}
	return slog.New(slog.NewTextHandler(simulation{w, name}, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

type simulation struct {
	*world
	name string
}

func (t simulation) Write(b []byte) (int, error) {
	t.tell("%s: %s", t.name, b[:len(b)-1])
	return len(b), nil
}

func (w *world) connect(name string, weather weather) *client {
	return &client{
		name: name, db: w.db, weather: weather, seed: w.seed ^ hash(name), logf: w.logf, began: w.began,
		boot: time.Now(), rate: 1, dead: make(chan struct{}), nth: map[string]uint64{},
		sent: func(pending time.Duration) {
			w.mu.Lock()
			defer w.mu.Unlock()
			if at := time.Now().Add(pending); at.After(w.landing) {
				w.landing = at
			}
		},
	}
}

// clockRate returns how fast a process's clock runs. A lease tolerates a deviation of a fifth,
// and the simulation uses half of that.
func (w *world) clockRate(r *rand.Rand) float64 {
	if w.clocks {
		return []float64{0.1, 0.5, 1, 2, 10}[r.IntN(5)]
	}
	return 0.9 + 0.2*r.Float64()
}

// forecast draws the weather of a world.
func forecast(r *rand.Rand, lease time.Duration) weather {
	some := func(most int) int {
		if r.IntN(3) == 0 {
			return 0
		}
		return r.IntN(most)
	}
	return weather{
		slow: some(1500), most: 3 * lease,
		vanish: some(400), mute: some(400), late: some(600), twice: some(3000),
		lateness:   min(time.Duration(1+r.IntN(50))*lease, 10*time.Minute),
		unwritable: some(200), refused: some(30), broken: some(300),
	}
}

// run runs one schedule and returns the first violation.
func run(t *testing.T, seed uint64, p plan, logf func(string, ...any)) (sum tally, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the world ended: %v", r)
		}
	}()
	synctest.Test(t, func(*testing.T) {
		r := rand.New(rand.NewPCG(seed, 1))
		w := &world{
			plan: p, seed: seed, rnd: r, db: &toy{unguarded: p.unguarded, unburied: p.unburied}, logf: logf, began: time.Now(),
			judge: &judge{settled: map[engine.Key]uint64{}, clocks: p.clocks},
			lease: []time.Duration{300 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second}[r.IntN(4)],
		}
		w.lasts = max(10*time.Second, time.Duration(8+r.IntN(12))*w.lease)
		w.weather = forecast(r, w.lease)
		w.kept = 1 + r.IntN(10)
		err = w.play()
		sum = w.judge.tally
	})
	return sum, err
}

func (w *world) play() error {
	w.tell("lease %v, for %v, %+v", w.lease, w.lasts, w.weather)
	var wg sync.WaitGroup
	for i := range 2 + w.rnd.IntN(2) {
		name := string(rune('A' + i))
		p := &process{world: w, name: name, Rand: rand.New(rand.NewPCG(w.seed, 2+uint64(i)))}
		wg.Go(p.live)
	}
	if w.rnd.IntN(2) == 0 {
		l := &looker{world: w, Rand: rand.New(rand.NewPCG(w.seed, 99))}
		wg.Go(l.live)
	}
	wg.Wait()
	if err := w.judge.verdict(); err != nil {
		return err
	}
	w.settle()
	for round := range 2 {
		if err := w.inspect(round); err != nil {
			return fmt.Errorf("inspection %d: %w", round, err)
		}
		if round == 0 && w.rnd.IntN(2) == 0 {
			time.Sleep(2 * time.Hour)
			w.db.purge(time.Now())
		}
	}
	w.judge.compare()
	return w.judge.verdict()
}

// settle returns when no request is pending.
func (w *world) settle() {
	time.Sleep(10*w.lease + mostTrouble*w.lease) // no process is frozen or cut off any more
	for {
		w.mu.Lock()
		left := time.Until(w.landing)
		w.mu.Unlock()
		if left < 0 {
			break
		}
		time.Sleep(left + 1)
	}
	w.tell("everything has settled")
}

// inspect opens the namespace in good weather, reads it, waits for background work, and reads
// it again.
func (w *world) inspect(round int) error {
	ctx := context.Background()
	name := fmt.Sprint("inspector ", round)
	c := w.connect(name, weather{})
	s, err := openOn(ctx, c, nil, Options{
		Namespace: "sim", Lease: DefaultLease, weaken: w.weaken, keptEntries: w.kept, clock: c.clock, Logger: w.logger(name),
		Standby: func(engine.Owner) {},
	})
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	got, _, clock, err := read(ctx, s)
	if err != nil {
		return err
	}
	w.judge.loaded(s.Epoch(), got, clock)
	if err := w.judge.verdict(); err != nil {
		return err
	}
	time.Sleep(2 * readerSilence) // until dead readers are forgotten
	again, estate, _, err := read(ctx, s)
	if err != nil {
		return err
	}
	if d := differ(got, again); d != "" {
		return fmt.Errorf("a second load differs:\n\t%s", d)
	}
	past := truth{}
	for e, err := range s.QueryEvents(ctx, engine.HistoryQuery{Audit: true}) {
		if err != nil {
			return err
		}
		past[eventName(e)] = ""
	}
	if d := differ(w.judge.past(), past); d != "" {
		return fmt.Errorf("the history of what operators did:\n\t%s", d)
	}
	for k, there := range estate.bodies {
		if there {
			if err := checkBody(ctx, s, k); err != nil {
				return err
			}
		}
	}
	if err := s.Close(); err != nil {
		return err
	}
	if err := w.checkJournal(s); err != nil || round == 0 {
		return err
	}
	if err := w.checkMemory(got); err != nil {
		return err
	}
	// Nothing was committed since the last inspection, after which no request was pending.
	for _, d := range w.db.some(journal, s.names.all(), 0) {
		if !isFence(d.doc) {
			return fmt.Errorf("%s is still in the journal", d.id)
		}
	}
	return nil
}

// checkMemory checks that there are no documents of sessions and MessageIds that a load does
// not yield.
func (w *world) checkMemory(got truth) error {
	there := map[string]int{}
	for name := range got {
		what, _, _ := strings.Cut(name, " ")
		there[what]++
	}
	n := 0
	for _, d := range w.db.some(sessions, within("sim"), 0) {
		if gone, _ := d.doc.Lookup("gone").BooleanOK(); !gone {
			n++
		}
	}
	if n != there["session"] {
		return fmt.Errorf("there are documents of %d sessions, but %d sessions are loaded", n, there["session"])
	}
	if n := len(w.db.some(seen, within("sim"), 0)); n != there["seen"] {
		return fmt.Errorf("there are %d documents of MessageIds, but %d are loaded", n, there["seen"])
	}
	for _, d := range w.db.some(seenDropsColl, within("sim"), 0) {
		if h, err := parseNumber(d.id, 0); err != nil || got[entityName(engine.SubqueueID(h))] == "" {
			return fmt.Errorf("%s exists, but its subqueue does not: %w", d.id, err)
		}
	}
	return nil
}

// checkJournal checks the journal of a namespace that was closed properly: all commits are
// applied, and each former epoch ends with a fence. Documents before the mark do not count,
// because late requests may have written them again.
func (w *world) checkJournal(s *Store) error {
	if w.weaken.fence {
		return nil
	}
	mark, err := s.readApplied(context.Background())
	if err != nil {
		return err
	}
	after := s.names.all()
	after.from = s.names.entry(mark.V + 1)
	fences := map[uint64]uint64{}
	for _, d := range w.db.some(journal, after, 0) {
		epoch, err := parseNumber(d.id, 0)
		if err != nil {
			return err
		}
		n, err := parseNumber(d.id, 1)
		switch {
		case err != nil:
			return err
		case !isFence(d.doc):
			return fmt.Errorf("epoch %d: commit %d was not applied at the end", epoch, n)
		case fences[epoch] != 0:
			return fmt.Errorf("epoch %d has two fences, at %d and at %d", epoch, fences[epoch], n)
		}
		fences[epoch] = n
	}
	for epoch := max(1, mark.V.epoch()); epoch < s.epoch; epoch++ {
		last := uint64(0)
		if epoch == mark.V.epoch() {
			last = mark.V.number()
		}
		if fences[epoch] != last+1 {
			return fmt.Errorf("epoch %d: its last commit is %d and its fence is at %d", epoch, last, fences[epoch])
		}
	}
	return nil
}

// schedules returns how many schedules to run, for a test that runs few with MAYFLY_LONG=1.
func schedules(t *testing.T, few int) int {
	t.Helper()
	switch ci := os.Getenv("CI") != ""; {
	case *simSchedules != 0:
		return *simSchedules
	case !longtest.Enabled(t):
		return few / 40
	case raced && ci:
		return few / 2
	case raced, testing.Short():
		return few / 10
	case ci:
		return few * 5
	default:
		return few
	}
}

// wrong runs n schedules of a plan and counts those that failed. It reports the first few of
// them.
func wrong(t *testing.T, n int, p plan, report func(seed uint64, err error)) int {
	var next atomic.Uint64
	var mu sync.Mutex // guards the following variables
	var sum tally
	played, bad := 0, 0
	t.Run("all", func(t *testing.T) {
		for i := range runtime.GOMAXPROCS(0) {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				for seed := next.Add(1); seed <= uint64(n); seed = next.Add(1) {
					one, err := run(t, seed, p, nil)
					mu.Lock()
					sum.add(one)
					played++
					if err != nil {
						if bad++; bad <= 5 {
							report(seed, err)
						}
					}
					over := bad == p.enough && bad > 0
					mu.Unlock()
					if over {
						next.Store(uint64(n))
					}
				}
			})
		}
	})
	t.Logf("%d of %d schedules failed; %v", bad, played, sum)
	return bad
}

// TestProtocol checks that, whatever happens, exactly the acknowledged commits survive, and no
// two owners succeed with the same commit.
func TestProtocol(t *testing.T) {
	protocol(t, plan{}, 2000)
}

// If clocks are very wrong, TestProtocol's requirements still hold, except that two processes may
// believe for a while that they own the namespace.
func TestProtocolWithWrongClocks(t *testing.T) {
	protocol(t, plan{clocks: true}, 300)
}

func protocol(t *testing.T, p plan, few int) {
	if *simSeed != 0 {
		if _, err := run(t, *simSeed, p, t.Logf); err != nil {
			t.Errorf("seed %d: %v", *simSeed, err)
		}
		return
	}
	wrong(t, schedules(t, few), p, func(seed uint64, err error) { t.Errorf("-sim.seed %d: %v", seed, err) })
}

// Without any one of its safeguards the protocol fails, and the simulation detects that.
func TestProtections(t *testing.T) {
	if *simSeed != 0 {
		t.Skip("only one schedule was asked for")
	}
	for _, tc := range []struct {
		without string
		plan    plan
	}{
		{"fence", plan{weaken: weaken{fence: true}}},
		{"self-fence", plan{weaken: weaken{selfFence: true}}},
		{"version guard", plan{unguarded: true}},
		{"tombstone", plan{unburied: true}},
		{"word of what is forgotten", plan{weaken: weaken{forgotten: true}}},
	} {
		t.Run(tc.without, func(t *testing.T) {
			p := tc.plan
			n := cmp.Or(*simSchedules, 200)
			if raced || testing.Short() || !longtest.Enabled(t) { // one failed schedule is enough
				n, p.enough = 1000, 1
			}
			if wrong(t, n, p, func(uint64, error) {}) == 0 {
				t.Error("no schedule failed without this safeguard")
			}
		})
	}
}
