package mongo

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// A process that reads a namespace without owning it registers as a reader in settings. The
// owner then keeps documents that it would otherwise delete: bodies, and commits that were
// applied. In its own document the owner lists the readers that it keeps documents for.

// A readerDoc registers a reader.
type readerDoc struct {
	ID   string `bson:"_id"`
	V    int64  `bson:"v"` // incremented with each beat
	Gone bool   `bson:"gone"`
}

// A reader is what the namespace's owner has seen of a registered reader.
type reader struct {
	heartbeat int64
	since     time.Duration // when it was first seen with this beat
	came      time.Duration // when it was first seen

	expired bool // it has been reading for too long
}

const (
	readerHeartbeat = time.Second
	readerSilence   = 10 * time.Second // a reader that is silent for so long is gone
	maxSnapshotAge  = time.Hour        // after which documents are no longer kept for a reader, because they accumulate
)

func (n docIDs) reader(token string) string { return n.setting("reader/" + token) }

// updateReaders sets s.readers to the registered readers, and deletes the documents of readers that
// have been silent for readerSilence. If reading fails, s.readers stays unchanged.
func (s *Store) updateReaders() {
	// The next beat must not wait for this.
	ctx, cancel := context.WithTimeout(s.lifetime, s.lease.heartbeatInterval())
	defer cancel()
	seen := map[string]reader{}
	for raw, err := range s.s.Range(ctx, settings, within(s.names.setting("reader"))) {
		if err != nil {
			return // keep the readers seen before
		}
		var d readerDoc
		if err := bson.Unmarshal(raw, &d); err != nil {
			return
		}
		now := s.lease.clock()
		r, known := s.readers[d.ID]
		switch {
		case !known:
			r = reader{heartbeat: d.V, since: now, came: now}
		case r.heartbeat != d.V:
			r.heartbeat, r.since = d.V, now
		}
		if now-r.since < readerSilence {
			r.expired = now-r.came >= maxSnapshotAge
			seen[d.ID] = r
			continue
		}
		if err := s.s.Delete(ctx, settings, []string{d.ID}); err != nil {
			s.log.Debug("a closed reader remains registered", "namespace", s.names, "err", err)
		}
	}
	s.readers = seen
	s.hasReaders.Store(len(s.servedReaders()) > 0)
}

// servedReaders returns the _ids of the readers that the owner keeps documents for.
func (s *Store) servedReaders() (ids []string) {
	for _, id := range slices.Sorted(maps.Keys(s.readers)) {
		if !s.readers[id].expired {
			ids = append(ids, id)
		}
	}
	return ids
}

// announce registers the reader, and returns when the owner lists it or no owner is alive.
func (l *Snapshot) announce(ctx context.Context) error {
	s := l.s
	l.id = s.names.reader(s.token)
	if err := l.sendHeartbeat(ctx); err != nil {
		return fmt.Errorf("register a reader of the namespace: %w", err)
	}
	var seen ownerHeartbeat
	for {
		asked := s.lease.clock()
		last, err := s.latestOwner(ctx)
		if err != nil {
			return err
		}
		switch {
		case last == nil || last.Released || seen.silent(last, asked, &s.lease) || slices.Contains(last.Readers, l.id):
			return nil
		case seen.id != last.ID || seen.number != last.V:
			seen = ownerHeartbeat{last.ID, last.V, s.lease.clock()}
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
		if l.heartbeats*int64(readerHeartbeat) < int64(asked-l.since) {
			if err := l.sendHeartbeat(ctx); err != nil {
				return err
			}
		}
	}
}

func (l *Snapshot) sendHeartbeat(ctx context.Context) error {
	l.heartbeats++
	d := readerDoc{ID: l.id, V: l.heartbeats}
	return l.s.s.Apply(ctx, settings, []change{{id: d.ID, version: d.V, doc: marshal(d)}})
}

// heartbeatLoop renews the registration until ctx ends.
func (l *Snapshot) heartbeatLoop(ctx context.Context) {
	for pause(ctx, readerHeartbeat) == nil {
		if err := l.sendHeartbeat(ctx); err != nil && ctx.Err() == nil {
			l.s.log.Debug("a heartbeat of a reader failed", "namespace", l.s.names, "err", err)
		}
	}
}
