package broker_test

import (
	"fmt"
	"hash/maphash"
	"maps"
	"math"
	"slices"

	"github.com/anishathalye/porcupine"

	"mayfly/engine"
)

// A verb is a kind of operation.
type verb string

const (
	sending     verb = "send"
	receiving   verb = "take"
	findingNone verb = "find none"
	settling    verb = "settle"
	fetching    verb = "fetch"
	renewing    verb = "renew"
	looking     verb = "look"
	reopening   verb = "reopen"

	accepting     verb = "accept"
	acceptingNext verb = "accept next"
	keeping       verb = "renew session"
	asking        verb = "state"
	stating       verb = "set state"
	closing       verb = "close"
	leaving       verb = "leave"
	breaking      verb = "break"
)

// An answer is what the caller learned of the outcome.
type answer string

const (
	done    answer = "done"
	refused answer = "refused" // the current state does not allow it
	barred  answer = "barred"  // it is never allowed there
	nothing answer = "nothing" // the broker did not do the operation, for its own reasons
	unsaid  answer = "unsaid"  // the outcome is unknown
)

// never is the end of an interval without a known end.
const never = math.MaxInt64

// got is a message that was received.
type got struct {
	seq   engine.Seq
	id    int
	count uint32
	token int // zero if it was received and deleted
}

// An operation is one operation of a history, with its answer.
type operation struct {
	verb      verb
	answer    answer
	queue     string
	client    int
	call, ret int64

	spot     spot
	mode     engine.Mode
	how      engine.Outcome
	token    int
	ids      []int
	sessions []string // SessionIds of the messages with these ids
	seqs     []engine.Seq
	got      []got
	most     int

	session string
	over    bool // the session had ended before the operation began
	handle  int  // the holder of the session, or its receiver that waits; zero if it does not matter
	text    string

	since  int64 // of a reopening: when the last complete commit was before it
	sights []sight
	seen   []seen
}

// on returns all versions that are possible after d, given the version before it. It returns
// none if d is impossible.
func (d *operation) on(before *version) []*version {
	v := before.edit()
	if d.answer == unsaid {
		if d.verb == sending {
			v.send(d)
			return []*version{before, v}
		}
		d.perhaps(v)
		return []*version{v.tidied()}
	}
	if !d.done(v) {
		return nil
	}
	return []*version{v.tidied()}
}

// perhaps adds the outcome of d to v as a possibility.
func (d *operation) perhaps(v *version) {
	switch d.verb {
	case receiving:
		v.perhapsTake(d)
	case settling:
		if l := v.holding(d.token); l != nil && (d.how != engine.DeadLetter || d.spot != inDead) {
			l.perhaps(by(d.token), func(f fate) fate { return f.settled(d.how) })
		}
	case fetching:
		for _, n := range d.seqs {
			if l := v.letter(n); l != nil && d.sees(l) {
				l.perhaps(func(f fate) bool { return f.fetchable(d.spot) }, func(f fate) fate {
					return f.taken(d.mode, claim{somebody, d.call, never})
				})
			}
		}
	case accepting, acceptingNext:
		v.perhapsAccept(d)
	case stating:
		v.perhapsSetState(d)
	case closing:
		v.perhapsGiveBack(d)
	case leaving:
		if s := v.session(d.session); slices.Contains(s.holders, d.handle) {
			s.perhapsHeld(unknown)
		}
	case breaking:
		v.perhapsBreakUp(d)
	case renewing, looking, keeping, asking: // these change nothing
	default:
		panic(fmt.Sprintf("%s cannot be %s", d.verb, d.answer))
	}
}

// done applies d to v, and reports whether d's answer was possible.
func (d *operation) done(v *version) bool {
	f := operations[d.verb][d.answer]
	if f == nil {
		panic(fmt.Sprintf("%s cannot be %s", d.verb, d.answer))
	}
	return f(v, d)
}

type effect = func(*version, *operation) bool

