package mongo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// TestToy checks that a toy fulfils the contract of server, and so does a client whose network and
// process work.
func TestToy(t *testing.T) {
	for name, test := range serverTests() {
		t.Run(name, func(t *testing.T) {
			test(t, new(toy))
			synctest.Test(t, func(t *testing.T) {
				w := &world{db: new(toy)}
				test(t, w.connect("somebody", weather{}))
			})
		})
	}
}

// testServer tests the contract of server.
func testServer(t *testing.T, open func(*testing.T) server) {
	for name, test := range serverTests() {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

func serverTests() map[string]func(*testing.T, server) {
	return map[string]func(*testing.T, server){
		"an _id is given once":            insertOnce,
		"of many inserts one succeeds":    insertRace,
		"collections are apart":           insertApart,
		"what is not there is nil":        getNothing,
		"a range goes by bytes":           rangeBytes,
		"a range backwards":               rangeBackwards,
		"a range has a limit":             rangeLimit,
		"a range is over when one stops":  rangeStop,
		"fields alone":                    rangeFields,
		"what matches":                    rangeMatch,
		"a long range":                    rangeLong,
		"the highest version stays":       applyVersions,
		"changes stand alone":             applyMany,
		"the same document twice":         applyTwice,
		"what is inserted stays":          applyInsert,
		"a document is replaced whole":    applyWhole,
		"deleted is deleted":              deleteSome,
		"a field is cleared in its range": clearField,
		"tombstones go in their time":     purgeSome,
		"a context that has ended":        afterTheEnd,
	}
}

func document(t *testing.T, fields ...bson.E) bson.Raw {
	t.Helper()
	b, err := bson.Marshal(bson.D(fields))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func field(key string, v any) bson.E { return bson.E{Key: key, Value: v} }

// put inserts documents that have only an _id.
func put(t *testing.T, s server, in collection, ids ...string) {
	t.Helper()
	for _, id := range ids {
		if err := s.Insert(t.Context(), in, document(t, field("_id", id))); err != nil {
			t.Fatal(err)
		}
	}
}

func idsOf(t *testing.T, s server, in collection, r idRange) []string {
	t.Helper()
	var ids []string
	for doc, err := range s.Range(t.Context(), in, r) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, idOf(doc))
	}
	return ids
}

func want[T any](t *testing.T, want, got T) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// number returns the field n of a document, or -1 if there is no such document.
func number(t *testing.T, s server, in collection, id string) int64 {
	t.Helper()
	doc, err := s.Get(t.Context(), in, id)
	if err != nil {
		t.Fatal(err)
	}
	if doc == nil {
		return -1
	}
	return doc.Lookup("n").AsInt64()
}

func insertOnce(t *testing.T, s server) {
	if err := s.Insert(t.Context(), journal, document(t, field("_id", "a/1"), field("n", int64(1)))); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		err := s.Insert(t.Context(), journal, document(t, field("_id", "a/1"), field("n", int64(2))))
		if !errors.Is(err, errDuplicateID) {
			t.Errorf("inserted again: %v", err)
		}
	}
	want(t, 1, number(t, s, journal, "a/1"))
}

func insertRace(t *testing.T, s server) {
	for round := range 10 {
		id := fmt.Sprintf("a/%d", round)
		const racers = 8
		errs := make([]error, racers)
		var wg sync.WaitGroup
		for i := range errs {
			doc := document(t, field("_id", id), field("n", int64(i)))
			wg.Go(func() { errs[i] = s.Insert(t.Context(), journal, doc) })
		}
		wg.Wait()
		winner := slices.Index(errs, nil)
		for i, err := range errs {
			if i != winner && !errors.Is(err, errDuplicateID) {
				t.Errorf("round %d: %d inserts succeeded and %d got %v", round, winner, i, err)
			}
		}
		want(t, int64(winner), number(t, s, journal, id))
	}
}

func insertApart(t *testing.T, s server) {
	put(t, s, journal, "a/1")
	put(t, s, owners, "a/1", "a/2")
	want(t, []string{"a/1"}, idsOf(t, s, journal, within("a")))
	want(t, []string{"a/1", "a/2"}, idsOf(t, s, owners, within("a")))
}

