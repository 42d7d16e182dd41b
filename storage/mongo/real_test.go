package mongo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"mayfly/engine"
	"mayfly/storage/mongo/mongotest"
)

// realTests are tests that need a real server. They run when MAYFLY_TEST_MONGO names one, and
// those are skipped for which it is not the right kind. compose.yaml starts a replica set.
//
//	election   replica set      commits continue during a step-down of the primary, and none is lost
//	majority   replica set      an acknowledged write is read from a majority at once, without a session
//	purge      TTL indexes      the server removes documents with a purgeAt in the past, and nothing else
//	indexes    MongoDB itself   every index is created
//	shards     mongos           an _id is unique, and ranges are in order, across shards
var realTests = []struct {
	name string
	run  func(t *testing.T, d *database, url string)
}{
	{"election", realElection},
	{"majority", realMajority},
	{"purge", realPurge},
	{"indexes", realIndexes},
	{"shards", realShards},
}

func TestReal(t *testing.T) {
	if !mongotest.Real() {
		return
	}
	for _, tc := range realTests {
		t.Run(tc.name, func(t *testing.T) {
			url := mongotest.URL(t)
			tc.run(t, openURL(t, url), url)
		})
	}
}

func needSet(t *testing.T, d *database) {
	t.Helper()
	if d.facts.set == "" {
		t.Skip("the server is no replica set")
	}
}

// administer runs a command on the database admin, and skips the test if the user is not
// authorized.
func administer(t *testing.T, d *database, command bson.D) error {
	t.Helper()
	err := d.client.Database("admin").RunCommand(t.Context(), command).Err()
	if unauthorized(err) {
		t.Skipf("the user may not %s", command[0].Key)
	}
	return err
}

func realElection(t *testing.T, d *database, url string) {
	needSet(t, d)
	const commits, stepDown = 300, 100
	open := func() *Store {
		s, err := Open(t.Context(), url, Options{Lease: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open()
	if err := s.Commit(t.Context(), &engine.Batch{Hard: true, Now: 1, Entities: []engine.Entity{{ID: 1, Kind: engine.Queue, Path: "q"}}}); err != nil {
		t.Fatal(err)
	}
	for i := range commits {
		if i == stepDown {
			err := administer(t, d, bson.D{{Key: "replSetStepDown", Value: 10}, {Key: "secondaryCatchUpPeriodSecs", Value: 5}})
			if err != nil && !mongo.IsNetworkError(err) {
				t.Fatal(err)
			}
		}
		k := engine.Key(1000 + i)
		b := &engine.Batch{Hard: true, Now: engine.Instant(i),
			Messages: []engine.Message{{Key: k, Content: k, Subqueue: 1}}, Contents: []engine.StoredContent{{Key: k}}}
		if err := s.Commit(t.Context(), b); err != nil {
			t.Fatalf("commit %d: %v", i, err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open()
	defer s.Close()
	n := 0
	for r, err := range s.Load(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := r.(engine.Message); ok {
			n++
		}
	}
	want(t, commits, n)
}

func realMajority(t *testing.T, d *database, _ string) {
	needSet(t, d)
	for i := range 50 {
		id := fmt.Sprintf("a/%02d", i)
		if err := d.Insert(t.Context(), journal, document(t, field("_id", id))); err != nil {
			t.Fatal(err)
		}
		if err := d.db.Collection(string(journal)).FindOne(t.Context(), bson.D{field("_id", id)}).Err(); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
}

func realPurge(t *testing.T, d *database, _ string) {
	if !ensured(t, d).ttl || d.facts.ferretVersion != "" {
		t.Skip("the server has no TTL indexes")
	}
	past, future := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	for id, fields := range map[string]bson.D{
		"a/gone":   {field("purgeAt", past)},
		"a/later":  {field("purgeAt", future)},
		"a/number": {field("purgeAt", int64(1))},
		"a/never":  {field("expiresAt", past)},
	} {
		doc := append(bson.D{field("_id", id), field("v", int64(1)), field("ns", "a")}, fields...)
		if err := d.Insert(t.Context(), messages, document(t, doc...)); err != nil {
			t.Fatal(err)
		}
	}
	// The TTL monitor runs once a minute.
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		doc, err := d.Get(ctx, messages, "a/gone")
		if err != nil {
			t.Fatal(err)
		}
		if doc == nil {
			break
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("the document still exists")
		}
	}
	want(t, []string{"a/later", "a/never", "a/number"}, idsOf(t, d, messages, within("a")))
}

func realIndexes(t *testing.T, d *database, _ string) {
	if d.facts.ferretVersion != "" {
		t.Skip("the server is FerretDB")
	}
	for range 2 {
		if can := ensured(t, d); !can.ttl || !can.partial {
			t.Errorf("not all: %+v", can)
		}
	}
}

// realShards tests that the contract of server holds when the collections are split in two, on
// two shards if there are as many.
func realShards(t *testing.T, d *database, _ string) {
	if !d.facts.sharded {
		t.Skip("the server is not sharded")
	}
	var list struct {
		Shards []struct {
			ID string `bson:"_id"`
		} `bson:"shards"`
	}
	if err := d.client.Database("admin").RunCommand(t.Context(), bson.D{{Key: "listShards", Value: 1}}).Decode(&list); err != nil {
		t.Fatal(err)
	}
	if len(list.Shards) < 2 {
		t.Log("there is one shard")
	}
	testServer(t, func(t *testing.T) server {
		d := openURL(t, mongotest.URL(t))
		middle := bson.D{field("_id", "a/2")}
		for _, in := range []collection{owners, journal, messages} {
			name := d.db.Name() + "." + string(in)
			errs := []error{
				administer(t, d, bson.D{{Key: "shardCollection", Value: name}, {Key: "key", Value: bson.D{field("_id", 1)}}}),
				administer(t, d, bson.D{{Key: "split", Value: name}, {Key: "middle", Value: middle}}),
			}
			// It is not an error if one of the shards has the chunk already.
			for _, s := range list.Shards[:min(len(list.Shards), 2)] {
				errs = append(errs, administer(t, d, bson.D{{Key: "moveChunk", Value: name}, {Key: "find", Value: middle}, {Key: "to", Value: s.ID}}))
			}
			if err := errors.Join(slices.DeleteFunc(errs, func(err error) bool { return err == nil })...); err != nil {
				t.Fatal(err)
			}
		}
		return d
	})
}