// always wraps an effect that is possible in every state.
func always(f func(*version, *operation)) effect {
	return func(v *version, d *operation) bool { f(v, d); return true }
}

// operations lists every operation with each of its definite answers.
var operations = map[verb]map[answer]effect{
	sending:     {done: (*version).sent},
	receiving:   {done: (*version).take},
	findingNone: {done: (*version).takeNone},
	settling:    {done: (*version).settle, refused: (*version).lapsed, barred: (*version).stands},
	fetching:    {done: (*version).fetch, refused: (*version).fetchNone},
	renewing:    {done: (*version).stands, refused: (*version).lapsed},
	looking:     {done: (*version).look},
	reopening:   {done: always((*version).reopen)},

	accepting:     {done: (*version).accept, refused: (*version).isHeld},
	acceptingNext: {done: (*version).acceptNext, refused: (*version).acceptNone},
	keeping:       {done: (*version).holds, refused: (*version).isOver},
	asking:        {done: (*version).state, refused: (*version).isOver},
	stating:       {done: (*version).setState, refused: (*version).isOver},
	closing:       {done: always((*version).giveBack)},
	leaving:       {done: always((*version).leave)},
	breaking:      {done: (*version).breakUp, barred: (*version).free},
}

// A book contains all possible states of one queue, as versions that differ in which messages
// were sent. It is immutable.
type book struct {
	versions []*version
	hash     uint64
}

var hashSeed = maphash.MakeSeed()

func bookOf(all []*version) *book {
	b := &book{}
	for _, v := range all {
		if !slices.ContainsFunc(b.versions, v.equal) {
			b.versions = append(b.versions, v)
			b.hash ^= v.hash() // independent of the order of the versions
		}
	}
	return b
}

func (v *version) equal(o *version) bool {
	return v == o || v.next == o.next &&
		slices.EqualFunc(v.letters, o.letters, func(a, b letter) bool {
			return a.seq == b.seq && a.id == b.id && slices.Equal(a.fates, b.fates)
		}) &&
		slices.EqualFunc(v.sessions, o.sessions, func(a, b sessionFate) bool {
			return a.id == b.id && slices.Equal(a.holders, b.holders) && slices.Equal(a.states, b.states)
		})
}

func (v *version) hash() uint64 {
	h := uint64(v.next)
	mix := func(n uint64) { h = (h ^ n) * 0x9e3779b97f4a7c15; h ^= h >> 29 }
	for _, l := range v.letters {
		mix(uint64(l.seq)<<32 | uint64(l.id))
		for _, f := range l.fates {
			mix(uint64(f.spot)<<40 | uint64(number(f.deferred))<<39 | uint64(f.count)<<32 | uint64(uint32(f.claim.token)))
		}
	}
	for _, s := range v.sessions {
		mix(maphash.String(hashSeed, s.id))
		for _, by := range s.holders {
			mix(uint64(by))
		}
		for _, t := range s.states {
			mix(maphash.String(hashSeed, t))
		}
	}
	return h
}

// model is the specification of a namespace of independent queues.
func model() porcupine.Model {
	return porcupine.Model{
		Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
			byQueue := map[string][]porcupine.Operation{}
			for _, o := range history {
				q := o.Input.(*operation).queue
				byQueue[q] = append(byQueue[q], o)
			}
			return slices.Collect(maps.Values(byQueue))
		},
		Init: func() any { return bookOf([]*version{{next: 1}}) },
		Step: func(state, input, _ any) (bool, any) {
			var after []*version
			for _, v := range state.(*book).versions {
				after = append(after, input.(*operation).on(v)...)
			}
			return len(after) > 0, bookOf(after)
		},
		Equal: func(a, b any) bool {
			x, y := a.(*book), b.(*book)
			return x.hash == y.hash && len(x.versions) == len(y.versions) &&
				!slices.ContainsFunc(x.versions, func(v *version) bool { return !slices.ContainsFunc(y.versions, v.equal) })
		},
		Hash: func(state any) uint64 { return state.(*book).hash },
	}
}
