package mongo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"mayfly/storage/mongo/mongotest"
)

// asked lists the indexes of the specification, as the commands that create them.
var asked = []string{
	`entities {"key": {"purgeAt": {"$numberInt":"1"}},"expireAfterSeconds": {"$numberInt":"0"},"name": "mayfly_purge","sparse": true}`,
	`history {"key": {"ns": {"$numberInt":"1"},"at": {"$numberInt":"1"}},"name": "mayfly_at"}`,
	`history {"key": {"ns": {"$numberInt":"1"},"key": {"$numberInt":"1"},"at": {"$numberInt":"1"}},"name": "mayfly_key"}`,
	`history {"key": {"purgeAt": {"$numberInt":"1"}},"expireAfterSeconds": {"$numberInt":"0"},"name": "mayfly_purge","sparse": true}`,
	`messages {"key": {"ns": {"$numberInt":"1"},"expiresAt": {"$numberInt":"1"}},"name": "mayfly_expires","partialFilterExpression": {"expiresAt": {"$exists": true}}}`,
	`messages {"key": {"ns": {"$numberInt":"1"},"path": {"$numberInt":"1"},"seq": {"$numberInt":"1"}},"name": "mayfly_path"}`,
	`messages {"key": {"purgeAt": {"$numberInt":"1"}},"expireAfterSeconds": {"$numberInt":"0"},"name": "mayfly_purge","sparse": true}`,
	`meters {"key": {"purgeAt": {"$numberInt":"1"}},"expireAfterSeconds": {"$numberInt":"0"},"name": "mayfly_purge","sparse": true}`,
	`namespaceSettings {"key": {"purgeAt": {"$numberInt":"1"}},"expireAfterSeconds": {"$numberInt":"0"},"name": "mayfly_purge","sparse": true}`,
	`rules {"key": {"purgeAt": {"$numberInt":"1"}},"expireAfterSeconds": {"$numberInt":"0"},"name": "mayfly_purge","sparse": true}`,
	`sessions {"key": {"ns": {"$numberInt":"1"},"path": {"$numberInt":"1"},"sessionId": {"$numberInt":"1"}},"name": "mayfly_path"}`,
	`sessions {"key": {"purgeAt": {"$numberInt":"1"}},"expireAfterSeconds": {"$numberInt":"0"},"name": "mayfly_purge","sparse": true}`,
}

// A tap records the commands that the driver sends.
type tap struct {
	mu  sync.Mutex
	got []bson.Raw // guarded by mu
}

func (s *tap) on(o *options.ClientOptions) {
	o.SetMonitor(&event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.got = append(s.got, bytes.Clone(e.Command))
	}})
}

// all returns the commands recorded so far.
func (s *tap) all() []bson.Raw {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.got)
}

// made returns the indexes that commands request, sorted. Each command requests one.
func made(t *testing.T, commands []bson.Raw) (all []string) {
	t.Helper()
	for _, c := range commands {
		if nameOf(c) != "createIndexes" {
			continue
		}
		values, err := c.Lookup("indexes").Array().Values()
		if err != nil || len(values) != 1 {
			t.Errorf("%s (%v)", c, err)
			continue
		}
		all = append(all, c.Lookup("createIndexes").StringValue()+" "+values[0].String())
	}
	slices.Sort(all)
	return all
}

// The specified indexes are requested. The test server refuses TTL and partial indexes, and
// creates all others.
func TestIndexesAreAskedFor(t *testing.T) {
	var s tap
	var logged bytes.Buffer
	url := mongotest.URL(t)
	a, err := parse(url)
	if err != nil {
		t.Fatal(err)
	}
	s.on(a.options)
	d, _, err := connectTo(t.Context(), url, a, new(Clients), slog.New(slog.NewTextHandler(&logged, nil)))
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, d)
	logged.Reset()
	can, err := d.ensureIndexes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want(t, asked, made(t, s.got))
	for _, x := range indexes() {
		p, err := d.findIndex(t.Context(), x)
		if err != nil {
			t.Fatal(err)
		}
		if there := (x.requiredField == "" || can.partial) && (!x.ttl || can.ttl); (p == same) != there {
			t.Errorf("%s in %s: %v", x.name, x.in, p)
		}
	}
	if !mongotest.Real() {
		want(t, "{ttl:false partial:false}", fmt.Sprintf("%+v", can))
		if n := strings.Count(logged.String(), "\n"); n != 1 || !strings.Contains(logged.String(), "ttl=false partial=false") {
			t.Errorf("the log says:\n%s", &logged)
		}
	}
}

