package mongo

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mayfly/engine"
	"mayfly/engine/namespaces"
)

var _ namespaces.Catalogue = (*Catalogue)(nil)

// A Catalogue keeps the additional namespaces of a database, which all servers on it share, in
// the collection namespaces: one document for each that ever existed. A namespace that is
// created again after it was removed is stored under another name, shop.2, so that late writes
// of a server that has not yet noticed the removal do not show up in it.
type Catalogue struct {
	URL     string
	Clients *Clients     // shared connections; nil means that the catalogue opens its own
	Logger  *slog.Logger // nil means no logging

	removedReads map[string]int // by document: how often it was read as removed

	heartbeat int64                      // number of calls of Heartbeat
	others    map[string]serverHeartbeat // of other servers, by name

	once       sync.Once
	connecting chan struct{} // made by once; held while a caller uses db
	db         *database     // nil until needed
}

// namespaceDocs holds a document for each namespace that was ever created, by name and number.
const namespaceDocs collection = "namespaces"

// namespaceDoc is a document of namespaces.
type namespaceDoc struct {
	ID    string `bson:"_id"`
	V     int64  `bson:"v"`
	Spec  string `bson:"spec"` // JSON
	Gone  bool   `bson:"gone,omitempty"`
	Swept bool   `bson:"swept,omitempty"` // nothing is left of its content
}

// The versions of removed namespaces are above all others, so that no late write brings one
// back.
const (
	versionGone  = 1 << 40
	versionSwept = versionGone + 1
)

func namespaceID(name string, number int) string { return fmt.Sprintf("%s/%06d", name, number) }

// lockDB locks db; give unlocks it. It is not a mutex: connecting to a server that does not
// answer takes seconds, and ctx must be able to end the wait.
func (c *Catalogue) lockDB(ctx context.Context) (give func(), err error) {
	c.once.Do(func() { c.connecting = make(chan struct{}, 1) })
	select {
	case c.connecting <- struct{}{}:
		return func() { <-c.connecting }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// server returns the database, connecting on the first call.
func (c *Catalogue) server(ctx context.Context) (server, error) {
	give, err := c.lockDB(ctx)
	if err != nil {
		return nil, err
	}
	defer give()
	if c.db == nil {
		db, _, err := connect(ctx, c.URL, c.Clients, cmp.Or(c.Logger, slog.New(slog.DiscardHandler)))
		if err != nil {
			return nil, err
		}
		c.db = db
	}
	return c.db, nil
}

// Close disconnects.
func (c *Catalogue) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closePatience)
	defer cancel()
	give, err := c.lockDB(ctx)
	if err != nil {
		return err
	}
	defer give()
	if c.db == nil {
		return nil
	}
	db := c.db
	c.db = nil
	return db.close(ctx)
}

// List implements [namespaces.Catalogue]. A namespace whose document cannot be read gets the
// server's limits.
func (c *Catalogue) List(ctx context.Context) (all []namespaces.Spec, err error) {
	on, err := c.server(ctx)
	if err != nil {
		return nil, err
	}
	everything := idRange{from: "", to: "{"} // "{" sorts after every character that can begin a name
	var left []namespaceDoc
	for raw, err := range on.Range(ctx, namespaceDocs, everything) {
		if err != nil {
			return nil, err
		}
		var d namespaceDoc
		if err := bson.Unmarshal(raw, &d); err != nil {
			return nil, err
		}
		if d.Gone {
			if !d.Swept {
				left = append(left, d)
			}
			continue
		}
		if s, ok := c.read(d); ok {
			all = append(all, s)
		}
	}
	c.sweep(ctx, on, left)
	return all, nil
}

