package mongo

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"mayfly/engine"
)

// A version says which commit a document is of: the epoch in the upper bits,
// the number in that epoch's journal below. Later commits have higher versions.
type version int64

const numberBits = 39

func versionOf(epoch, n uint64) version { return version(epoch<<numberBits | n) }

func (v version) epoch() uint64 { return uint64(v) >> numberBits }

func (v version) number() uint64 { return uint64(v) & (1<<numberBits - 1) }

// names makes the _ids of one namespace. They are text that sorts as what it
// stands for, and no two namespaces share one: a namespace's name has no slash.
type names string

// check refuses a name whose _ids could be another one's.
func (n names) check() error {
	if strings.Contains(string(n), "/") {
		return fmt.Errorf("a namespace cannot be called %q: there is a slash in it", n)
	}
	return nil
}

// all is every _id of the namespace in a collection.
func (n names) all() span { return within(string(n)) }

// within is every _id below one.
func within(id string) span { return span{from: id + "/", to: id + "0"} } // 0 comes after the slash

func (n names) owner(epoch uint64) string { return fmt.Sprintf("%s/%08d", n, epoch) }

func (n names) epoch(epoch uint64) string { return fmt.Sprintf("%s/%08d", n, epoch) }

func (n names) entry(v version) string { return fmt.Sprintf("%s/%08d/%012d", n, v.epoch(), v.number()) }

func (n names) part(v version, attempt uint64, i int) string {
	return fmt.Sprintf("%s/%012d/%06d", n.entry(v), attempt, i)
}

func (n names) number(k uint64) string { return fmt.Sprintf("%s/%020d", n, k) }

func (n names) holder(h engine.HolderID) string { return n.number(uint64(h)) }

func (n names) key(k engine.Key) string { return n.number(uint64(k)) }

func (n names) rule(id engine.RuleID) string {
	return n.holder(id.Subscription) + "/" + url.PathEscape(strings.ToLower(id.Name))
}

func (n names) session(id engine.SessionID) string {
	return n.holder(id.Holder) + "/" + url.PathEscape(id.ID)
}

// kept names a setting of the engine's; setting names one of the store's own.
func (n names) kept(key string) string { return string(n) + "/" + url.PathEscape(key) }

// seen names what a commit has put: it never comes again, though its number may.
func (n names) seen(h engine.HolderID, at version, number uint64) string {
	return fmt.Sprintf("%s/%08d/%012d/%020d", n.holder(h), at.epoch(), at.number(), number)
}

// seenIn reads what seen has put into an _id.
func seenIn(id string) (h engine.HolderID, at version, number uint64, err error) {
	var parts [4]uint64
	for i := range parts {
		if parts[i], err = numberIn(id, i); err != nil {
			return 0, 0, 0, err
		}
	}
	return engine.HolderID(parts[0]), versionOf(parts[1], parts[2]), parts[3], nil
}

func (n names) chunk(k engine.Key, attempt string, i int) string {
	return fmt.Sprintf("%s/%s/%06d", n.key(k), attempt, i)
}

// setting names one of the few documents there is one of.
func (n names) setting(what string) string { return string(n) + "/" + what }

func (n names) past(p engine.PastPlace) string {
	return fmt.Sprintf("%s/%016d/%08d/%020d", n, max(0, int64(p.At)), p.Epoch, p.N)
}

// numberIn reads the number that an _id has in its i-th place after the
// namespace.
func numberIn(id string, i int) (uint64, error) {
	places := strings.Split(id, "/")
	if i+1 >= len(places) {
		return 0, fmt.Errorf("%q has no number in place %d", id, i)
	}
	n, err := strconv.ParseUint(places[i+1], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q: %w", id, err)
	}
	return n, nil
}

func keyIn(id string) (engine.Key, error) {
	n, err := numberIn(id, 0)
	return engine.Key(n), err
}
