package sqlite

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"mayfly/engine"
)

// eventsAt returns n events, each of another message, a millisecond apart.
func eventsAt(at engine.Instant, n int) []engine.Event {
	events := make([]engine.Event, n)
	for i := range events {
		events[i] = engine.Event{
			N: uint64(at) + uint64(i), At: at + engine.Instant(i), Kind: engine.EventSent, Path: "orders", Actor: "somebody",
			Message: engine.Message{Key: engine.Key(i + 1), Seq: engine.Seq(i)}, Content: "\x01\x01x",
		}
	}
	return events
}

func queryAll(t *testing.T, s *Store, q engine.HistoryQuery) (all []engine.HistoryEvent) {
	t.Helper()
	for e, err := range s.QueryEvents(t.Context(), q) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

func remember(t *testing.T, s *Store, events []engine.Event) {
	t.Helper()
	if err := s.AppendEvents(t.Context(), events); err != nil {
		t.Fatal(err)
	}
}

// sized checks the running total of the history's size and returns it.
func sized(t *testing.T, s *Store) (bytes int64) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	bytes, err := number(s.w.c, getHistorySize)
	if err != nil {
		t.Fatal(err)
	}
	if sum, err := number(s.w.c, "SELECT coalesce(sum(length(packed) + 128), 0) FROM history"); err != nil || sum != bytes {
		t.Errorf("the history has %d bytes, but its total is %d, %v", sum, bytes, err)
	}
	return bytes
}

// TestHistorySize checks the running total after events are added and removed.
func TestHistorySize(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	s := openAt(t, path, Options{})
	remember(t, s, eventsAt(1000, 500))
	all := sized(t, s)
	remember(t, s, eventsAt(1000, 500)[250:]) // these are stored already
	if sized(t, s) != all {
		t.Error("events that are stored already count again")
	}
	audit := eventsAt(3000, 10)
	for i := range audit {
		audit[i].Audit = true
	}
	mustCommit(t, s, &engine.Batch{Hard: true, Now: 1, Audit: audit})
	all = sized(t, s)
	row := all/510 + 1
	for _, tc := range []struct {
		before engine.Instant
		most   int64
		want   int // number of events that are left
	}{
		{0, 0, 510}, {1, all, 510}, {1100, 0, 410}, {0, 255 * row, 255}, {0, 10 * row, 10}, {0, 4 * row, 4}, {0, 1, 0},
	} {
		if err := s.TrimEvents(t.Context(), tc.before, tc.most); err != nil {
			t.Fatal(err)
		}
		got := len(queryAll(t, s, engine.HistoryQuery{}))
		if bytes := sized(t, s); tc.most > 0 && bytes > tc.most || got < tc.want-1 || got > tc.want+1 {
			t.Errorf("after TrimEvents(%d, %d) there are %d events of %d bytes; want %d", tc.before, tc.most, got, bytes, tc.want)
		}
		s.Close()
		s = openAt(t, path, Options{})
	}
}

// TestPages checks that queries find rare events among many, also those next to the boundary of two
// pages.
func TestPages(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "store"), Options{})
	events := eventsAt(1000, 2*pageRows)
	rare := func(i int, k engine.EventKind) { events[i].Kind, events[i].Path = k, "rare" }
	rare(0, engine.EventDeferred)
	rare(pageRows, engine.EventEntityUpdated) // the last event of a page
	rare(pageRows-1, engine.EventDeferred)
	remember(t, s, events)
	for name, tc := range map[string]struct {
		q    engine.HistoryQuery
		want int
	}{
		"all":          {engine.HistoryQuery{}, 2 * pageRows},
		"a path":       {engine.HistoryQuery{Path: "Rare"}, 3},
		"a path, two":  {engine.HistoryQuery{Path: "rare", Limit: 2}, 2},
		"a kind":       {engine.HistoryQuery{Kinds: []engine.EventKind{engine.EventDeferred}}, 2},
		"another kind": {engine.HistoryQuery{Kinds: []engine.EventKind{engine.EventEntityUpdated, engine.EventPurged}}, 1},
		"a key":        {engine.HistoryQuery{Key: 17}, 1},
		"a page":       {engine.HistoryQuery{Limit: pageEvents}, pageEvents},
		"one more":     {engine.HistoryQuery{Limit: pageEvents + 1}, pageEvents + 1},
	} {
		if got := queryAll(t, s, tc.q); len(got) != tc.want {
			t.Errorf("%s: %d events; want %d", name, len(got), tc.want)
		}
	}
}

// TestHistoryQueryPlan checks that every page uses an index.
func TestHistoryQueryPlan(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "store"), Options{})
	plan := func(sql string) string {
		var lines []string
		if err := s.read(t.Context(), func(c *sqlite3.Conn) error {
			return each(c, "EXPLAIN QUERY PLAN "+sql, func(r *row) bool {
				r.n = 3
				lines = append(lines, r.text())
				return true
			})
		}); err != nil {
			t.Fatal(err)
		}
		return strings.Join(lines, "\n")
	}
	const bounds = "(at>? AND (at,epoch,n)<(?,?,?))"
	for _, tc := range []struct {
		q    engine.HistoryQuery
		want string
	}{
		{engine.HistoryQuery{Path: "q", From: 5, Until: 7}, "PRIMARY KEY " + bounds},
		{engine.HistoryQuery{Key: 5, Audit: true}, "INDEX history_key (key=? AND at>? AND (at,epoch,n)<(?,?,?))"},
		{engine.HistoryQuery{Audit: true}, "INDEX history_notable " + bounds},
		{engine.HistoryQuery{Kinds: []engine.EventKind{engine.EventGap}}, "INDEX history_notable " + bounds},
		{engine.HistoryQuery{Kinds: []engine.EventKind{engine.EventGap, engine.EventSent}}, "PRIMARY KEY " + bounds},
	} {
		sql, _ := selectHistory(tc.q)
		if got := plan(sql); got != "SEARCH history USING "+tc.want {
			t.Errorf("%s\nhas the query plan %q; want %q", sql, got, tc.want)
		}
	}
	for _, sql := range []string{deleteBefore, dropOldest} {
		if got := plan(sql); strings.Contains(got, "SCAN history") || strings.Contains(got, "TEMP B-TREE") {
			t.Errorf("%s\nis done by %s", sql, got)
		}
	}
}

// TestCorruptEvent checks that the error of a corrupt event identifies the event.
func TestCorruptEvent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	s := openAt(t, path, Options{})
	remember(t, s, eventsAt(1000, 3))
	s.Close()
	raw(t, path, "UPDATE history SET packed = x'07', sum = "+checksumSQL("history", strings.Replace(historyColumns, "packed", "x'07'", 1))+" WHERE at = 1001")
	s = openAt(t, path, Options{})
	n := 0
	for _, err := range s.QueryEvents(t.Context(), engine.HistoryQuery{}) {
		if n++; n == 2 {
			if err == nil || !strings.Contains(err.Error(), "event 1001 of epoch 1") {
				t.Errorf("%v", err)
			}
		} else if err != nil {
			t.Error(err)
		}
	}
	if n != 2 {
		t.Errorf("%d events or errors; want 2", n)
	}
}

func TestForgetStops(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "store"), Options{})
	remember(t, s, eventsAt(1000, 1000))
	ctx, end := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	end(why)
	if err := s.TrimEvents(ctx, 5000, 1); !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
	if got := len(queryAll(t, s, engine.HistoryQuery{})); got != 1000 {
		t.Errorf("%d events are left", got)
	}
}
