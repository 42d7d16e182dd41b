package engine

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func numbered(seq Seq) *message {
	m := &message{}
	m.Seq = seq
	return m
}

// check fails t if o violates its invariants.
func (o *order) check(t interface{ Fatalf(string, ...any) }) {
	if o.root == nil {
		if o.total != 0 || o.readyCount != 0 || o.level != 0 {
			t.Fatalf("an empty order has len %d, ready %d, level %d", o.total, o.readyCount, o.level)
		}
		return
	}
	if o.level > 0 && o.root.present == 1 {
		t.Fatalf("the root of level %d has one page under it", o.level)
	}
	total, able := o.root.check(t, o.level)
	if total != o.total || able != o.readyCount {
		t.Fatalf("len is %d and ready is %d, but there are %d messages, %d of them ready", o.total, o.readyCount, total, able)
	}
}

func (p *page) check(t interface{ Fatalf(string, ...any) }, level uint) (total, able int) {
	if p.present == 0 || p.ready&^p.present != 0 {
		t.Fatalf("a page of level %d has present %b, ready %b", level, p.present, p.ready)
	}
	n := bits.OnesCount64(p.present)
	if level == 0 {
		if len(p.msgs) != n || slices.Contains(p.msgs, nil) || cap(p.msgs) > 64 || p.pages != nil {
			t.Fatalf("a page of %d messages holds %d", n, len(p.msgs))
		}
		return n, bits.OnesCount64(p.ready)
	}
	if len(p.pages) != n || p.msgs != nil {
		t.Fatalf("a page of %d pages holds %d", n, len(p.pages))
	}
	for i := range uint(64) {
		if !p.has(i) {
			continue
		}
		below := p.pages[p.index(i)]
		if (below.ready != 0) != (p.ready>>i&1 != 0) {
			t.Fatalf("a page of level %d has ready %b, page %d under it %b", level, p.ready, i, below.ready)
		}
		more, moreAble := below.check(t, level-1)
		total, able = total+more, able+moreAble
	}
	return total, able
}

// naiveOrder is a simple model of order: a map, sorted on demand.
type naiveOrder map[Seq]bool

func (n naiveOrder) sorted() []Seq {
	var all []Seq
	for seq := range n {
		all = append(all, seq)
	}
	slices.Sort(all)
	return all
}

func seqsOf(of []*message) []Seq {
	var all []Seq
	for _, m := range of {
		all = append(all, m.Seq)
	}
	return all
}

// anySeq draws numbers that are close together, at the edges of pages of every level, or
// anywhere.
func anySeq() *rapid.Generator[Seq] {
	return rapid.OneOf(
		rapid.Map(rapid.Int64Range(0, 200), func(n int64) Seq { return Seq(n) }),
		rapid.Custom(func(t *rapid.T) Seq {
			edge := Seq(1) << (6 * rapid.IntRange(1, 10).Draw(t, "level"))
			return edge*Seq(rapid.IntRange(1, 3).Draw(t, "times")) + Seq(rapid.IntRange(-2, 2).Draw(t, "off"))
		}),
		rapid.Map(rapid.Int64Range(0, math.MaxInt64), func(n int64) Seq { return Seq(n) }),
		rapid.Just(Seq(math.MaxInt64)),
	)
}

func TestOrderIsAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var o order
		model := naiveOrder{}
		some := func(t *rapid.T) Seq {
			if all := model.sorted(); len(all) > 0 && rapid.Bool().Draw(t, "known") {
				return rapid.SampledFrom(all).Draw(t, "seq")
			}
			return anySeq().Draw(t, "seq")
		}
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				m := numbered(some(t))
				o.put(m)
				model[m.Seq] = false
				if o.at(m.Seq) != m {
					t.Fatalf("%d was not put", m.Seq)
				}
			},
			"put a run": func(t *rapid.T) {
				for seq, n := anySeq().Draw(t, "seq"), rapid.IntRange(0, 150).Draw(t, "n"); n > 0 && seq >= 0; seq, n = seq+1, n-1 {
					o.put(numbered(seq))
					model[seq] = false
				}
			},
			"drop": func(t *rapid.T) {
				seq := some(t)
				o.drop(seq)
				delete(model, seq)
			},
			"drop a run": func(t *rapid.T) {
				for seq, n := some(t), rapid.IntRange(0, 150).Draw(t, "n"); n > 0 && seq >= 0; seq, n = seq+1, n-1 {
					o.drop(seq)
					delete(model, seq)
				}
			},
			"ready": func(t *rapid.T) {
				seq, ready := some(t), rapid.Bool().Draw(t, "ready")
				o.setReady(seq, ready)
				if _, ok := model[seq]; ok {
					model[seq] = ready
				}
			},
			"from": func(t *rapid.T) {
				seq := some(t)
				var want []Seq
				for _, s := range model.sorted() {
					if s >= seq {
						want = append(want, s)
					}
				}
				if diff := cmp.Diff(want, seqsOf(slices.Collect(o.from(seq)))); diff != "" {
					t.Fatalf("from %d (-want +got):\n%s", seq, diff)
				}
			},
			"ready from": func(t *rapid.T) {
				seq := some(t)
				var want []Seq
				for _, s := range model.sorted() {
					if s >= seq && model[s] {
						want = append(want, s)
					}
				}
				if diff := cmp.Diff(want, seqsOf(slices.Collect(o.readyFrom(seq)))); diff != "" {
					t.Fatalf("ready from %d (-want +got):\n%s", seq, diff)
				}
			},
			"back": func(t *rapid.T) {
				seq := some(t)
				var want []Seq
				for _, s := range model.sorted() {
					if s <= seq {
						want = append(want, s)
					}
				}
				slices.Reverse(want)
				if diff := cmp.Diff(want, seqsOf(slices.Collect(o.backwards(seq)))); diff != "" {
					t.Fatalf("back %d (-want +got):\n%s", seq, diff)
				}
			},
			"": func(t *rapid.T) {
				o.check(t)
				first, ready := Seq(-1), 0
				for seq, is := range model {
					if is {
						if ready++; first < 0 || seq < first {
							first = seq
						}
					}
				}
				if got := o.first(); (got == nil) != (first < 0) || got != nil && got.Seq != first {
					t.Fatalf("first is %v, want number %d", got, first)
				}
				if o.len() != len(model) || o.ready() != ready {
					t.Fatalf("len %d, ready %d, want %d and %d", o.len(), o.ready(), len(model), ready)
				}
				seq := some(t)
				if _, ok := model[seq]; (o.at(seq) != nil) != ok {
					t.Fatalf("at %d: %v, want there: %t", seq, o.at(seq), ok)
				}
			},
		})
	})
}

func TestOrderKnowsNoNegativeNumbers(t *testing.T) {
	var o order
	o.put(numbered(0))
	o.drop(-1)
	o.setReady(-1, true)
	if o.at(-1) != nil || o.len() != 1 || o.ready() != 0 {
		t.Error("there is a message -1")
	}
	for m := range o.backwards(-1) {
		t.Errorf("back from -1 meets %d", m.Seq)
	}
	if got := seqsOf(slices.Collect(o.from(-100))); !slices.Equal(got, []Seq{0}) {
		t.Errorf("from -100 meets %d", got)
	}
}

// An order may change during iteration: sweeps and purges remove messages, and may add others.
func TestOrderMayChangeWhileOneWalks(t *testing.T) {
	fill := func() *order {
		var o order
		for seq := Seq(1); seq <= 1000; seq++ {
			o.put(numbered(seq))
		}
		return &o
	}
	for name, walk := range map[string]func(o *order, met func(Seq)){
		"up": func(o *order, met func(Seq)) {
			for m := range o.from(1) {
				met(m.Seq)
			}
		},
		"down": func(o *order, met func(Seq)) {
			for m := range o.backwards(math.MaxInt64) {
				met(m.Seq)
			}
		},
	} {
		o, n := fill(), 0
		walk(o, func(seq Seq) { o.drop(seq); n++ })
		if n != 1000 || o.len() != 0 {
			t.Errorf("%s: dropping each message visited %d and left %d", name, n, o.len())
		}

		// The current page becomes empty and is added again, and the root grows and shrinks.
		o, n = fill(), 0
		walk(o, func(seq Seq) {
			n++
			if seq == 320 { // the lowest number of its page
				for s := Seq(320); s < 384; s++ {
					o.drop(s)
				}
				for s := Seq(320); s < 384; s++ {
					o.put(numbered(s))
				}
				o.put(numbered(1 << 40))
				o.drop(1 << 40)
			}
		})
		if n != 1000 {
			t.Errorf("%s: renewing a page, met %d", name, n)
		}
	}
}

