package engine

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"mayfly/engine/value"
)

// TestMemoryConstantsAreSizes compares the constants of memory_account.go with the sizes of the
// types, rounded up to the allocator's size classes.
func TestMemoryConstantsAreSizes(t *testing.T) {
	for name, c := range map[string]struct {
		counted int64
		size    uintptr
	}{
		"message":      {messageMemory, reflect.TypeFor[message]().Size()},
		"content":      {contentMemory, reflect.TypeFor[content]().Size()},
		"extra":        {extraMemory, reflect.TypeFor[Extra]().Size()},
		"property":     {propertyMemory, reflect.TypeFor[value.Property]().Size()},
		"page":         {pageMemory, reflect.TypeFor[page]().Size()},
		"session":      {sessionMemory, reflect.TypeFor[session]().Size()},
		"session lock": {sessionLockMemory - 2*pointerMemory, reflect.TypeFor[sessionLock]().Size()},
		"state":        {stateMemory, reflect.TypeFor[sessionState]().Size()},
		"alarm":        {alarmMemory, reflect.TypeFor[alarm]().Size()},
		"lock":         {lockEntry, (8 + reflect.TypeFor[Lock]().Size() + 1) * 16 / 7},
		"setting":      {settingEntry - 16, (16 + reflect.TypeFor[Setting]().Size() + 1) * 16 / 7},
		"digest":       {digestEntry, (reflect.TypeFor[Digest]().Size() + 4 + 1) * 16 / 7},
		"stored":       {storedMessageMemory, (8 + reflect.TypeFor[Message]().Size() + 1) * 16 / 7},
		"stored state": {storedStateMemory, (reflect.TypeFor[SessionID]().Size() + reflect.TypeFor[SessionRecord]().Size() + 1) * 16 / 7},
	} {
		if size := int64(c.size); c.counted < size || c.counted > size+16 {
			t.Errorf("%s takes %d bytes but is counted as %d", name, size, c.counted)
		}
	}
}

// A filling creates many objects of a kind that clients can create.
type filling struct {
	n    int
	bare bool // the quota charge is not compared with the memory
	fill func(f *filler)
}

// filler is a namespace that a filling fills with f.n objects.
type filler struct {
	*testing.T
	ns   *Namespace
	keys *Keys
	now  Instant
	n    int
}

func (f *filler) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

func (f *filler) turn() {
	f.ns.Match(f.now)
	f.ns.Flush(f.now, true)
	f.ns.Seal(true)
}

func (f *filler) create(kind EntityKind, p Path, c Config) {
	f.Helper()
	_, err := f.ns.Create(f.now, kind, p, c, "")
	f.must(err)
}

func (f *filler) send(to Path, c Content) {
	f.Helper()
	s, err := Submit(c, nil, 0, f.keys.Next(), f.ns.limits)
	f.must(err)
	_, err = f.ns.Send(f.now, to, []Submission{s}, "")
	f.must(err)
}

// each sends f.n messages with the contents that `of` returns, and ends a turn after every hundred.
func (f *filler) each(to Path, of func(i int) Content) {
	f.Helper()
	for i := range f.n {
		f.send(to, of(i))
		if i%100 == 99 {
			f.turn()
		}
	}
	f.turn()
}

// receive locks all messages at p, up to f.n hundreds, and calls each with every delivery.
func (f *filler) receive(p Path, each func(Delivery)) {
	f.Helper()
	f.must(f.ns.Attach(f.now, Link{ID: 1, Path: p, Mode: PeekLock, Client: "client"}))
	for range f.n {
		f.must(f.ns.Credit(f.now, 1, 100))
		f.ns.Match(f.now)
		fx := f.ns.Flush(f.now, true)
		f.ns.Seal(true)
		for _, d := range fx.Deliveries {
			each(d)
			f.ns.ReleaseBody(d.Pin)
		}
		if len(fx.Deliveries) == 0 {
			break
		}
	}
	f.turn()
}

