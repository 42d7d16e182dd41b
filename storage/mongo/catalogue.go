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
	"mayfly/engine/fleet"
)

var _ fleet.Catalogue = (*Catalogue)(nil)

// A Catalogue is the namespaces of a database that every server on it has, beside
// its own: in namespaces a document for each that there was. One that is made anew
// after it was removed is kept under another name, shop.2, so that nothing of what
// a server may still write that has not heard of it comes up again.
type Catalogue struct {
	URL     string
	Clients *Clients     // what it connects by; nil: by one of its own
	Logger  *slog.Logger // nil: nobody hears of anything

	told map[string]int // by document: how often it was read that it is gone

	beat  int64           // how often Meet was called
	signs map[string]sign // of other servers, by name

	mu sync.Mutex
	db *database // guarded by mu; nil: it was not needed yet
}

// namespaces has a document for each namespace that was made, by name and number.
const namespaces collection = "namespaces"

// namespaceDoc is one of them.
type namespaceDoc struct {
	ID    string `bson:"_id"`
	V     int64  `bson:"v"`
	Spec  string `bson:"spec"` // JSON
	Gone  bool   `bson:"gone,omitempty"`
	Swept bool   `bson:"swept,omitempty"` // nothing is left of it
}

// The versions of what is gone are above all others: it does not come back.
const (
	versionGone  = 1 << 40
	versionSwept = versionGone + 1
)

func namespaceID(name string, number int) string { return fmt.Sprintf("%s/%06d", name, number) }

// server reaches the database, once.
func (c *Catalogue) server(ctx context.Context) (server, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.db == nil {
		db, _, err := connect(ctx, c.URL, c.Clients, cmp.Or(c.Logger, slog.New(slog.DiscardHandler)))
		if err != nil {
			return nil, err
		}
		c.db = db
	}
	return c.db, nil
}

// Close hangs up.
func (c *Catalogue) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.db == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), closePatience)
	defer cancel()
	db := c.db
	c.db = nil
	return db.close(ctx)
}

