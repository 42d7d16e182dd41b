package mongo_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"mayfly/engine"
	"mayfly/storage/mongo"
	"mayfly/storage/mongo/mongotest"
)

// The figures that matter are ratios: the store against a loop that inserts one document per
// message with the same driver into the same server. Run them against a real server:
//
//	MAYFLY_TEST_MONGO=mongodb://… go test ./storage/mongo -run '^$' -bench .

const benchBody = 1024

// bench is a store with one queue.
type bench struct {
	s    engine.Store
	keys *engine.Keys
	body []byte
	seq  engine.Seq
}

func openBench(b *testing.B, url string) *bench {
	b.Helper()
	s, err := mongo.Open(b.Context(), url, mongo.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	out := &bench{s: s, keys: engine.NewKeys(s.Epoch()), body: make([]byte, benchBody)}
	for i := range out.body {
		out.body[i] = byte(rand.Uint32())
	}
	out.commit(b, &engine.Batch{Hard: true, Now: 1, Entities: []engine.Entity{{ID: 1, DeadLetterID: 2, Kind: engine.Queue, Path: "orders"}}})
	return out
}

func (x *bench) commit(b *testing.B, batch *engine.Batch) {
	b.Helper()
	if err := x.s.Commit(b.Context(), batch); err != nil {
		b.Fatal(err)
	}
}

// send returns a batch of n new messages, and the batch that completes them.
func (x *bench) send(n int) (sent, completed *engine.Batch) {
	now := engine.At(time.Now())
	sent, completed = &engine.Batch{Hard: true, Now: now}, &engine.Batch{Hard: true, Now: now}
	for range n {
		k := x.keys.Next()
		x.seq++
		c := engine.Content{MessageID: fmt.Sprint("m", x.seq), Subject: "bench", BodySize: benchBody}.Pack()
		sent.Messages = append(sent.Messages, engine.Message{Key: k, Content: k, Subqueue: 1, Seq: x.seq, EnqueuedSeq: x.seq, EnqueuedAt: now, ExpiresAt: now.Add(time.Hour)})
		sent.Written = append(sent.Written, c)
		sent.Contents = append(sent.Contents, engine.StoredContent{Key: k, Content: c})
		sent.Bodies = append(sent.Bodies, engine.Body{Key: k, Bytes: x.body})
		completed.DropMessages = append(completed.DropMessages, k)
		completed.DropContents = append(completed.DropContents, engine.DroppedContent{Key: k, HasBody: true})
	}
	return sent, completed
}

func rate(b *testing.B, messages int, began time.Time) float64 {
	r := float64(messages) / time.Since(began).Seconds()
	b.ReportMetric(r, "messages/s")
	return r
}

func BenchmarkCommit(b *testing.B) {
	for _, n := range []int{1, 16, 256, 1024} {
		b.Run(fmt.Sprintf("plain/%d", n), func(b *testing.B) { plain(b, n) })
		b.Run(fmt.Sprintf("send/%d", n), func(b *testing.B) {
			url := mongotest.URL(b)
			x := openBench(b, url)
			began, sent := time.Now(), 0
			for b.Loop() {
				batch, _ := x.send(n)
				x.commit(b, batch)
				sent += n
			}
			rate(b, sent, began)
			b.ReportMetric(float64(journalLength(b, url)), "journal-docs")
			heap(b)
		})
		b.Run(fmt.Sprintf("life/%d", n), func(b *testing.B) {
			x := openBench(b, mongotest.URL(b))
			began, sent := time.Now(), 0
			for b.Loop() {
				batch, done := x.send(n)
				x.commit(b, batch)
				x.commit(b, done)
				sent += n
			}
			rate(b, sent, began)
		})
	}
}

func connect(b *testing.B, url string) *driver.Client {
	b.Helper()
	c, err := driver.Connect(options.Client().ApplyURI(url))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := c.Disconnect(ctx); err != nil {
			b.Error(err)
		}
	})
	return c
}

// journalLength returns the number of documents in the journal when a load ends.
func journalLength(b *testing.B, at string) int64 {
	b.Helper()
	u, err := url.Parse(at)
	if err != nil {
		b.Fatal(err)
	}
	n, err := connect(b, at).Database(strings.TrimPrefix(u.Path, "/")).Collection("journal").CountDocuments(b.Context(), bson.D{})
	if err != nil {
		b.Fatal(err)
	}
	return n
}

func heap(b *testing.B) {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.HeapAlloc)/1e6, "heap-MB")
}

// plain inserts documents of the same size, n at a time, to compare with.
func plain(b *testing.B, n int) {
	c := connect(b, mongotest.ServerURL(b))
	journal := true
	in := c.Database(fmt.Sprintf("plain%d", rand.Uint32())).Collection("messages",
		options.Collection().SetWriteConcern(&writeconcern.WriteConcern{W: "majority", Journal: &journal}))
	b.Cleanup(func() {
		if err := in.Database().Drop(context.Background()); err != nil {
			b.Error(err)
		}
	})
	body := make([]byte, benchBody)
	began, sent := time.Now(), 0
	for b.Loop() {
		docs := make([]any, n)
		for i := range docs {
			sent++
			docs[i] = bson.D{{Key: "_id", Value: fmt.Sprintf("default/%020d", sent)}, {Key: "path", Value: "orders"}, {Key: "body", Value: body}}
		}
		if _, err := in.InsertMany(b.Context(), docs); err != nil {
			b.Fatal(err)
		}
	}
	rate(b, sent, began)
}

// BenchmarkStart opens and loads a namespace with many messages.
func BenchmarkStart(b *testing.B) {
	const many = 100_000
	url := mongotest.URL(b)
	x := openBench(b, url)
	for i := 0; i < many; i += 1000 {
		batch, _ := x.send(1000)
		x.commit(b, batch)
	}
	if err := x.s.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		began := time.Now()
		s, err := mongo.Open(b.Context(), url, mongo.Options{})
		if err != nil {
			b.Fatal(err)
		}
		opened := time.Since(began)
		n := 0
		for r, err := range s.Load(b.Context()) {
			if err != nil {
				b.Fatal(err)
			}
			if _, ok := r.(engine.Message); ok {
				n++
			}
		}
		if n != many {
			b.Fatalf("%d messages of %d", n, many)
		}
		b.ReportMetric(opened.Seconds(), "open-s")
		b.ReportMetric((time.Since(began) - opened).Seconds(), "load-s")
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