func getNothing(t *testing.T, s server) {
	put(t, s, journal, "a/1")
	for _, id := range []string{"a/2", "a", "A/1", ""} {
		doc, err := s.Get(t.Context(), journal, id)
		if doc != nil || err != nil {
			t.Errorf("%q is %v, %v", id, doc, err)
		}
	}
}

// scattered has _ids in random order, and inA has those of namespace "a", sorted.
var (
	scattered = []string{"a/2", "a.b/1", "a/10", "b/1", "A/1", "a/1/x", "a", "a-b/1", "a/1", "a/é", "a/Z", "a/z", "a0"}
	inA       = []string{"a/1", "a/1/x", "a/10", "a/2", "a/Z", "a/z", "a/é"}
)

func rangeBytes(t *testing.T, s server) {
	put(t, s, journal, scattered...)
	want(t, inA, idsOf(t, s, journal, within("a")))
	want(t, []string{"a/1", "a/1/x", "a/10"}, idsOf(t, s, journal, idRange{from: "a/1", to: "a/2"}))
	want(t, []string{"a/1/x"}, idsOf(t, s, journal, within("a/1")))
	want(t, nil, idsOf(t, s, journal, idRange{from: "a/2", to: "a/2"}))
	want(t, nil, idsOf(t, s, journal, idRange{from: "a/3", to: "a/2"}))
	want(t, nil, idsOf(t, s, owners, within("a")))
}

func rangeBackwards(t *testing.T, s server) {
	put(t, s, journal, scattered...)
	r := within("a")
	r.backwards = true
	reversed := slices.Clone(inA)
	slices.Reverse(reversed)
	want(t, reversed, idsOf(t, s, journal, r))
	want(t, []string{"a/10", "a/1/x", "a/1"}, idsOf(t, s, journal, idRange{from: "a/1", to: "a/2", backwards: true}))
}

func rangeLimit(t *testing.T, s server) {
	put(t, s, journal, scattered...)
	r := within("a")
	for _, r.limit = range []int{1, 3, len(inA), 100} {
		want(t, inA[:min(r.limit, len(inA))], idsOf(t, s, journal, r))
	}
	r.limit, r.backwards = 1, true
	want(t, []string{"a/é"}, idsOf(t, s, journal, r))
}

func rangeStop(t *testing.T, s server) {
	put(t, s, journal, scattered...)
	for doc, err := range s.Range(t.Context(), journal, within("a")) {
		if err != nil || idOf(doc) != "a/1" {
			t.Errorf("the first is %v, %v", doc, err)
		}
		break
	}
	want(t, inA, idsOf(t, s, journal, within("a")))
}

func rangeFields(t *testing.T, s server) {
	doc := document(t, field("_id", "a/1"), field("v", int64(7)), field("x", "x"), field("data", bson.Binary{Data: []byte{1}}))
	if err := s.Insert(t.Context(), journal, doc); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		fields []string
		want   bson.D
	}{
		"none":    {[]string{}, bson.D{{Key: "_id", Value: "a/1"}}},
		"one":     {[]string{"v"}, bson.D{{Key: "_id", Value: "a/1"}, {Key: "v", Value: int64(7)}}},
		"unknown": {[]string{"x", "y"}, bson.D{{Key: "_id", Value: "a/1"}, {Key: "x", Value: "x"}}},
	} {
		r := within("a")
		r.fields = tc.fields
		for doc, err := range s.Range(t.Context(), journal, r) {
			if err != nil {
				t.Fatal(err)
			}
			var got bson.D
			if err := bson.Unmarshal(doc, &got); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Errorf("%s (-want +got)\n%s", name, d)
			}
		}
	}
}

func rangeMatch(t *testing.T, s server) {
	for i := range 6 {
		doc := document(t, field("_id", fmt.Sprintf("a/%d", i)), field("even", i%2 == 0), field("third", int64(i%3)))
		if err := s.Insert(t.Context(), journal, doc); err != nil {
			t.Fatal(err)
		}
	}
	r := within("a")
	r.match = bson.D{field("even", true)}
	want(t, []string{"a/0", "a/2", "a/4"}, idsOf(t, s, journal, r))
	r.match = append(r.match, field("third", int64(1)))
	want(t, []string{"a/4"}, idsOf(t, s, journal, r))
	r.match = bson.D{field("even", false)}
	r.limit, r.backwards = 2, true
	want(t, []string{"a/5", "a/3"}, idsOf(t, s, journal, r))
	r.match = bson.D{field("odd", true)}
	want(t, nil, idsOf(t, s, journal, r))
}

