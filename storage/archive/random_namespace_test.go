package archive_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"mayfly/engine"
	"mayfly/engine/enginetest"
	"mayfly/engine/value"
	"mayfly/storage/archive"
	"mayfly/storage/memory"
)

// identities calls do with every key and subqueue id anywhere in *v, and sets it to the result.
// It finds them by type, so that fields that are added to a record are covered automatically.
func identities(v reflect.Value, do func(uint64) uint64) {
	switch v.Type() {
	case reflect.TypeFor[engine.Key](), reflect.TypeFor[engine.SubqueueID]():
		v.SetUint(do(v.Uint()))
		return
	case reflect.TypeFor[value.Properties]():
		return
	case reflect.TypeFor[engine.SeenIDs]():
		v.FieldByName("N").SetUint(do(v.FieldByName("N").Uint()))
	}
	switch v.Kind() {
	case reflect.Struct:
		for _, f := range v.Fields() {
			identities(f, do)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			identities(v.Elem(), do)
		}
	case reflect.Slice:
		for i := range v.Len() {
			identities(v.Index(i), do)
		}
	default:
	}
}

// contents is everything in a store, with identities replaced by their ranks and events in
// their order.
type contents struct {
	Records []engine.Record
	Events  []engine.HistoryEvent
	Bodies  map[uint64]string
}

type store interface {
	engine.Store
	engine.History
}

func existingContent(t *testing.T, s store) contents {
	t.Helper()
	c := contents{Bodies: map[uint64]string{}}
	for r, err := range s.Load(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		c.Records = append(c.Records, r)
	}
	for e, err := range s.QueryEvents(t.Context(), engine.HistoryQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		e.Epoch, e.N = 0, uint64(len(c.Events))
		if e.Entity != nil {
			own := *e.Entity
			e.Entity = &own
		}
		e.Rules, e.Subscriptions = slices.Clone(e.Rules), slices.Clone(e.Subscriptions)
		c.Events = append(c.Events, e)
	}
	ids := map[uint64]uint64{}
	each := func(do func(uint64) uint64) {
		for i, r := range c.Records {
			own := reflect.New(reflect.TypeOf(r)).Elem()
			own.Set(reflect.ValueOf(r))
			identities(own, do)
			c.Records[i], _ = reflect.TypeAssert[engine.Record](own)
		}
		for i := range c.Events {
			identities(reflect.ValueOf(&c.Events[i]), do)
		}
	}
	bodies := map[uint64]string{}
	for _, r := range c.Records {
		if r, ok := r.(engine.StoredContent); ok && r.Content.BodySize() > 0 {
			bodies[uint64(r.Key)] = string(read(t, s, r.Key))
		}
	}
	each(func(id uint64) uint64 { ids[id] = 0; return id })
	for rank, id := range slices.Sorted(maps.Keys(ids)) {
		ids[id] = uint64(rank) + 1
	}
	ids[0] = 0
	each(func(id uint64) uint64 { return ids[id] })
	for k, b := range bodies {
		c.Bodies[ids[k]] = b
	}
	slices.SortFunc(c.Records, func(a, b engine.Record) int {
		return cmp.Compare(order(a), order(b))
	})
	return c
}

func order(r engine.Record) string {
	switch r := r.(type) {
	case engine.Access:
		return "0 access"
	case engine.Setting:
		return "0 setting " + r.Key
	case engine.Entity:
		return fmt.Sprintf("1 %09d", r.ID)
	case engine.Rule:
		return fmt.Sprintf("2 %09d %s", r.Subscription, r.Name)
	case engine.Meter:
		return fmt.Sprintf("3 %09d", r.Subqueue)
	case engine.SessionRecord:
		return fmt.Sprintf("4 %09d %s", r.Subqueue, r.ID)
	case engine.SeenIDs:
		return fmt.Sprintf("5 %09d %09d", r.Subqueue, r.N)
	case engine.StoredContent:
		return fmt.Sprintf("6 %09d", r.Key)
	case engine.Message:
		return fmt.Sprintf("7 %09d", r.Key)
	default:
		return "0"
	}
}

