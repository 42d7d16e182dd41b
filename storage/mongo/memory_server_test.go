package mongo

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// A toy is a server in memory that fulfils the contract in the comments of server, immediately.
// It never fails: a client injects failures of requests to it (sim_client_test.go).
type toy struct {
	// unguarded ignores the version of a change, so that the last change wins. It is for tests
	// that show why versions are needed.
	unguarded bool
	// unburied deletes a document instead of writing a tombstone. It is for tests that show why
	// tombstones are needed.
	unburied bool

	mu      sync.Mutex // not held across waits
	shelves map[collection][]toyDocument
}

type toyDocument struct {
	id  string
	doc bson.Raw
}

var _ server = (*toy)(nil)

func byID(d toyDocument, id string) int { return strings.Compare(d.id, id) }

// find returns the index of id in a collection, or the index at which to insert it.
func (t *toy) find(in collection, id string) (int, bool) {
	return slices.BinarySearchFunc(t.shelves[in], id, byID)
}

func (t *toy) put(in collection, i int, d toyDocument) {
	if t.shelves == nil {
		t.shelves = map[collection][]toyDocument{}
	}
	t.shelves[in] = slices.Insert(t.shelves[in], i, d)
}

// idOf returns a document's _id, which is always a string.
func idOf(doc bson.Raw) string { return doc.Lookup("_id").StringValue() }

func (t *toy) Insert(ctx context.Context, in collection, doc bson.Raw) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	id := idOf(doc)
	i, there := t.find(in, id)
	if there {
		return fmt.Errorf("%s %s: %w", in, id, errDuplicateID)
	}
	t.put(in, i, toyDocument{id, bytes.Clone(doc)})
	return nil
}

func (t *toy) Get(ctx context.Context, in collection, id string) (bson.Raw, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	i, there := t.find(in, id)
	if !there {
		return nil, nil
	}
	return bytes.Clone(t.shelves[in][i].doc), nil
}

// Range yields each document as it is when it is reached.
func (t *toy) Range(ctx context.Context, in collection, r idRange) iter.Seq2[bson.Raw, error] {
	return func(yield func(bson.Raw, error) bool) {
		for n := 0; r.limit == 0 || n < r.limit; n++ {
			if ctx.Err() != nil {
				yield(nil, context.Cause(ctx))
				return
			}
			next := t.some(in, r, 1)
			if len(next) == 0 {
				return
			}
			r = r.past(next[0].id)
			if doc := project(next[0].doc, r.fields); !yield(doc, nil) {
				return
			}
			clear(next[0].doc) // documents are valid only until the next one
		}
	}
}

// past returns the part of r after the document id.
func (r idRange) past(id string) idRange {
	if r.backwards {
		r.to = id
	} else {
		r.from = id + "\x00"
	}
	return r
}

// some returns the first most documents of a range, or all of them if most is zero. It ignores
// the range's limit.
func (t *toy) some(in collection, r idRange, most int) []toyDocument {
	t.mu.Lock()
	defer t.mu.Unlock()
	from, _ := t.find(in, r.from)
	to, _ := t.find(in, r.to)
	var found []toyDocument
	for n := range max(to-from, 0) {
		i := from + n
		if r.backwards {
			i = to - 1 - n
		}
		if d := t.shelves[in][i]; matches(d.doc, r.match) {
			if found = append(found, toyDocument{d.id, bytes.Clone(d.doc)}); len(found) == most {
				break
			}
		}
	}
	return found
}

func matches(doc bson.Raw, want bson.D) bool {
	if len(want) == 0 {
		return true
	}
	b, err := bson.Marshal(want)
	if err != nil {
		panic(err)
	}
	elements, err := bson.Raw(b).Elements()
	if err != nil {
		panic(err)
	}
	for _, e := range elements {
		if v, err := doc.LookupErr(e.Key()); err != nil || !v.Equal(e.Value()) {
			return false
		}
	}
	return true
}

// project returns a copy of doc with only _id and these fields, or with all if fields is nil.
func project(doc bson.Raw, fields []string) bson.Raw {
	if fields == nil {
		return doc
	}
	return keep(doc, func(key string) bool { return key == "_id" || slices.Contains(fields, key) })
}

func keep(doc bson.Raw, wanted func(key string) bool) bson.Raw {
	elements, err := doc.Elements()
	if err != nil {
		panic(err)
	}
	b := make([]byte, 4, len(doc))
	for _, e := range elements {
		if wanted(e.Key()) {
			b = append(b, e...)
		}
	}
	b = append(b, 0)
	binary.LittleEndian.PutUint32(b, uint32(len(b)))
	return b
}

func (t *toy) Apply(ctx context.Context, in collection, changes []change) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for _, c := range changes {
		t.change(in, c)
	}
	return nil
}

func (t *toy) change(in collection, c change) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if id := idOf(c.doc); id != c.id {
		panic(fmt.Sprintf("a change of %s puts %s", c.id, id))
	}
	if v := c.doc.Lookup("v"); !c.insert && v.AsInt64() != c.version {
		panic(fmt.Sprintf("a change of %s to version %d puts version %v", c.id, c.version, v))
	}
	gone, _ := c.doc.Lookup("gone").BooleanOK()
	i, there := t.find(in, c.id)
	switch {
	case !there && gone && t.unburied:
	case !there:
		t.put(in, i, toyDocument{c.id, bytes.Clone(c.doc)})
	case c.insert:
	case !t.unguarded && t.shelves[in][i].doc.Lookup("v").AsInt64() >= c.version:
	case gone && t.unburied:
		t.shelves[in] = slices.Delete(t.shelves[in], i, i+1)
	default:
		t.shelves[in][i].doc = bytes.Clone(c.doc)
	}
}

func (t *toy) Delete(ctx context.Context, in collection, ids []string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, id := range ids {
		if i, there := t.find(in, id); there {
			t.shelves[in] = slices.Delete(t.shelves[in], i, i+1)
		}
	}
	return nil
}

func (t *toy) Clear(ctx context.Context, in collection, r idRange, field string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	from, _ := t.find(in, r.from)
	to, _ := t.find(in, r.to)
	for i := from; i < to; i++ {
		if d := &t.shelves[in][i]; matches(d.doc, r.match) {
			d.doc = keep(d.doc, func(key string) bool { return key != field })
		}
	}
	return nil
}

func (t *toy) Purge(ctx context.Context, in collection, r idRange, at time.Time) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.shelves[in] = slices.DeleteFunc(t.shelves[in], func(d toyDocument) bool {
		gone, _ := d.doc.Lookup("gone").BooleanOK()
		over, ok := d.doc.Lookup("purgeAt").DateTimeOK()
		return d.id >= r.from && d.id < r.to && matches(d.doc, r.match) && gone && ok && over <= at.UnixMilli()
	})
	return nil
}

// purge does what MongoDB's TTL monitor does: it deletes documents whose purgeAt has passed,
// without telling anyone.
func (t *toy) purge(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for in := range t.shelves {
		t.shelves[in] = slices.DeleteFunc(t.shelves[in], func(d toyDocument) bool {
			at, ok := d.doc.Lookup("purgeAt").DateTimeOK()
			return ok && at <= now.UnixMilli()
		})
	}
}

// ids returns the _ids of a collection, in order.
func (t *toy) ids(in collection) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	ids := make([]string, len(t.shelves[in]))
	for i, d := range t.shelves[in] {
		ids[i] = d.id
	}
	return ids
}
