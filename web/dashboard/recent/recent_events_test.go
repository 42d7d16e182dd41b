package recent

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine"
)

func TestPulse(t *testing.T) {
	p := newEventCounter(1000, 600)
	at := func(second int) engine.Instant { return engine.Instant(1_700_000_000_000 + second*1000) }
	for s := range 600 {
		for range s % 3 {
			p.add(at(s), RateReceived)
		}
	}
	p.add(at(599), RateCompleted)
	if n := p.sum(at(599), 3, RateReceived); n != 0+1+2 {
		t.Errorf("%d messages in three seconds", n)
	}
	if n := p.sum(at(599), 10_000, RateReceived); n != 600 {
		t.Errorf("%d messages in all", n)
	}
	p.add(at(600), RateReceived)
	p.add(at(0), RateReceived) // too late: its slot was reused
	if n := p.sum(at(600), 600, RateReceived); n != 601 {
		t.Errorf("%d messages in ten minutes", n)
	}
	if n := p.sum(at(5000), 600, RateReceived); n != 0 {
		t.Errorf("%d messages long ago", n)
	}
	line := p.line(at(605), 10, RateReceived)
	if len(line) != 59 || line[58] < 9 || line[58] > 11 {
		t.Errorf("the line is %v", line)
	}
}

func TestTide(t *testing.T) {
	var d depthHistory
	at := func(stretch int) engine.Instant { return engine.Instant(85_000_000+stretch) * depthInterval }
	d.add(at(0), 5)
	d.add(at(1), 3)
	d.add(at(1), -1)
	d.add(at(0), 1) // slightly late
	want := make([]float64, DepthIntervals+1)
	want[DepthIntervals-2], want[DepthIntervals-1], want[DepthIntervals] = 6, 8, 8
	if diff := cmp.Diff(want, d.line(at(2), 8)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if line := d.line(at(1000), 8); line[0] != 8 || line[DepthIntervals] != 8 {
		t.Errorf("long after, the line is %v", line)
	}
}

func TestLives(t *testing.T) {
	l := newMessageEvents(10)
	for i := range 25 {
		l.add(EventRecord{N: uint64(i), Key: engine.Key(1 + i%3)})
	}
	var got []uint64
	for _, e := range l.of(1) {
		got = append(got, e.N)
	}
	if d := cmp.Diff([]uint64{15, 18, 21, 24}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for i := range 10 {
		l.add(EventRecord{N: uint64(i), Key: 9})
	}
	if len(l.of(1)) != 0 || len(l.of(19)) != 0 || len(l.of(9)) != 10 { // 19 shares its bucket with 9
		t.Errorf("%d entries of a forgotten message, %d of a message that never existed, %d of the latest", len(l.of(1)), len(l.of(19)), len(l.of(9)))
	}
}

func TestDepartedOnesAreBounded(t *testing.T) {
	d := newRemovedMessages()
	for i := range 3 * maxRemovedMessages {
		d.add(engine.Event{Message: engine.Message{Key: engine.Key(i + 1)}, Content: engine.Packed(make([]byte, 8<<10))})
	}
	if len(d.byKey) != len(d.order) || len(d.order) > maxRemovedMessages || d.bytes > maxRemovedBytes {
		t.Errorf("%d messages of %d bytes are kept", len(d.order), d.bytes)
	}
	if _, ok := d.get(engine.Key(3 * maxRemovedMessages)); !ok {
		t.Error("the latest message is missing")
	}
}

func TestStraysAreBounded(t *testing.T) {
	var s unmatchedList
	at := func(k int, size int) UnmatchedMessage {
		return UnmatchedMessage{Key: engine.Key(k), Content: engine.Packed(make([]byte, size))}
	}
	for i := range 3 * MaxUnmatched {
		s.add(at(i+1, 1))
		s.add(at(i+1, 1)) // repeated
	}
	if len(s.messages) != MaxUnmatched || s.bytes != MaxUnmatched || s.total != 6*MaxUnmatched || s.messages[0].Key != 2*MaxUnmatched+1 {
		t.Errorf("%d messages of %d bytes are kept, from %d on", len(s.messages), s.bytes, s.messages[0].Key)
	}
	for i := range 50 {
		s.add(at(1000+i, 60<<10))
	}
	if s.bytes > maxUnmatchedBytes || s.messages[len(s.messages)-1].Key != 1049 {
		t.Errorf("%d messages of %d bytes are kept", len(s.messages), s.bytes)
	}
	s.add(UnmatchedMessage{Key: 7})
	if n := s.total; s.of(7) != nil || n != 6*MaxUnmatched+51 {
		t.Errorf("an unknown message is kept, or not counted: %d", n)
	}
	kept := len(s.messages)
	s.addOlder([]engine.HistoryEvent{{Event: engine.Event{Message: engine.Message{Key: 5}, Content: "x"}}, {Event: engine.Event{Message: engine.Message{Key: 6}}}})
	if s.messages[0].Key != 5 || len(s.messages) != kept+1 || s.total != 6*MaxUnmatched+53 {
		t.Errorf("with older messages, got %d of %d, from %d on", len(s.messages), s.total, s.messages[0].Key)
	}
}

// TestTickerOfASecond checks that the ticker shows at most 20 lines for a second, one for similar
// events, and the number of the events that they do not cover.
func TestTickerOfASecond(t *testing.T) {
	sent := func(key int, at engine.Instant, path engine.Path) EventRecord {
		return EventRecord{N: uint64(key), Key: engine.Key(key), Kind: engine.EventSent, Path: path, At: at}
	}
	queue := func(i int) engine.Path { return engine.Path("q" + strconv.Itoa(i)) }
	for name, tc := range map[string]struct {
		queues, each int
		within       bool
		most         int
		lines, more  int
	}{
		"one":                    {1, 1, false, 50, 1, 0},
		"alike are one line":     {1, 1000, false, 50, 1, 0},
		"20 lines":               {20, 1, false, 50, 20, 0},
		"and one more":           {21, 1, false, 50, 20, 1},
		"and all of it":          {100, 3, false, 50, 20, 240},
		"as many as a page has":  {20, 1, false, 12, 12, 8},
		"of those, alike":        {20, 2, false, 12, 12, 16},
		"of the namespace alone": {21, 1, true, 50, 19, 2},
	} {
		t.Run(name, func(t *testing.T) {
			var r Events
			r.addTickerLine(sent(1, 999, "before")) // of another second, and not counted
			if tc.within {
				r.addTickerLine(EventRecord{N: 2, Kind: engine.EventSignedIn, At: 1000}) // a line that is not shown
			}
			for range tc.each {
				for i := range tc.queues {
					r.addTickerLine(sent(10+i, 1000+engine.Instant(i), queue(i)))
				}
			}
			lines, more := r.Ticker(tc.within, tc.most)
			if len(lines) == tc.lines+1 && lines[tc.lines].Path == "before" {
				lines = lines[:tc.lines]
			}
			if len(lines) != tc.lines || more != tc.more {
				t.Errorf("%d lines and %d more, want %d and %d", len(lines), more, tc.lines, tc.more)
			}
			r.addTickerLine(sent(3, 2000, "after"))
			if lines, more := r.Ticker(tc.within, tc.most); lines[0].Path != "after" || more != 0 {
				t.Errorf("in the next second: %s, and %d more", lines[0].Path, more)
			}
		})
	}
}
