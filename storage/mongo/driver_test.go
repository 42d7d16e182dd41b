package mongo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"mayfly/storage/mongo/mongotest"
)

func TestDatabase(t *testing.T) {
	t.Run("as it is", func(t *testing.T) {
		testServer(t, func(t *testing.T) server { return openURL(t, mongotest.URL(t)) })
	})
	// The test server stops bulk writes at the first duplicate, as other servers may do too.
	t.Run("as any other", func(t *testing.T) {
		testServer(t, func(t *testing.T) server {
			d := openURL(t, mongotest.URL(t))
			d.facts.ferretVersion = ""
			return d
		})
	})
}

func closeAfter(t *testing.T, d *database) {
	t.Helper()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := d.close(ctx); err != nil {
			t.Error(err)
		}
		if err := d.close(ctx); err != nil {
			t.Errorf("closed again: %v", err)
		}
	})
}

// Whatever the connection string says, changes require the acknowledgement of a majority and are
// not retried by the driver, and reads use the read concern "majority".
func TestConcerns(t *testing.T) {
	f := startFake(t)
	f.hello = helloPrimary(f.host)
	d := openURL(t, f.url()+"&w=0&readConcernLevel=local&readPreference=secondary&retryWrites=true&timeoutMS=1&journal=false")
	use(t, d)
	for name, fields := range map[string]string{
		"insert": `{"writeConcern": {"w": "majority", "j": true}}`,
		"update": `{"writeConcern": {"w": "majority", "j": true}}`,
		"delete": `{"writeConcern": {"w": "majority", "j": true}}`,
		"find":   `{"readConcern": {"level": "majority"}}`,
	} {
		commands := f.commands(name)
		if len(commands) == 0 {
			t.Errorf("no %s", name)
		}
		var want bson.D
		if err := bson.UnmarshalExtJSON([]byte(fields), false, &want); err != nil {
			t.Fatal(err)
		}
		for _, c := range commands {
			for _, e := range want {
				got := c.Lookup(e.Key)
				if s := fmt.Sprint(asDocument(t, e.Value)); got.Document().String() != s {
					t.Errorf("%s has %s %s; want %s", name, e.Key, got, s)
				}
			}
			for _, key := range []string{"txnNumber", "maxTimeMS", "$readPreference"} {
				if v, err := c.LookupErr(key); err == nil {
					t.Errorf("%s has %s %s", name, key, v)
				}
			}
		}
	}
}