// rangeLong reads a range of more documents than a batch of the cursor contains.
func rangeLong(t *testing.T, s server) {
	var ids []string
	var changes []change
	for i := range 350 {
		id := fmt.Sprintf("a/%04d", i)
		ids = append(ids, id)
		changes = append(changes, change{id: id, insert: true, doc: document(t, field("_id", id))})
	}
	if err := s.Apply(t.Context(), journal, changes); err != nil {
		t.Fatal(err)
	}
	want(t, ids, idsOf(t, s, journal, within("a")))
}

// versioned returns a change to a version, with a number that distinguishes it from other
// changes.
func versioned(t *testing.T, id string, v, n int64) change {
	t.Helper()
	return change{id: id, version: v, doc: document(t, field("_id", id), field("v", v), field("n", n))}
}

func apply(t *testing.T, s server, changes ...change) {
	t.Helper()
	if err := s.Apply(t.Context(), messages, changes); err != nil {
		t.Fatal(err)
	}
}

func applyVersions(t *testing.T, s server) {
	const epoch = 1 << 62
	for _, step := range []struct {
		v, n, want int64
	}{
		{epoch + 5, 1, 1},  // no document yet
		{epoch + 4, 2, 1},  // an earlier version, late
		{epoch + 5, 3, 1},  // the same version again
		{epoch + 6, 4, 4},  // next version
		{1, 5, 4},          // a much earlier version
		{epoch + 99, 6, 6}, // with a gap
	} {
		apply(t, s, versioned(t, "a/1", step.v, step.n))
		if got := number(t, s, messages, "a/1"); got != step.want {
			t.Errorf("after version %d: document %d, want %d", step.v, got, step.want)
		}
	}
}

// applyMany checks that a change whose version is too low, or that was made before, does not
// prevent the other changes of its batch.
func applyMany(t *testing.T, s server) {
	apply(t, s, versioned(t, "a/2", 9, 90), versioned(t, "a/4", 9, 90))
	var changes []change
	for i := range 6 {
		changes = append(changes, versioned(t, fmt.Sprintf("a/%d", i), 5, int64(i)))
	}
	for range 2 {
		apply(t, s, changes...)
		for i, n := range []int64{0, 1, 90, 3, 90, 5} {
			want(t, n, number(t, s, messages, fmt.Sprintf("a/%d", i)))
		}
	}
	apply(t, s)
}

func applyTwice(t *testing.T, s server) {
	apply(t, s, versioned(t, "a/1", 2, 2), versioned(t, "a/1", 3, 3), versioned(t, "a/1", 1, 1))
	want(t, 3, number(t, s, messages, "a/1"))
}

func applyInsert(t *testing.T, s server) {
	for n := range int64(2) {
		var changes []change
		for i := range 3 + n {
			id := fmt.Sprintf("a/%d", i)
			changes = append(changes, change{id: id, insert: true, doc: document(t, field("_id", id), field("n", n))})
		}
		apply(t, s, changes...)
	}
	for i, n := range []int64{0, 0, 0, 1} {
		want(t, n, number(t, s, messages, fmt.Sprintf("a/%d", i)))
	}
}

// applyWhole checks that a change replaces the whole document, so that a tombstone contains nothing
// of the message.
func applyWhole(t *testing.T, s server) {
	apply(t, s, versioned(t, "a/1", 1, 1))
	apply(t, s, change{id: "a/1", version: 2, doc: document(t, field("_id", "a/1"), field("v", int64(2)))})
	doc, err := s.Get(t.Context(), messages, "a/1")
	if err != nil {
		t.Fatal(err)
	}
	var got bson.D
	if err := bson.Unmarshal(doc, &got); err != nil {
		t.Fatal(err)
	}
	want(t, bson.D{field("_id", "a/1"), field("v", int64(2))}, got)
}

