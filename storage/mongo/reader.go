package mongo

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Somebody who looks at a namespace without owning it says so in settings, and
// the owner then leaves what it would delete: bodies, and commits that were
// applied. The owner names whom it heeds in its own document.

// A readerDoc says that somebody looks.
type readerDoc struct {
	ID   string `bson:"_id"`
	V    int64  `bson:"v"` // raised with each beat
	Gone bool   `bson:"gone"`
}

// A reader is one that the owner has seen.
type reader struct {
	beat  int64
	since time.Duration // when it was seen first with this beat
	came  time.Duration // when it was seen first

	overlong bool // it has looked for too long
}

const (
	readerBeat    = time.Second
	readerSilence = 10 * time.Second // one that is silent for so long is gone
	longestLook   = time.Hour        // after which one is heeded no more: what is kept for it grows
)

func (n names) reader(token string) string { return n.setting("reader/" + token) }

// lookForReaders sees who looks at the namespace.
func (s *Store) lookForReaders() {
	// The next beat is not to wait for this.
	ctx, cancel := context.WithTimeout(s.life, s.lease.beatEvery())
	defer cancel()
	seen := map[string]reader{}
	for raw, err := range s.s.Range(ctx, settings, within(s.names.setting("reader"))) {
		if err != nil {
			return // nobody is forgotten for that
		}
		var d readerDoc
		if err := bson.Unmarshal(raw, &d); err != nil {
			return
		}
		now := s.lease.clock()
		r, known := s.readers[d.ID]
		switch {
		case !known:
			r = reader{beat: d.V, since: now, came: now}
		case r.beat != d.V:
			r.beat, r.since = d.V, now
		}
		if now-r.since < readerSilence {
			r.overlong = now-r.came >= longestLook
			seen[d.ID] = r
			continue
		}
		if err := s.s.Delete(ctx, settings, []string{d.ID}); err != nil {
			s.log.Debug("A reader that is gone stays listed.", "namespace", s.names, "err", err)
		}
	}
	s.readers = seen
	s.looked.Store(len(s.heeded()) > 0)
}

// heeded are the readers that the owner keeps things for.
func (s *Store) heeded() (ids []string) {
	for _, id := range slices.Sorted(maps.Keys(s.readers)) {
		if !s.readers[id].overlong {
			ids = append(ids, id)
		}
	}
	return ids
}

// announce tells the owner that somebody looks, and returns when it knows or
// when there is none alive.
func (l *Snapshot) announce(ctx context.Context) error {
	s := l.s
	l.id = s.names.reader(s.token)
	if err := l.beat(ctx); err != nil {
		return fmt.Errorf("say that the namespace is read: %w", err)
	}
	var seen watch
	for {
		asked := s.lease.clock()
		last, err := s.highest(ctx)
		if err != nil {
			return err
		}
		switch {
		case last == nil || last.Released || seen.silent(last, asked, &s.lease) || slices.Contains(last.Readers, l.id):
			return nil
		case seen.id != last.ID || seen.beat != last.V:
			seen = watch{last.ID, last.V, s.lease.clock()}
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
		if l.beats*int64(readerBeat) < int64(asked-l.since) {
			if err := l.beat(ctx); err != nil {
				return err
			}
		}
	}
}

func (l *Snapshot) beat(ctx context.Context) error {
	l.beats++
	d := readerDoc{ID: l.id, V: l.beats}
	return l.s.s.Apply(ctx, settings, []change{{id: d.ID, version: d.V, doc: marshal(d)}})
}

// keepBeating says that the namespace is being read, until ctx ends.
func (l *Snapshot) keepBeating(ctx context.Context) {
	for pause(ctx, readerBeat) == nil {
		if err := l.beat(ctx); err != nil && ctx.Err() == nil {
			l.s.log.Debug("A reader's beat failed.", "namespace", l.s.names, "err", err)
		}
	}
}
