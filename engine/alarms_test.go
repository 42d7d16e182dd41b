package engine

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// check fails t if s violates its invariants.
func (s *alarms) check(t interface{ Fatalf(string, ...any) }) {
	if len(s.last) != len(s.chunks) {
		t.Fatalf("%d chunks have %d ends", len(s.chunks), len(s.last))
	}
	n := 0
	var before alarm
	for i, c := range s.chunks {
		if len(c) == 0 || len(c) > chunkSize || c[len(c)-1] != s.last[i] {
			t.Fatalf("chunk %d of %d alarms ends with %v", i, len(c), s.last[i])
		}
		for j, a := range c {
			if n+j > 0 && before.compare(a) > 0 {
				t.Fatalf("%v comes after %v", a, before)
			}
			before = a
		}
		n += len(c)
	}
	if n != s.n {
		t.Fatalf("n is %d, but there are %d alarms", s.n, n)
	}
}

func TestAlarmsAreASortedSlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s alarms
		var model []alarm
		instant := rapid.Map(rapid.OneOf(rapid.Int64Range(0, 20), rapid.Int64Range(-5, 5000)), func(n int64) Instant { return Instant(n) })
		seq := rapid.Map(rapid.Int64Range(1, 4), func(n int64) Seq { return Seq(n) })
		add := func(a alarm) {
			s.add(a.at, a.seq)
			i, _ := slices.BinarySearchFunc(model, a, alarm.compare)
			model = slices.Insert(model, i, a)
		}
		remove := func(t *rapid.T, a alarm) {
			i, ok := slices.BinarySearchFunc(model, a, alarm.compare)
			if s.remove(a.at, a.seq) != ok {
				t.Fatalf("remove %v is not %t", a, ok)
			}
			if ok {
				model = slices.Delete(model, i, i+1)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				add(alarm{instant.Draw(t, "at"), seq.Draw(t, "seq")})
			},
			"add many": func(t *rapid.T) {
				at, step := instant.Draw(t, "at"), Instant(rapid.IntRange(-2, 2).Draw(t, "step"))
				for range rapid.SampledFrom([]int{1, 127, 128, 255, 256, 257, 513}).Draw(t, "n") {
					add(alarm{at, 1})
					at += step
				}
			},
			"remove": func(t *rapid.T) {
				a := alarm{instant.Draw(t, "at"), seq.Draw(t, "seq")}
				if len(model) > 0 && rapid.Bool().Draw(t, "known") {
					a = rapid.SampledFrom(model).Draw(t, "alarm")
				}
				remove(t, a)
			},
			"remove many": func(t *rapid.T) {
				if len(model) == 0 {
					t.Skip("nothing there")
				}
				from := rapid.IntRange(0, len(model)-1).Draw(t, "from")
				to := min(len(model), from+rapid.SampledFrom([]int{1, 64, 192, 255, 256, 257, 700}).Draw(t, "n"))
				every := rapid.IntRange(1, 3).Draw(t, "every")
				gone := slices.Clone(model[from:to])
				for i := 0; i < len(gone); i += every {
					remove(t, gone[i])
				}
			},
			"countBefore": func(t *rapid.T) {
				at := instant.Draw(t, "at")
				i := slices.IndexFunc(model, func(a alarm) bool { return a.at >= at })
				if i < 0 {
					i = len(model)
				}
				if got := s.countBefore(at); got != i {
					t.Fatalf("%d are before %d, want %d", got, at, i)
				}
			},
			"": func(t *rapid.T) {
				s.check(t)
				first, ok := s.first()
				if ok != (len(model) > 0) || ok && first != model[0] {
					t.Fatalf("first is %v, %t", first, ok)
				}
				if s.len() != len(model) {
					t.Fatalf("len is %d, want %d", s.len(), len(model))
				}
			},
		})
	})
}

func TestAlarmsFillChunksAndGiveThemBack(t *testing.T) {
	var s alarms
	for i := range Instant(100 * chunkSize) {
		s.add(i, 1)
	}
	if len(s.chunks) != 100 {
		t.Errorf("alarms added in order take %d chunks, want 100", len(s.chunks))
	}
	for i := range Instant(100 * chunkSize) {
		if i%32 != 0 {
			s.remove(i, 1)
		}
	}
	s.check(t)
	if len(s.chunks) > 2*100*chunkSize/32/chunkShort {
		t.Errorf("%d alarms take %d chunks", s.len(), len(s.chunks))
	}
	for a, ok := s.first(); ok; a, ok = s.first() {
		s.remove(a.at, a.seq)
	}
	if s.len() != 0 || cap(s.chunks) > 4 || cap(s.last) > 4 {
		t.Errorf("after draining, there is room for %d chunks", cap(s.chunks))
	}
	if diff := cmp.Diff(0, s.countBefore(1<<60)); diff != "" {
		t.Error(diff)
	}
}

func BenchmarkAlarmsAtAMillion(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	const horizon = 14 * 24 * 3600 * 1000
	var s alarms
	all := make([]alarm, million)
	before := heapInUse()
	for i := range all {
		all[i] = alarm{Instant(r.Int64N(horizon)), Seq(i)}
		s.add(all[i].at, all[i].seq)
	}
	memory := float64(heapInUse()-before) / million
	b.Run("move", func(b *testing.B) {
		for b.Loop() {
			a := &all[r.IntN(million)]
			s.remove(a.at, a.seq)
			a.at = Instant(r.Int64N(horizon))
			s.add(a.at, a.seq)
		}
		b.ReportMetric(memory, "B/alarm")
	})
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			s.first()
		}
	})
	b.Run("countBefore", func(b *testing.B) {
		for b.Loop() {
			s.countBefore(Instant(r.Int64N(horizon)))
		}
	})
	b.Run("queue, remove first and add last", func(b *testing.B) {
		var s alarms
		for i := range Instant(million) {
			s.add(i, 1)
		}
		at := Instant(million)
		for b.Loop() {
			a, _ := s.first()
			s.remove(a.at, a.seq)
			at++
			s.add(at, 1)
		}
	})
	b.Run("fill at random", func(b *testing.B) {
		for b.Loop() {
			var s alarms
			for _, a := range all {
				s.add(a.at, a.seq)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/million, "ns/alarm")
	})
}