func TestIndexesBySeveralAtOnce(t *testing.T) {
	url := mongotest.URL(t)
	errs := make([]error, 4)
	var wg sync.WaitGroup
	for i := range errs {
		d := openURL(t, url)
		wg.Go(func() { _, errs[i] = d.ensureIndexes(t.Context()) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	d := openURL(t, url)
	for _, x := range indexes()[2:4] {
		if p, err := d.findIndex(t.Context(), x); p != same {
			t.Errorf("%s in %s: %v, %v", x.name, x.in, p, err)
		}
	}
}

// An indexer simulates the indexes of a server. Its method answer can be the reply of a fake.
type indexer struct {
	there  map[string]bson.A                              // by collection
	refuse func(command string, spec bson.Raw) (code int) // returns an error code, or zero to obey
	forget []string                                       // options that it accepts but does not store
	deaf   string                                         // an option for which it reports success but creates no index
}

func (i *indexer) answer(name string, c bson.Raw) bson.D {
	in := c.Index(0).Value()
	coll, _ := in.StringValueOK()
	var spec bson.Raw
	switch name {
	case "createIndexes":
		spec = c.Lookup("indexes", "0").Document()
	case "dropIndexes", "listIndexes":
	default:
		return nil
	}
	if i.refuse != nil {
		if code := i.refuse(name, spec); code != 0 {
			return bson.D{{Key: "ok", Value: 0}, {Key: "code", Value: int32(code)}, {Key: "errmsg", Value: fmt.Sprint(name, " refused")}}
		}
	}
	if i.there == nil {
		i.there = map[string]bson.A{}
	}
	named := func(n string) func(any) bool {
		return func(x any) bool { s, _ := asRaw(x).Lookup("name").StringValueOK(); return s == n }
	}
	switch name {
	case "createIndexes":
		if _, err := spec.LookupErr(i.deaf); i.deaf != "" && err == nil {
			break
		}
		if s := spec.Lookup("name").StringValue(); !slices.ContainsFunc(i.there[coll], named(s)) {
			var kept bson.D
			if err := bson.Unmarshal(spec, &kept); err != nil {
				panic(err)
			}
			kept = slices.DeleteFunc(kept, func(e bson.E) bool { return slices.Contains(i.forget, e.Key) })
			i.there[coll] = append(i.there[coll], kept)
		}
	case "dropIndexes":
		i.there[coll] = slices.DeleteFunc(i.there[coll], named(c.Lookup("index").StringValue()))
	case "listIndexes":
		return bson.D{{Key: "ok", Value: 1}, {Key: "cursor", Value: bson.D{
			{Key: "id", Value: int64(0)}, {Key: "ns", Value: "mayfly." + coll}, {Key: "firstBatch", Value: append(bson.A{}, i.there[coll]...)}}}}
	}
	return nil
}

func asRaw(v any) bson.Raw {
	b, err := bson.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

func openIndexer(t *testing.T, i *indexer) (*fake, *database) {
	t.Helper()
	f := startFake(t)
	f.reply = i.answer
	return f, f.open(t)
}

func ensured(t *testing.T, d *database) capabilities {
	t.Helper()
	can, err := d.ensureIndexes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return can
}

func TestIndexesAreMadeOnce(t *testing.T) {
	f, d := openIndexer(t, &indexer{})
	for range 2 {
		want(t, "{ttl:true partial:true}", fmt.Sprintf("%+v", ensured(t, d)))
		want(t, asked, made(t, f.commands("createIndexes")))
	}
	want(t, 0, len(f.commands("dropIndexes")))
}

func TestIndexesOfOurNamesAreReplaced(t *testing.T) {
	for name, spec := range map[string]string{
		"other fields":      `{"name": "mayfly_purge", "key": {"purge": 1}, "expireAfterSeconds": 0}`,
		"another direction": `{"name": "mayfly_purge", "key": {"purgeAt": -1}, "expireAfterSeconds": 0}`,
		"another time":      `{"name": "mayfly_purge", "key": {"purgeAt": 1}, "expireAfterSeconds": 3600}`,
		"no time":           `{"name": "mayfly_purge", "key": {"purgeAt": 1}}`,
		"unique":            `{"name": "mayfly_purge", "key": {"purgeAt": 1}, "expireAfterSeconds": 0, "unique": true}`,
		"partial":           `{"name": "mayfly_purge", "key": {"purgeAt": 1}, "expireAfterSeconds": 0, "partialFilterExpression": {"x": 1}}`,
		"not partial":       `{"name": "mayfly_expires", "key": {"ns": 1, "expiresAt": 1}}`,
		"otherwise partial": `{"name": "mayfly_expires", "key": {"ns": 1, "expiresAt": 1}, "partialFilterExpression": {"x": 1}}`,
		"too many fields":   `{"name": "mayfly_path", "key": {"ns": 1, "path": 1, "seq": 1, "x": 1}}`,
		"too few":           `{"name": "mayfly_path", "key": {"ns": 1, "path": 1}}`,
	} {
		t.Run(name, func(t *testing.T) {
			var old bson.D
			if err := bson.UnmarshalExtJSON([]byte(spec), false, &old); err != nil {
				t.Fatal(err)
			}
			theirs := bson.D{{Key: "name", Value: "theirs"}, {Key: "key", Value: bson.D{{Key: "x", Value: 1}}}}
			i := &indexer{there: map[string]bson.A{"messages": {theirs, old}}}
			f, d := openIndexer(t, i)
			want(t, "{ttl:true partial:true}", fmt.Sprintf("%+v", ensured(t, d)))
			want(t, asked, made(t, f.commands("createIndexes")))
			want(t, 1, len(f.commands("dropIndexes")))
			if len(i.there["messages"]) != 4 {
				t.Errorf("the indexes are %v", i.there["messages"])
			}
		})
	}
}

// An index whose numbers have other types, as servers may write them, counts as the same index.
func TestIndexesAreKept(t *testing.T) {
	for name, spec := range map[string]string{
		"long":    `{"name": "mayfly_purge", "key": {"purgeAt": {"$numberLong": "1"}}, "expireAfterSeconds": {"$numberLong": "0"}, "v": 2}`,
		"double":  `{"name": "mayfly_purge", "key": {"purgeAt": {"$numberDouble": "1"}}, "expireAfterSeconds": {"$numberDouble": "0"}}`,
		"partial": `{"name": "mayfly_expires", "key": {"ns": 1, "expiresAt": 1}, "partialFilterExpression": {"expiresAt": {"$exists": true}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			var old bson.D
			if err := bson.UnmarshalExtJSON([]byte(spec), true, &old); err != nil {
				t.Fatal(err)
			}
			f, d := openIndexer(t, &indexer{there: map[string]bson.A{"messages": {old}}})
			ensured(t, d)
			want(t, 0, len(f.commands("dropIndexes")))
			want(t, len(asked)-1, len(made(t, f.commands("createIndexes"))))
		})
	}
}

func TestIndexesThatServersLack(t *testing.T) {
	with := func(option string, code int) func(string, bson.Raw) int {
		return func(command string, spec bson.Raw) int {
			if _, err := spec.LookupErr(option); command == "createIndexes" && err == nil {
				return code
			}
			return 0
		}
	}
	for name, tc := range map[string]struct {
		server *indexer
		want   string
	}{
		"no TTL, 238":             {&indexer{refuse: with("expireAfterSeconds", 238)}, "{ttl:false partial:true}"},
		"no TTL, 67":              {&indexer{refuse: with("expireAfterSeconds", 67)}, "{ttl:false partial:true}"},
		"no TTL, 72":              {&indexer{refuse: with("expireAfterSeconds", 72)}, "{ttl:false partial:true}"},
		"no TTL, 115":             {&indexer{refuse: with("expireAfterSeconds", 115)}, "{ttl:false partial:true}"},
		"no partial":              {&indexer{refuse: with("partialFilterExpression", 67)}, "{ttl:true partial:false}"},
		"no indexes at all":       {&indexer{refuse: with("key", 59)}, "{ttl:false partial:false}"},
		"TTL accepted, not kept":  {&indexer{forget: []string{"expireAfterSeconds"}}, "{ttl:false partial:true}"},
		"partial, not kept":       {&indexer{forget: []string{"partialFilterExpression"}}, "{ttl:true partial:false}"},
		"TTL accepted, not made":  {&indexer{deaf: "expireAfterSeconds"}, "{ttl:false partial:true}"},
		"not allowed":             {&indexer{refuse: with("key", 13)}, "{ttl:false partial:false}"},
		"somebody's own in place": {&indexer{refuse: with("expireAfterSeconds", 85)}, "{ttl:false partial:true}"},
	} {
		t.Run(name, func(t *testing.T) {
			f, d := openIndexer(t, tc.server)
			want(t, tc.want, fmt.Sprintf("%+v", ensured(t, d)))
			want(t, asked, slices.Compact(made(t, f.commands("createIndexes"))))
			want(t, 0, len(f.commands("dropIndexes")))
		})
	}
}

// A run that is interrupted at any step is completed by the next run.
func TestIndexesAfterAnInterruptedRun(t *testing.T) {
	const steps = 40
	for last := range steps {
		n := 0
		old := bson.D{{Key: "name", Value: "mayfly_path"}, {Key: "key", Value: bson.D{{Key: "x", Value: 1}}}}
		i := &indexer{there: map[string]bson.A{"messages": {old}}}
		i.refuse = func(string, bson.Raw) int {
			if n++; n > last {
				return 11601 // Interrupted
			}
			return 0
		}
		_, d := openIndexer(t, i)
		_, err := d.ensureIndexes(t.Context())
		if complete := n <= last; (err == nil) != complete {
			t.Fatalf("interrupted at step %d of %d: %v", last, n, err)
		}
		i.refuse = nil
		want(t, "{ttl:true partial:true}", fmt.Sprintf("%+v", ensured(t, d)))
		total := 0
		for _, specs := range i.there {
			total += len(specs)
		}
		want(t, len(asked), total)
		if err == nil {
			return
		}
	}
	t.Errorf("the indexes are not complete after %d steps", steps)
}

// If another server drops and creates the same indexes at the same time, ensureIndexes succeeds,
// unless the other server never stops.
func TestIndexesAgainstAnother(t *testing.T) {
	old := bson.D{{Key: "name", Value: "mayfly_path"}, {Key: "key", Value: bson.D{{Key: "x", Value: 1}}}}
	for name, tc := range map[string]struct {
		command string
		code    int
		times   int
		fails   bool
	}{
		"dropped it first":         {"dropIndexes", 27, 1, false},
		"dropped the collection":   {"dropIndexes", 26, 1, false},
		"dropped what was built":   {"createIndexes", 276, 2, false},
		"made another by the name": {"createIndexes", 86, 2, false},
		"made it":                  {"createIndexes", 68, 1, false},
		"never stops":              {"createIndexes", 276, 1000, true},
	} {
		t.Run(name, func(t *testing.T) {
			i := &indexer{there: map[string]bson.A{"messages": {old}}}
			left := tc.times
			i.refuse = func(command string, _ bson.Raw) int {
				if command != tc.command || left == 0 {
					return 0
				}
				if left--; command == "dropIndexes" {
					i.there["messages"] = nil
				}
				return tc.code
			}
			_, d := openIndexer(t, i)
			if _, err := d.ensureIndexes(t.Context()); (err != nil) != tc.fails {
				t.Error(err)
			}
		})
	}
}

func TestShardingIsLogged(t *testing.T) {
	f := startFake(t)
	f.hello = append(helloAlone(), bson.E{Key: "msg", Value: "isdbgrid"})
	f.reply = new(indexer).answer
	var logged bytes.Buffer
	d, _, err := connect(t.Context(), f.url(), nil, slog.New(slog.NewTextHandler(&logged, nil)))
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, d)
	logged.Reset()
	ensured(t, d)
	if !strings.Contains(logged.String(), "{_id: 1}") {
		t.Errorf("the log says: %s", &logged)
	}
}