// read decodes a document; ok is false if it does not describe a namespace.
func (c *Catalogue) read(d namespaceDoc) (s namespaces.Spec, ok bool) {
	name, _, _ := strings.Cut(d.ID, "/")
	number, err := parseNumber(d.ID, 0)
	if parsed, bad := namespaces.ParseName(name); err != nil || bad != nil || parsed != name {
		return s, false
	}
	if err := json.Unmarshal([]byte(d.Spec), &s); err != nil {
		c.log().Warn("the properties of a namespace cannot be read; using the server's limits", "namespace", name, "err", err)
		s = namespaces.Spec{}
	}
	s.Name, s.StoredName, s.Temporary, s.Until = name, storedName(name, int(number)), false, time.Time{}
	return s, true
}

func (c *Catalogue) log() *slog.Logger { return cmp.Or(c.Logger, slog.New(slog.DiscardHandler)) }

// storedName returns the name that a namespace is stored under; empty means its own name.
func storedName(name string, number int) string {
	if number <= 1 {
		return ""
	}
	return fmt.Sprintf("%s.%d", name, number)
}

// specID returns the _id of a namespace's document.
func specID(s namespaces.Spec) string {
	number := 1
	if _, text, ok := strings.Cut(s.StoredName, "."); ok {
		number, _ = strconv.Atoi(text) //nolint:errcheck // storedName wrote it
	}
	return namespaceID(s.Name, number)
}

// sweepAfter is how many times a namespace must have been read as removed before the rest of
// its content is swept: by then no other server has it open.
const sweepAfter = 30

// sweep erases the rest of removed namespaces: documents that were not yet erased when their
// server ended, and documents written by a server that had not yet noticed the removal. The
// first namespace of a name is left alone: a server's own namespace may have that name by now.
func (c *Catalogue) sweep(ctx context.Context, on server, left []namespaceDoc) {
	reads := map[string]int{}
	for _, d := range left {
		if reads[d.ID] = c.removedReads[d.ID] + 1; reads[d.ID] < sweepAfter {
			continue
		}
		reads[d.ID] = 0
		name, _, _ := strings.Cut(d.ID, "/")
		number, err := parseNumber(d.ID, 0)
		if as := storedName(name, int(number)); err == nil && as != "" {
			err = eraseNamespace(ctx, on, as)
		}
		if err == nil {
			d.V, d.Swept = versionSwept, true
			err = on.Apply(ctx, namespaceDocs, []change{{id: d.ID, version: d.V, doc: marshal(d)}})
		}
		if err != nil {
			c.log().Warn("the remains of a deleted namespace were not removed; retrying", "namespace", name, "err", err)
		}
	}
	c.removedReads = reads
}

// latest returns the document with the highest number for a name, and that number, which is zero
// if there is none.
func (c *Catalogue) latest(ctx context.Context, on server, name string) (d namespaceDoc, number int, err error) {
	r := within(name)
	r.backwards, r.limit = true, 1
	for raw, err := range on.Range(ctx, namespaceDocs, r) {
		if err != nil {
			return d, 0, err
		}
		if err := bson.Unmarshal(raw, &d); err != nil {
			return d, 0, err
		}
		n, err := parseNumber(d.ID, 0)
		return d, int(n), err
	}
	return d, 0, nil
}

// Add implements [namespaces.Catalogue]. If servers add the same name at the same time, one
// succeeds. The name of a server's own namespace counts as taken.
func (c *Catalogue) Add(ctx context.Context, s namespaces.Spec) (namespaces.Spec, error) {
	taken := engine.Refuse(namespaces.ErrNamespaceExists, "The namespace '%s' already exists in this database.", s.Name)
	on, err := c.server(ctx)
	if err != nil {
		return s, err
	}
	last, number, err := c.latest(ctx, on, s.Name)
	switch {
	case err != nil:
		return s, err
	case number > 0 && !last.Gone:
		return s, taken
	case number == 0:
		raw, err := on.Get(ctx, settings, docIDs(s.Name).setting("format"))
		if err != nil {
			return s, err
		}
		if raw != nil {
			return s, taken
		}
	default:
		s.StoredName = storedName(s.Name, number+1)
	}
	text, err := json.Marshal(s)
	if err != nil {
		return s, err
	}
	err = on.Insert(ctx, namespaceDocs, marshal(namespaceDoc{ID: namespaceID(s.Name, number+1), V: 1, Spec: string(text)}))
	if errors.Is(err, errDuplicateID) {
		err = taken
	}
	return s, err
}