func deleteSome(t *testing.T, s server) {
	put(t, s, journal, scattered...)
	put(t, s, owners, "a/1")
	if err := s.Delete(t.Context(), journal, []string{"a/1", "a/3", "a/é"}); err != nil {
		t.Fatal(err)
	}
	want(t, []string{"a/1/x", "a/10", "a/2", "a/Z", "a/z"}, idsOf(t, s, journal, within("a")))
	want(t, []string{"a/1"}, idsOf(t, s, owners, within("a")))
	if err := s.Delete(t.Context(), journal, []string{"a/1"}); err != nil {
		t.Errorf("a missing document: %v", err)
	}
	if err := s.Delete(t.Context(), journal, nil); err != nil {
		t.Errorf("nothing: %v", err)
	}
	put(t, s, journal, "a/1") // its _id can be used again
}

func clearField(t *testing.T, s server) {
	for _, id := range []string{"a/1", "a/2", "a/3", "b/1"} {
		doc := document(t, field("_id", id), field("v", int64(1)), field("n", int64(5)))
		if err := s.Insert(t.Context(), messages, doc); err != nil {
			t.Fatal(err)
		}
	}
	put(t, s, messages, "a/4")
	r := within("a")
	r.to = "a/3"
	if err := s.Clear(t.Context(), messages, r, "n"); err != nil {
		t.Fatal(err)
	}
	for id, n := range map[string]bson.D{
		"a/1": {field("_id", "a/1"), field("v", int64(1))},
		"a/2": {field("_id", "a/2"), field("v", int64(1))},
		"a/3": {field("_id", "a/3"), field("v", int64(1)), field("n", int64(5))},
		"a/4": {field("_id", "a/4")},
		"b/1": {field("_id", "b/1"), field("v", int64(1)), field("n", int64(5))},
	} {
		doc, err := s.Get(t.Context(), messages, id)
		if err != nil {
			t.Fatal(err)
		}
		var got bson.D
		if err := bson.Unmarshal(doc, &got); err != nil {
			t.Fatal(err)
		}
		want(t, n, got)
	}
}

func purgeSome(t *testing.T, s server) {
	at := time.Date(2026, 7, 14, 10, 4, 12, 345e6, time.UTC)
	for id, fields := range map[string][]bson.E{
		"a/1": {field("gone", true), field("purgeAt", at)},
		"a/2": {field("gone", true), field("purgeAt", at.Add(time.Millisecond))},
		"a/3": {field("gone", true)},
		"a/4": {field("purgeAt", at.Add(-time.Hour))}, // not a tombstone
		"a/5": {field("n", int64(1))},
		"a/6": {field("gone", true), field("purgeAt", at.Add(-time.Hour))},
		"a/7": {field("gone", true), field("purgeAt", at.Add(-time.Hour))}, // outside the range
		"b/1": {field("gone", true), field("purgeAt", at.Add(-time.Hour))},
	} {
		if err := s.Insert(t.Context(), messages, document(t, append([]bson.E{field("_id", id)}, fields...)...)); err != nil {
			t.Fatal(err)
		}
	}
	r := within("a")
	r.to = "a/7"
	for range 2 {
		if err := s.Purge(t.Context(), messages, r, at); err != nil {
			t.Fatal(err)
		}
		want(t, []string{"a/2", "a/3", "a/4", "a/5", "a/7"}, idsOf(t, s, messages, within("a")))
	}
	want(t, []string{"b/1"}, idsOf(t, s, messages, within("b")))
}

// afterTheEnd checks that no request is sent after the caller's context has ended.
func afterTheEnd(t *testing.T, s server) {
	put(t, s, journal, "a/1")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Insert(ctx, journal, document(t, field("_id", "a/1"))); err == nil || errors.Is(err, errDuplicateID) {
		t.Errorf("insert: %v", err)
	}
	if _, err := s.Get(ctx, journal, "a/1"); err == nil {
		t.Error("get succeeds")
	}
	n := 0
	for _, err := range s.Range(ctx, journal, within("a")) {
		if n++; err == nil {
			t.Error("range succeeds")
		}
	}
	want(t, 1, n)
	if err := s.Apply(ctx, journal, []change{versioned(t, "a/2", 1, 1)}); err == nil {
		t.Error("apply succeeds")
	}
	if err := s.Delete(ctx, journal, []string{"a/1"}); err == nil {
		t.Error("delete succeeds")
	}
	if err := s.Purge(ctx, journal, within("a"), time.Now()); err == nil {
		t.Error("purge succeeds")
	}
	want(t, []string{"a/1"}, idsOf(t, s, journal, within("a")))
}
