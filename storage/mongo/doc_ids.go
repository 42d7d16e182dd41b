package mongo

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"mayfly/engine"
)

// A version identifies the commit that wrote a document: the epoch in the upper bits, the
// number in that epoch's journal below. Later commits have higher versions.
type version int64

const numberBits = 39

func versionOf(epoch, n uint64) version { return version(epoch<<numberBits | n) }

func (v version) epoch() uint64 { return uint64(v) >> numberBits }

func (v version) number() uint64 { return uint64(v) & (1<<numberBits - 1) }

// docIDs makes the _ids of one namespace. They sort like the numbers and texts they are made
// of, and no two namespaces share one: a namespace's name has no slash.
type docIDs string

// check refuses a name whose _ids could be those of another namespace.
func (n docIDs) check() error {
	if strings.Contains(string(n), "/") {
		return fmt.Errorf("%q cannot be the name of a namespace: it contains a slash", n)
	}
	return nil
}

// all returns the range of the namespace's _ids in a collection.
func (n docIDs) all() idRange { return within(string(n)) }

// within returns the range of the _ids that begin with id and a slash.
func within(id string) idRange { return idRange{from: id + "/", to: id + "0"} } // 0 comes after the slash

func (n docIDs) owner(epoch uint64) string { return fmt.Sprintf("%s/%08d", n, epoch) }

func (n docIDs) epoch(epoch uint64) string { return fmt.Sprintf("%s/%08d", n, epoch) }

func (n docIDs) entry(v version) string {
	return fmt.Sprintf("%s/%08d/%012d", n, v.epoch(), v.number())
}

func (n docIDs) part(v version, attempt uint64, i int) string {
	return fmt.Sprintf("%s/%012d/%06d", n.entry(v), attempt, i)
}

func (n docIDs) number(k uint64) string { return fmt.Sprintf("%s/%020d", n, k) }

func (n docIDs) subqueue(h engine.SubqueueID) string { return n.number(uint64(h)) }

func (n docIDs) key(k engine.Key) string { return n.number(uint64(k)) }

func (n docIDs) rule(id engine.RuleID) string {
	return n.subqueue(id.Subscription) + "/" + url.PathEscape(strings.ToLower(id.Name))
}

func (n docIDs) session(id engine.SessionID) string {
	return n.subqueue(id.Subqueue) + "/" + url.PathEscape(id.ID)
}

// namespaceSetting returns the _id of an engine.Setting in the collection namespaceSettings.
func (n docIDs) namespaceSetting(key string) string { return string(n) + "/" + url.PathEscape(key) }

// seen returns the _id of the MessageIds that a commit stored: it is never used twice, though
// their number may be.
func (n docIDs) seen(h engine.SubqueueID, at version, number uint64) string {
	return fmt.Sprintf("%s/%08d/%012d/%020d", n.subqueue(h), at.epoch(), at.number(), number)
}

// parseSeenID parses an _id made by seen.
func parseSeenID(id string) (h engine.SubqueueID, at version, number uint64, err error) {
	var parts [4]uint64
	for i := range parts {
		if parts[i], err = parseNumber(id, i); err != nil {
			return 0, 0, 0, err
		}
	}
	return engine.SubqueueID(parts[0]), versionOf(parts[1], parts[2]), parts[3], nil
}

func (n docIDs) chunk(k engine.Key, attempt string, i int) string {
	return fmt.Sprintf("%s/%s/%06d", n.key(k), attempt, i)
}

// setting returns the _id of one of the store's own documents in settings.
func (n docIDs) setting(what string) string { return string(n) + "/" + what }

func (n docIDs) event(p engine.HistoryCursor) string {
	return fmt.Sprintf("%s/%016d/%08d/%020d", n, max(0, int64(p.At)), p.Epoch, p.N)
}

// parseNumber returns the i-th number after the namespace in an _id.
func parseNumber(id string, i int) (uint64, error) {
	segments := strings.Split(id, "/")
	if i+1 >= len(segments) {
		return 0, fmt.Errorf("%q has no number in place %d", id, i)
	}
	n, err := strconv.ParseUint(segments[i+1], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q: %w", id, err)
	}
	return n, nil
}

func parseKey(id string) (engine.Key, error) {
	n, err := parseNumber(id, 0)
	return engine.Key(n), err
}