func fillings() map[string]filling {
	queue := func(c Config, of func(i int) Content) func(*filler) {
		return func(f *filler) {
			f.create(Queue, "q", c)
			f.each("q", of)
		}
	}
	empty := func(int) Content { return Content{} }
	id := func(i int) string { return fmt.Sprintf("01234567-89ab-cdef-0123-%012d", i) }
	return map[string]filling{
		"empty messages": {n: 10_000, fill: queue(Config{}, empty)},
		"with an id":     {n: 10_000, fill: queue(Config{}, func(i int) Content { return Content{MessageID: id(i)} })},
		"with properties": {n: 5_000, fill: queue(Config{}, func(i int) Content {
			return Content{MessageID: id(i), Subject: strings.Repeat("s", 900), Properties: value.Properties{{Name: "one", Value: value.OfString(strings.Repeat("x", i%500))}}}
		})},
		"that expire":    {n: 10_000, fill: queue(Config{}, func(i int) Content { return Content{MessageID: id(i), TTL: time.Duration(i+1) * time.Second} })},
		"scheduled":      {n: 10_000, fill: queue(Config{}, func(i int) Content { return Content{ScheduledFor: 1e15 + Instant(i*7919%100_003)} })},
		"duplicates":     {n: 10_000, fill: queue(Config{RequiresDuplicateDetection: true, DuplicateDetectionHistoryTimeWindow: 1e15}, func(i int) Content { return Content{MessageID: id(i)} })},
		"a session each": {n: 10_000, fill: queue(Config{RequiresSession: true}, func(i int) Content { return Content{SessionID: id(i)} })},
		"few sessions":   {n: 10_000, fill: queue(Config{RequiresSession: true}, func(i int) Content { return Content{SessionID: id(i % 100)} })},
		"locked": {n: 10_000, fill: func(f *filler) {
			queue(Config{}, empty)(f)
			f.receive("q", func(Delivery) {})
		}},
		"deferred": {n: 10_000, fill: func(f *filler) {
			queue(Config{}, empty)(f)
			f.receive("q", func(d Delivery) { f.must(f.ns.Settle(f.now, Settlement{Token: d.Message.Token(), Outcome: Defer})) })
		}},
		"dead letters": {n: 10_000, fill: func(f *filler) {
			queue(Config{}, empty)(f)
			f.receive("q", func(d Delivery) {
				f.must(f.ns.Settle(f.now, Settlement{Token: d.Message.Token(), Outcome: DeadLetter, Reason: id(int(d.Message.Seq)), Description: strings.Repeat("why", 50) + id(int(d.Message.Seq)), Modify: value.Properties{{Name: id(int(d.Message.Seq)), Value: value.OfString(id(3))}}}))
			})
		}},
		"every 64th": {bare: true, n: 10_000, fill: func(f *filler) {
			queue(Config{}, empty)(f)
			f.receive("q", func(d Delivery) {
				if d.Message.Seq%64 == 0 {
					f.must(f.ns.Settle(f.now, Settlement{Token: d.Message.Token(), Outcome: Defer}))
				} else {
					f.must(f.ns.Settle(f.now, Settlement{Token: d.Message.Token(), Outcome: Complete}))
				}
			})
		}},
		"a fan-out": {n: 1_000, fill: func(f *filler) {
			f.create(Topic, "t", Config{})
			for i := range 30 {
				f.create(Subscription, SubscriptionPath("t", fmt.Sprint("s", i)), Config{})
			}
			f.each("t", func(i int) Content { return Content{MessageID: id(i), Subject: strings.Repeat("s", 500)} })
		}},
		"queues": {bare: true, n: 1_000, fill: func(f *filler) {
			for i := range f.n {
				f.create(Queue, Path(id(i)), Config{UserMetadata: strings.Repeat("m", i%1000)})
			}
			f.turn()
		}},
		"correlation rules": {bare: true, n: 4_000, fill: func(f *filler) {
			f.create(Topic, "t", Config{})
			f.create(Subscription, "t/Subscriptions/s", Config{})
			f.turn()
			for i := range f.n / 200 {
				p := SubscriptionPath("t", fmt.Sprint("s", i))
				rules := make([]Rule, 200)
				for k := range rules {
					rules[k] = Rule{Name: fmt.Sprint("rule", k), Filter: Filter{Kind: CorrelationFilter, Text: fmt.Sprintf(`{"Label":"%s","Properties":{"a":"%d"}}`, id(i), k)}}
				}
				_, err := f.ns.CreateWithRules(f.now, Subscription, p, Config{}, rules, "")
				f.must(err)
				f.turn()
			}
		}},
		"SQL rules": {bare: true, n: 2_000, fill: func(f *filler) {
			f.create(Topic, "t", Config{})
			for i := range f.n / 200 {
				p := SubscriptionPath("t", fmt.Sprint("s", i))
				rules := make([]Rule, 200)
				for k := range rules {
					rules[k] = Rule{Name: fmt.Sprint("rule", k), Filter: Filter{Kind: SQLFilter, Text: fmt.Sprintf(`a = '%s' AND b > %d OR c LIKE '%%x%%' AND sys.Label IN ('a', 'b', 'c')`, id(i), k)}, Action: "SET a = 1; SET b = 'two'"}
				}
				_, err := f.ns.CreateWithRules(f.now, Subscription, p, Config{}, rules, "")
				f.must(err)
				f.turn()
			}
		}},
		"settings": {bare: true, n: 9_000, fill: func(f *filler) {
			for i := range f.n {
				_, err := f.ns.SetSetting(f.now, "view/"+id(i), strings.Repeat("v", i%500), nil)
				f.must(err)
			}
			f.turn()
		}},
		"gone": {bare: true, n: 10_000, fill: func(f *filler) {
			queue(Config{}, empty)(f)
			pg, err := f.ns.BeginPurge(f.now, "q", []Class{ClassActive})
			f.must(err)
			for pg.Removed < int64(f.n)*19/20 {
				f.must(f.ns.PurgeSlice(f.now, &pg, 100, ""))
				f.turn()
			}
		}},
	}
}