// List implements [fleet.Catalogue]. Of a document that does not say what the
// namespace is, that has the server's limits.
func (c *Catalogue) List(ctx context.Context) (all []fleet.Spec, err error) {
	on, err := c.server(ctx)
	if err != nil {
		return nil, err
	}
	everything := span{from: "", to: "{"} // after all that names begin with
	var left []namespaceDoc
	for raw, err := range on.Range(ctx, namespaces, everything) {
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

// read is what a document says; not ok: it is of no namespace.
func (c *Catalogue) read(d namespaceDoc) (s fleet.Spec, ok bool) {
	name, _, _ := strings.Cut(d.ID, "/")
	number, err := numberIn(d.ID, 0)
	if parsed, bad := fleet.ParseName(name); err != nil || bad != nil || parsed != name {
		return s, false
	}
	if err := json.Unmarshal([]byte(d.Spec), &s); err != nil {
		c.log().Warn("what a namespace is cannot be read; it has the server's limits", "namespace", name, "err", err)
		s = fleet.Spec{}
	}
	s.Name, s.Kept, s.Temporary, s.Until = name, keptAs(name, int(number)), false, time.Time{}
	return s, true
}

func (c *Catalogue) log() *slog.Logger { return cmp.Or(c.Logger, slog.New(slog.DiscardHandler)) }

// keptAs is what the namespace of a number is kept as; empty: as it is called.
func keptAs(name string, number int) string {
	if number <= 1 {
		return ""
	}
	return fmt.Sprintf("%s.%d", name, number)
}

// specID is the document of a namespace.
func specID(s fleet.Spec) string {
	number := 1
	if _, text, ok := strings.Cut(s.Kept, "."); ok {
		number, _ = strconv.Atoi(text) //nolint:errcheck // keptAs has written it
	}
	return namespaceID(s.Name, number)
}

// sweepAfter is how many times the catalogue has been read that tells of a namespace
// that it is gone, before what is left of it is swept: by then no other server has
// it open.
const sweepAfter = 30

// sweep erases once more what is left of those that are gone: of what was erased
// when the server ended, and of what another server wrote that had not heard of it
// yet. The first of a name is left alone: a server's own may be called so by now.
func (c *Catalogue) sweep(ctx context.Context, on server, left []namespaceDoc) {
	told := map[string]int{}
	for _, d := range left {
		if told[d.ID] = c.told[d.ID] + 1; told[d.ID] < sweepAfter {
			continue
		}
		told[d.ID] = 0
		name, _, _ := strings.Cut(d.ID, "/")
		number, err := numberIn(d.ID, 0)
		if as := keptAs(name, int(number)); err == nil && as != "" {
			err = eraseAll(ctx, on, as)
		}
		if err == nil {
			d.V, d.Swept = versionSwept, true
			err = on.Apply(ctx, namespaces, []change{{id: d.ID, version: d.V, doc: marshal(d)}})
		}
		if err != nil {
			c.log().Warn("what is left of a namespace that was removed could not be swept; that is tried again", "namespace", name, "err", err)
		}
	}
	c.told = told
}

// latest is the last document of a name, and its number; zero: there is none.
func (c *Catalogue) latest(ctx context.Context, on server, name string) (d namespaceDoc, number int, err error) {
	r := within(name)
	r.backwards, r.limit = true, 1
	for raw, err := range on.Range(ctx, namespaces, r) {
		if err != nil {
			return d, 0, err
		}
		if err := bson.Unmarshal(raw, &d); err != nil {
			return d, 0, err
		}
		n, err := numberIn(d.ID, 0)
		return d, int(n), err
	}
	return d, 0, nil
}

// Add implements [fleet.Catalogue]. Of servers that make the same one at the same
// time one succeeds. A name that a server has of its own is taken.
func (c *Catalogue) Add(ctx context.Context, s fleet.Spec) (fleet.Spec, error) {
	taken := &engine.Refusal{Kind: fleet.ErrTaken, Text: fmt.Sprintf("There is a namespace '%s' already in this database.", s.Name)}
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
		raw, err := on.Get(ctx, settings, names(s.Name).setting("format"))
		if err != nil {
			return s, err
		}
		if raw != nil {
			return s, taken
		}
	default:
		s.Kept = keptAs(s.Name, number+1)
	}
	text, err := json.Marshal(s)
	if err != nil {
		return s, err
	}
	err = on.Insert(ctx, namespaces, marshal(namespaceDoc{ID: namespaceID(s.Name, number+1), V: 1, Spec: string(text)}))
	if errors.Is(err, errTaken) {
		err = taken
	}
	return s, err
}

// Change implements [fleet.Catalogue]. Other servers hear of it when they read the
// catalogue again. Of servers that change the same one at the same time one succeeds;
// of one that changes and one that removes, that one.
func (c *Catalogue) Change(ctx context.Context, s fleet.Spec) error {
	on, err := c.server(ctx)
	if err != nil {
		return err
	}
	d, err := c.get(ctx, on, specID(s))
	if err != nil {
		return err
	}
	if d.ID == "" || d.Gone {
		return &engine.Refusal{Kind: fleet.ErrNone, Text: fmt.Sprintf("There is no namespace '%s' any more.", s.Name)}
	}
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	d.V, d.Spec = d.V+1, string(text)
	if err := on.Apply(ctx, namespaces, []change{{id: d.ID, version: d.V, doc: marshal(d)}}); err != nil {
		return err
	}
	if is, err := c.get(ctx, on, d.ID); err != nil {
		return err
	} else if is.Spec != d.Spec || is.Gone {
		return &engine.Refusal{Kind: engine.ErrChanged, Text: fmt.Sprintf("The namespace '%s' was changed by another server at the same time.", s.Name)}
	}
	return nil
}

// Remove implements [fleet.Catalogue]: it is for good. Other servers hear of it when
// they read the catalogue again. What cannot be erased now, is swept later.
func (c *Catalogue) Remove(ctx context.Context, s fleet.Spec, closed func() error) (aside string, err error) {
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
		if err := on.Apply(ctx, namespaces, []change{{id: d.ID, version: d.V, doc: marshal(d)}}); err != nil {
			return "", err
		}
	}
	if err := closed(); err != nil {
		return "", err
	}
	if err := eraseAll(ctx, on, cmp.Or(s.Kept, s.Name)); err != nil {
		c.log().Warn("not all of a namespace that was removed could be erased; that is tried again", "namespace", s.Name, "err", err)
	}
	return "", nil
}

// get is a document; without an ID: there is none.
func (c *Catalogue) get(ctx context.Context, on server, id string) (d namespaceDoc, err error) {
	raw, err := on.Get(ctx, namespaces, id)
	if err != nil || raw == nil {
		return d, err
	}
	return d, bson.Unmarshal(raw, &d)
}

// eraseAll deletes all that is kept under a name.
func eraseAll(ctx context.Context, on server, name string) error {
	all := names(name).all()
	for _, in := range []collection{
		messages, contents, bodies, large, chunks, history, journal, parts, entities, rules, meters, sessions, seen, forgotten, kept, settings, owners,
	} {
		if err := erase(ctx, on, in, all); err != nil {
			return err
		}
	}
	return nil
}

// erase deletes a range, in slices.
func erase(ctx context.Context, on server, in collection, all span) error {
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