// Change implements [namespaces.Catalogue]. Other servers notice it when they read the catalogue
// again. If servers change a namespace at the same time, one succeeds; if one changes it and
// another removes it, the removal wins.
func (c *Catalogue) Change(ctx context.Context, s namespaces.Spec) error {
	on, err := c.server(ctx)
	if err != nil {
		return err
	}
	d, err := c.get(ctx, on, specID(s))
	if err != nil {
		return err
	}
	if d.ID == "" || d.Gone {
		return engine.Refuse(namespaces.ErrNoNamespace, "The namespace '%s' no longer exists.", s.Name)
	}
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	d.V, d.Spec = d.V+1, string(text)
	if err := on.Apply(ctx, namespaceDocs, []change{{id: d.ID, version: d.V, doc: marshal(d)}}); err != nil {
		return err
	}
	if is, err := c.get(ctx, on, d.ID); err != nil {
		return err
	} else if is.Spec != d.Spec || is.Gone {
		return engine.Refuse(engine.ErrChanged, "The namespace '%s' was changed by another server at the same time.", s.Name)
	}
	return nil
}

// Remove implements [namespaces.Catalogue]; it cannot be undone. Other servers notice it when
// they read the catalogue again. Documents that cannot be erased now are swept later.
func (c *Catalogue) Remove(ctx context.Context, s namespaces.Spec, closed func() error) (aside string, err error) {
	on, err := c.server(ctx)
	if err != nil {
		return "", err
	}
	d, err := c.get(ctx, on, specID(s))
	if err != nil {
		return "", err
	}
	if d.ID != "" && !d.Gone {
		d.V, d.Gone = versionGone, true
		if err := on.Apply(ctx, namespaceDocs, []change{{id: d.ID, version: d.V, doc: marshal(d)}}); err != nil {
			return "", err
		}
	}
	if err := closed(); err != nil {
		return "", err
	}
	if err := eraseNamespace(ctx, on, cmp.Or(s.StoredName, s.Name)); err != nil {
		c.log().Warn("a deleted namespace was not completely removed; retrying", "namespace", s.Name, "err", err)
	}
	return "", nil
}

// get returns a document. If there is none, ID is empty.
func (c *Catalogue) get(ctx context.Context, on server, id string) (d namespaceDoc, err error) {
	raw, err := on.Get(ctx, namespaceDocs, id)
	if err != nil || raw == nil {
		return d, err
	}
	return d, bson.Unmarshal(raw, &d)
}

// eraseNamespace deletes all documents of the namespace that is stored under a name.
func eraseNamespace(ctx context.Context, on server, name string) error {
	all := docIDs(name).all()
	for _, in := range []collection{
		messages, contents, bodies, large, chunks, history, journal, parts, entities, rules, meters, sessions, seen, seenDropsColl, namespaceSettings, settings, owners,
	} {
		if err := erase(ctx, on, in, all); err != nil {
			return err
		}
	}
	return nil
}

// erase deletes a range of documents, a thousand at a time.
func erase(ctx context.Context, on server, in collection, all idRange) error {
	all.limit, all.fields = 1000, []string{"v"}
	for {
		var ids []string
		for raw, err := range on.Range(ctx, in, all) {
			if err != nil {
				return err
			}
			ids = append(ids, raw.Lookup("_id").StringValue())
		}
		if len(ids) == 0 {
			return nil
		}
		if err := on.Delete(ctx, in, ids); err != nil {
			return err
		}
	}
}