func heapNow() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// runtimeSlack is how many bytes of the heap the runtime may take during a test.
const runtimeSlack = 8 << 10

// TestAccountIsTheHeap fills a namespace with many objects of one kind. It requires that the
// account is between once and twice the growth of the heap, and that a queue is charged at
// least with the memory of its messages.
func TestAccountIsTheHeap(t *testing.T) {
	for name, c := range fillings() {
		t.Run(name, func(t *testing.T) {
			before := heapNow()
			l := DefaultLimits()
			l.EntitySize, l.SessionStates = 0, 1e9
			l.Settings, l.SettingsSize = 1e9, 1<<40
			l.Defaults.MaxSizeInMegabytes = 5120
			nonce := uint64(0)
			keys := NewKeys(1)
			f := &filler{T: t, keys: keys, now: 1_800_000_000_000, n: c.n, ns: New(Options{Limits: l, Keys: keys, Nonce: func() uint64 { nonce++; return nonce }})}
			c.fill(f)
			for range 3 { // contents become garbage some commits after their messages
				f.turn()
			}
			f.ns.changes.log = nil
			f.must(f.ns.Check())
			took, counted := heapNow()-before, f.ns.MemoryUsed()
			ratio := float64(counted) / float64(took)
			charged := int64(0)
			for _, e := range f.ns.entities {
				if e.topic == nil {
					charged += e.charged
				}
			}
			t.Logf("heap %d, counted %d: %.2f; %.0f bytes each; charged %d", took, counted, ratio, float64(took)/float64(c.n), charged)
			// The runtime and the test allocate memory meanwhile as well: a hundredth, and a
			// few objects.
			if float64(counted+runtimeSlack) < 0.99*float64(took) || ratio > 2 {
				t.Errorf("the heap has grown by %d bytes, but %d are counted, which is %.2f times as many", took, counted, ratio)
			}
			if !c.bare && charged < took {
				t.Errorf("the heap has grown by %d bytes, but only %d are charged", took, charged)
			}
			runtime.KeepAlive(f)
		})
	}
}