func TestOrderShrinks(t *testing.T) {
	var o order
	for seq := Seq(1); seq <= 64*64; seq++ {
		o.put(numbered(seq))
	}
	for seq := Seq(1); seq <= 64*64; seq++ {
		if seq%64 != 0 {
			o.drop(seq)
		}
	}
	for m := range o.from(0) {
		if p := o.leaf(m.Seq); cap(p.msgs) > 4 {
			t.Fatalf("a page of %d messages has room for %d", len(p.msgs), cap(p.msgs))
		}
	}
	for m := range o.from(0) {
		o.drop(m.Seq)
	}
	if o != (order{}) {
		t.Errorf("after draining, the order is %+v", o)
	}
}

const million = 1_000_000

func heapInUse() uint64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.HeapAlloc
}

// spreads returns, by name, a million sequence numbers in each of several distributions.
var spreads = map[string]func() []Seq{
	"dense": func() []Seq { return spread(1) },
	"sparse, shuffled": func() []Seq {
		all := spread(1009)
		rand.New(rand.NewPCG(1, 2)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		return all
	},
}

func spread(step Seq) []Seq {
	all := make([]Seq, million)
	for i := range all {
		all[i] = 1 + Seq(i)*step
	}
	return all
}

func filled(all []Seq) (*order, []*message) {
	msgs := make([]*message, len(all))
	for i, seq := range all {
		msgs[i] = numbered(seq)
	}
	var o order
	for _, m := range msgs {
		o.put(m)
		o.setReady(m.Seq, true)
	}
	return &o, msgs
}

func BenchmarkOrderAtAMillion(b *testing.B) {
	for name, numbers := range spreads {
		all := numbers()
		o, msgs := filled(all)
		r := rand.New(rand.NewPCG(3, 4))
		b.Run(name+"/first", func(b *testing.B) {
			for b.Loop() {
				o.first()
			}
		})
		b.Run(name+"/at", func(b *testing.B) {
			for b.Loop() {
				o.at(all[r.IntN(million)])
			}
		})
		b.Run(name+"/setReady twice", func(b *testing.B) {
			for b.Loop() {
				seq := all[r.IntN(million)]
				o.setReady(seq, false)
				o.setReady(seq, true)
			}
		})
		b.Run(name+"/drop and put anywhere", func(b *testing.B) {
			for b.Loop() {
				m := msgs[r.IntN(million)]
				o.drop(m.Seq)
				o.put(m)
				o.setReady(m.Seq, true)
			}
		})
		b.Run(name+"/from, each", func(b *testing.B) {
			for b.Loop() {
				n := 0
				for range o.from(0) {
					n++
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/million, "ns/message")
		})
		b.Run(name+"/fill", func(b *testing.B) {
			var bytes uint64
			for b.Loop() {
				b.StopTimer()
				before := heapInUse()
				b.StartTimer()
				var o order
				for _, m := range msgs {
					o.put(m)
					o.setReady(m.Seq, true)
				}
				b.StopTimer()
				bytes = heapInUse() - before
				runtime.KeepAlive(&o)
				b.StartTimer()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/million, "ns/message")
			b.ReportMetric(float64(bytes)/million, "B/message")
		})
		b.Run(name+"/drain by first", func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				o, _ := filled(all)
				b.StartTimer()
				for m := o.first(); m != nil; m = o.first() {
					o.drop(m.Seq)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/million, "ns/message")
		})
	}
	b.Run("queue, drop first and put last", func(b *testing.B) {
		o, msgs := filled(spread(1))
		next := Seq(million)
		for b.Loop() {
			m := o.first()
			o.drop(m.Seq)
			next++
			m.Seq = next
			o.put(m)
			o.setReady(next, true)
		}
		runtime.KeepAlive(msgs)
	})
}