func asDocument(t *testing.T, v any) bson.Raw {
	t.Helper()
	b, err := bson.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// use calls every operation once.
func use(t *testing.T, d *database) {
	t.Helper()
	ctx := t.Context()
	_, got := d.Get(ctx, journal, "a/1")
	for doc, err := range d.Range(ctx, journal, idRange{from: "a/", to: "a0"}) {
		t.Errorf("there is %v, %v", doc, err)
	}
	if err := errors.Join(got,
		d.Insert(ctx, journal, document(t, field("_id", "a/1"))),
		d.Apply(ctx, messages, []change{versioned(t, "a/1", 1, 1), {id: "a/2", insert: true, doc: document(t, field("_id", "a/2"))}}),
		d.Delete(ctx, messages, []string{"a/1"}),
		d.Purge(ctx, messages, idRange{from: "a/", to: "a0"}, time.UnixMilli(1)),
		d.Clear(ctx, messages, idRange{from: "a/", to: "a0"}, "purgeAt"),
	); err != nil {
		t.Fatal(err)
	}
}

// The context's deadline is also the operation's deadline on the server.
func TestDeadline(t *testing.T) {
	f := startFake(t)
	d := f.open(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := d.Insert(ctx, journal, document(t, field("_id", "a/1"))); err != nil {
		t.Fatal(err)
	}
	if ms := f.commands("insert")[0].Lookup("maxTimeMS").AsInt64(); ms <= 50_000 || ms > 60_000 {
		t.Errorf("maxTimeMS is %d", ms)
	}
}

// Requests after an answer, even a refusal, do not read an older state.
func TestCausality(t *testing.T) {
	f := startFake(t)
	f.hello = helloPrimary(f.host)
	clock := uint32(0)
	f.reply = func(name string, _ bson.Raw) bson.D {
		switch name {
		case "insert":
			clock++
			return bson.D{{Key: "ok", Value: 1}, {Key: "n", Value: 0}, {Key: "operationTime", Value: bson.Timestamp{T: 7, I: clock}},
				{Key: "writeErrors", Value: bson.A{duplicate(0)}}}
		case "update":
			return bson.D{{Key: "ok", Value: 1}, {Key: "n", Value: 0}, {Key: "operationTime", Value: bson.Timestamp{T: 6, I: 99}}}
		}
		return nil
	}
	d := f.open(t)
	for _, c := range f.commands("find") {
		if after, err := c.LookupErr("readConcern", "afterClusterTime"); err == nil {
			t.Errorf("the first read is after %s", after)
		}
	}
	for want := uint32(1); want <= 3; want++ {
		if err := d.Insert(t.Context(), journal, document(t, field("_id", "a/1"))); !errors.Is(err, errDuplicateID) {
			t.Fatal(err)
		}
		if err := d.Clear(t.Context(), journal, idRange{from: "a/", to: "a0"}, "x"); err != nil { // the answer has an older time
			t.Fatal(err)
		}
		before := len(f.commands("find"))
		if _, err := d.Get(t.Context(), journal, "a/1"); err != nil {
			t.Fatal(err)
		}
		s, i, _ := f.commands("find")[before].Lookup("readConcern", "afterClusterTime").TimestampOK()
		if s != 7 || i != want {
			t.Errorf("read after %d.%d; want 7.%d", s, i, want)
		}
	}
}

func duplicate(index int) bson.D {
	return bson.D{{Key: "index", Value: int32(index)}, {Key: "code", Value: int32(11000)}, {Key: "errmsg", Value: "E11000 duplicate key"}}
}

// A duplicate means that the document exists, but its version may be lower, because it may have
// been inserted between the search and the upsert.
func TestApplyIsRepeatedAfterDuplicates(t *testing.T) {
	f := startFake(t)
	f.reply = func(name string, c bson.Raw) bson.D {
		if name != "update" || len(f.commands("update")) > 1 {
			return nil
		}
		return bson.D{{Key: "ok", Value: 1}, {Key: "n", Value: int32(1)}, {Key: "nModified", Value: int32(1)},
			{Key: "writeErrors", Value: bson.A{duplicate(0), duplicate(2)}}}
	}
	d := f.open(t)
	if err := d.Apply(t.Context(), messages, []change{versioned(t, "a/0", 5, 0), versioned(t, "a/1", 5, 1), versioned(t, "a/2", 5, 2)}); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range f.commands("update") {
		values, err := c.Lookup("updates").Array().Values()
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range values {
			u := v.Document()
			upsert, _ := u.Lookup("upsert").BooleanOK()
			got = append(got, fmt.Sprintf("%v %v", u.Lookup("q"), upsert))
		}
	}
	const guard = `{"_id": "a/%d","v": {"$lt": {"$numberLong":"5"}}} %v`
	want(t, []string{
		fmt.Sprintf(guard, 0, true), fmt.Sprintf(guard, 1, true), fmt.Sprintf(guard, 2, true),
		fmt.Sprintf(guard, 0, false), fmt.Sprintf(guard, 2, false),
	}, got)
}

func TestDuplicates(t *testing.T) {
	taken := func(i int) mongo.BulkWriteError {
		return mongo.BulkWriteError{WriteError: mongo.WriteError{Index: i, Code: 11000}}
	}
	for name, tc := range map[string]struct {
		result *mongo.BulkWriteResult
		errs   []mongo.BulkWriteError
		want   []int
		ok     bool
	}{
		"all":                        {new(mongo.BulkWriteResult), []mongo.BulkWriteError{taken(0), taken(1), taken(2)}, []int{0, 1, 2}, true},
		"one of each":                {&mongo.BulkWriteResult{MatchedCount: 1, UpsertedCount: 1}, []mongo.BulkWriteError{taken(1)}, []int{1}, true},
		"inserts":                    {&mongo.BulkWriteResult{InsertedCount: 2}, []mongo.BulkWriteError{taken(2)}, []int{2}, true},
		"stopped at the first":       {&mongo.BulkWriteResult{MatchedCount: 1}, []mongo.BulkWriteError{taken(1)}, nil, false},
		"two by the same name":       {&mongo.BulkWriteResult{MatchedCount: 1}, []mongo.BulkWriteError{taken(0), taken(0)}, nil, false},
		"one that was not asked for": {&mongo.BulkWriteResult{MatchedCount: 2}, []mongo.BulkWriteError{taken(3)}, nil, false},
		"another error":              {&mongo.BulkWriteResult{MatchedCount: 2}, []mongo.BulkWriteError{{WriteError: mongo.WriteError{Code: 1}}}, nil, false},
		"no result":                  {nil, []mongo.BulkWriteError{taken(0), taken(1), taken(2)}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := duplicates(3, tc.result, mongo.BulkWriteException{WriteErrors: tc.errs})
			want(t, tc.want, got)
			want(t, tc.ok, ok)
		})
	}
}

func TestFitting(t *testing.T) {
	sized := func(n, size int) []change {
		doc := make(bson.Raw, size)
		changes := make([]change, n)
		for i := range changes {
			changes[i].doc = doc
		}
		return changes
	}
	for name, tc := range map[string]struct {
		changes []change
		want    int
	}{
		"one":              {sized(1, 10), 1},
		"one that is huge": {sized(2, maxBulkBytes+1), 1},
		"two halves":       {sized(3, maxBulkBytes/2), 2},
		"as many as go":    {sized(maxBulk, 10), maxBulk},
		"one more":         {sized(maxBulk+1, 10), maxBulk},
	} {
		t.Run(name, func(t *testing.T) { want(t, tc.want, fitting(tc.changes)) })
	}
}

// All documents are written if there are more than fit into one bulk write.
func TestApplyAndDeleteInPieces(t *testing.T) {
	f := startFake(t)
	f.reply = func(name string, c bson.Raw) bson.D {
		if name == "insert" || name == "delete" {
			values, err := c.Lookup(map[string]string{"insert": "documents", "delete": "deletes"}[name]).Array().Values()
			if err != nil {
				t.Error(err)
			}
			return bson.D{{Key: "ok", Value: 1}, {Key: "n", Value: int32(len(values))}}
		}
		return nil
	}
	d := f.open(t)
	var changes []change
	var ids []string
	for i := range 2*maxBulk + 1 {
		id := fmt.Sprintf("a/%d", i)
		ids = append(ids, id)
		changes = append(changes, change{id: id, insert: true, doc: document(t, field("_id", id))})
	}
	if err := errors.Join(d.Apply(t.Context(), bodies, changes), d.Delete(t.Context(), bodies, ids)); err != nil {
		t.Fatal(err)
	}
	for name, in := range map[string]string{"insert": "documents", "delete": "deletes"} {
		total := 0
		for _, c := range f.commands(name) {
			values, err := c.Lookup(in).Array().Values()
			if err != nil {
				t.Fatal(err)
			}
			if total += len(values); len(values) > maxBulk {
				t.Errorf("%d in one %s", len(values), name)
			}
		}
		want(t, len(ids), total)
	}
}

func TestTooLargeIsNotSent(t *testing.T) {
	f := startFake(t)
	d := f.open(t)
	doc := document(t, field("_id", "a/1"), field("v", int64(1)), field("data", make([]byte, maxDocument)))
	for what, err := range map[string]error{
		"insert": d.Insert(t.Context(), journal, doc),
		"update": d.Apply(t.Context(), journal, []change{{id: "a/1", version: 1, doc: doc}}),
	} {
		if !errors.Is(err, errRefused) {
			t.Errorf("%s: %v", what, err)
		}
		want(t, 0, len(f.commands(what)))
	}
}

// The sentinel errors stand for errors after which it is certain that nothing was changed, and
// for no others.
func TestErrors(t *testing.T) {
	write := func(code int, message string) error {
		return mongo.WriteException{WriteErrors: mongo.WriteErrors{{Code: code, Message: message}}}
	}
	command := func(code int32, message string) error { return mongo.CommandError{Code: code, Message: message} }
	unsure := &mongo.WriteConcernError{Code: 64, Message: "waiting for replication timed out"}
	for name, tc := range map[string]struct {
		err  error
		want error // nil means that the outcome is uncertain
	}{
		"disk full":                     {write(14031, "no space"), errUnwritable},
		"disk full, of a bulk":          {mongo.BulkWriteException{WriteErrors: []mongo.BulkWriteError{{WriteError: mongo.WriteError{Code: 14031}}}}, errUnwritable},
		"disk full, the command":        {command(14031, ""), errUnwritable},
		"read-only":                     {command(20, "Cannot execute a write operation in read-only mode"), errUnwritable},
		"another illegal operation":     {command(20, "Transaction numbers are only allowed on a replica set member"), nil},
		"writes blocked":                {command(371, "User writes blocked"), errUnwritable},
		"over quota":                    {command(8000, "you are over your space quota"), errUnwritable},
		"not authorised":                {command(13, "not authorized"), errRefused},
		"wrong password":                {command(18, "Authentication failed."), errRefused},
		"wrong password, hosted":        {command(8000, "bad auth : authentication failed"), errRefused},
		"somebody's validator":          {write(121, "Document failed validation"), errRefused},
		"not the primary":               {command(10107, "not primary"), nil},
		"stepped down":                  {command(189, ""), nil},
		"shutting down":                 {command(91, ""), nil},
		"took too long":                 {command(50, ""), nil},
		"majority not reached":          {mongo.WriteException{WriteConcernError: unsure}, nil},
		"disk full and majority missed": {mongo.WriteException{WriteConcernError: unsure, WriteErrors: mongo.WriteErrors{{Code: 14031}}}, nil},
		"bulk, majority missed":         {mongo.BulkWriteException{WriteConcernError: &mongo.WriteConcernError{Code: 13}}, nil},
		"the network":                   {io.ErrUnexpectedEOF, nil},
		"the deadline":                  {context.DeadlineExceeded, nil},
		"something new":                 {command(99999, "13"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			err := classifyError(fmt.Errorf("a change: %w", tc.err))
			for _, sentinel := range []error{errDuplicateID, errUnwritable, errRefused} {
				if errors.Is(err, sentinel) != (sentinel == tc.want) { //nolint:errorlint // compares sentinels
					t.Errorf("%v: errors.Is %q %v", err, sentinel, errors.Is(err, sentinel))
				}
			}
		})
	}
}

// Errors of the server are mapped to sentinel errors.
func TestErrorsOfOperations(t *testing.T) {
	f := startFake(t)
	var code atomic.Int32
	f.reply = func(string, bson.Raw) bson.D {
		if c := code.Load(); c != 0 {
			return bson.D{{Key: "ok", Value: 0}, {Key: "code", Value: c}, {Key: "errmsg", Value: "no"}}
		}
		return nil
	}
	d := f.open(t)
	for c, want := range map[int32]error{13: errRefused, 14031: errUnwritable} {
		code.Store(c)
		_, got := d.Get(t.Context(), journal, "a/1")
		var ranged error
		for _, err := range d.Range(t.Context(), journal, idRange{from: "a/", to: "a0"}) {
			ranged = err
		}
		for what, err := range map[string]error{
			"get": got, "range": ranged,
			"insert": d.Insert(t.Context(), journal, document(t, field("_id", "a/1"))),
			"apply":  d.Apply(t.Context(), journal, []change{versioned(t, "a/1", 1, 1)}),
			"delete": d.Delete(t.Context(), journal, []string{"a/1"}),
			"purge":  d.Purge(t.Context(), journal, idRange{from: "a/", to: "a0"}, time.UnixMilli(1)),
			"clear":  d.Clear(t.Context(), journal, idRange{from: "a/", to: "a0"}, "x"),
		} {
			if !errors.Is(err, want) {
				t.Errorf("%s, code %d: %v; want %v", what, c, err, want)
			}
		}
	}
}