func read(t *testing.T, s engine.Store, k engine.Key) []byte {
	t.Helper()
	r, err := s.Body(t.Context(), k)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func differ(t *testing.T, what string, want, got any) {
	t.Helper()
	if d := gocmp.Diff(want, got, cmpopts.EquateEmpty(), gocmp.Comparer(func(a, b value.Value) bool { return a == b })); d != "" {
		t.Fatalf("%s (-want +got):\n%s", what, d)
	}
}

func commit(t *testing.T, s engine.Store, b *engine.Batch) {
	t.Helper()
	if err := s.Commit(t.Context(), b); err != nil {
		t.Fatal(err)
	}
}

func drawer(t *testing.T) enginetest.Generator {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return enginetest.NewGenerator(seed)
}

// A maker fills stores with random records, whose identities are of the store's epoch.
type maker struct {
	enginetest.Generator
	s     *memory.Store
	n     uint64
	given []uint64
	at    engine.Instant
}

func (m *maker) id() uint64 {
	m.n += 1 + m.Uint64N(50)
	id := m.s.Epoch()<<40 | m.n
	m.given = append(m.given, id)
	return id
}

// known returns an identity that was used before, perhaps that of a dropped record.
func (m *maker) known(uint64) uint64 { return m.given[m.IntN(len(m.given))] }

// random returns a store with every kind of record, of three epochs, each with n contents that
// have bodies of critical lengths, and with 25 n events.
func random(t *testing.T, d enginetest.Generator, n int) *memory.Store {
	m := &maker{Generator: d, s: new(memory.Store), at: 1000}
	sizes := []int64{0, 1, 1000, 65_536, 65_537, 262_144, 262_145, 700_000}
	var ids []engine.SubqueueID
	for range 3 {
		m.s, m.n = m.s.Reopen(), 0
		b := &engine.Batch{Hard: true, Now: m.at, Access: &engine.Access{}}
		m.Fill(b.Access)
		for i := range 4 {
			var v engine.Setting
			m.Fill(&v)
			v.Key = fmt.Sprint(i)
			b.Settings = append(b.Settings, v)
		}
		b.DropSettings = []string{"gone"}
		for range 5 {
			var e engine.Entity
			m.Fill(&e)
			e.ID, e.DeadLetterID, e.TransferID, e.Kind = engine.SubqueueID(m.id()), engine.SubqueueID(m.id()), engine.SubqueueID(m.id()), engine.EntityKind(1+m.IntN(3))
			b.Entities = append(b.Entities, e)
			ids = append(ids, e.ID, e.DeadLetterID, e.TransferID)
			b.Meters = append(b.Meters, engine.Meter{Subqueue: e.ID, NextSeq: 9, LastUsed: 8, AccessedAt: 7}, engine.Meter{Subqueue: e.DeadLetterID})
			var r engine.Rule
			m.Fill(&r)
			r.Subscription, r.Name = e.ID, m.Name()
			b.Rules = append(b.Rules, r)
			for i := range 3 {
				var v engine.SessionRecord
				m.Fill(&v)
				v.Subqueue, v.ID = e.ID, v.ID+fmt.Sprint(i)
				b.Sessions = append(b.Sessions, v)
				seen := engine.SeenIDs{Subqueue: e.ID, N: m.id(), At: m.at}
				for range 10 * i {
					seen.Digests = append(seen.Digests, engine.Digest(m.Bytes(16)))
				}
				b.Seen = append(b.Seen, seen)
			}
		}
		for i := range n {
			var c engine.Content
			m.Fill(&c)
			c.BodySize = sizes[i%len(sizes)]
			k := engine.Key(m.id())
			b.Contents = append(b.Contents, engine.StoredContent{Key: k, Content: c.Pack()})
			if c.BodySize > 0 {
				b.Bodies = append(b.Bodies, engine.Body{Key: k, Bytes: m.Bytes(int(c.BodySize))})
			}
			for copies := range 2 {
				var g engine.Message
				m.Fill(&g)
				if g.Key, g.Content, g.Subqueue = k, k, ids[m.IntN(len(ids))]; copies > 0 {
					g.Key = engine.Key(m.id())
				}
				b.Messages = append(b.Messages, g)
			}
		}
		for range 25 * n {
			var e engine.Event
			m.Fill(&e)
			identities(reflect.ValueOf(&e), m.known)
			m.at += engine.Instant(m.IntN(2))
			m.given = append(m.given, m.s.Epoch()<<40|(m.n+1_000_000)) // the identity of a dropped record
			e.At, e.N = m.at, uint64(m.IntN(1<<20))<<20|uint64(len(m.given))
			if e.Audit {
				b.Audit = append(b.Audit, e)
			} else if err := m.s.AppendEvents(t.Context(), []engine.Event{e}); err != nil {
				t.Fatal(err)
			}
		}
		commit(t, m.s, b)
	}
	return m.s
}

func backup(t *testing.T, s archive.Source) []byte {
	t.Helper()
	var file bytes.Buffer
	if _, err := archive.Write(t.Context(), &file, s, archive.Header{Namespace: "shop", Source: "memory", Made: 5, History: true}); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

func checked(t *testing.T, file []byte) *archive.CheckedBackup {
	t.Helper()
	c, err := archive.Check(t.Context(), bytes.NewReader(file), nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// restore restores a file and reopens the store, as the next server does.
func restore(t *testing.T, file []byte, into *memory.Store) *memory.Store {
	t.Helper()
	if _, err := checked(t, file).Restore(context.WithoutCancel(t.Context()), into); err != nil {
		t.Fatal(err)
	}
	return into.Reopen()
}
