package fleet

import (
	"context"
	"errors"
	"time"
)

// A Roll is where servers on one store tell each other how many namespaces each owns.
// Its methods are called one after another.
type Roll interface {
	// Meet says that the server of a name is alive and how many it owns, and returns how
	// many each of the others owns that are.
	Meet(ctx context.Context, name string, owns int) (others map[string]int, err error)
	// Part says that the server is gone.
	Part(ctx context.Context, name string) error
}

// Namespaces are spread over the servers by two rules, which need no agreement: what is
// decided by is who inserts a document first.
//
//  1. A server that owns its fair share leaves a namespace which nobody owns to others
//     for headStart; after that anybody takes it, whatever there is to say of shares.
//  2. A server that owns more than its fair share for calmFor, while another has less
//     than that, lets go of one that nobody is connected to, and goes on so.
//
// A fair share is the number of namespaces through that of servers, rounded up: from what
// rule 2 brings about it follows nothing more, and so nothing goes back and forth.
const (
	headStart = 5 * time.Second // longer than the others take to hear of it
	// makersTurn is for how long one that another server has just made is left to that:
	// it may be about to fill it.
	makersTurn = 1500 * time.Millisecond
	calmFor    = 10 * time.Second // of nothing having changed on who owns how many
)

// shares is what the rules are about. Guarded by the fleet's mutex.
type shares struct {
	others map[string]int // what other servers own, as was heard last
	calm   time.Time      // since when nobody's number has changed
	before [3]int         // servers, namespaces and what this one owns, then
}

// Claim tells whether the server may take a namespace of its own by its name, which
// nobody has owned for so long: see shares. gone is the server that had it and is no
// longer alive, if that is why. It counts as this server's from then on, until the doors
// stand by for it.
func (f *Fleet) Claim(name string, free time.Duration, gone string) bool {
	m := f.find(name)
	if m == nil {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !m.holds && time.Now().Before(m.spec.later) {
		return false
	}
	delete(f.shares.others, gone) // it may be a while until Meet misses it
	owns, all := f.owned()
	if !m.holds && len(f.shares.others) > 0 && owns >= fair(all, 1+len(f.shares.others)) && free < headStart {
		return false
	}
	m.holds = true
	return true
}

// fair is the fair share of one server.
func fair(namespaces, servers int) int { return (namespaces + servers - 1) / servers }

// owned are how many namespaces the server owns or is about to, and how many there are
// that any server may. Called with mu held.
func (f *Fleet) owned() (owns, all int) {
	all = 1
	if f.main.holds {
		owns++
	}
	for _, m := range f.byName {
		if m.spec.Temporary {
			continue
		}
		all++
		if m.holds {
			owns++
		}
	}
	return owns, all
}

// meet hears of other servers, and lets go of a namespace if that is fair.
func (f *Fleet) meet() error {
	if f.o.Roll == nil {
		return nil
	}
	f.mu.Lock()
	owns, all := f.owned()
	f.mu.Unlock()
	others, err := f.o.Roll.Meet(f.ctx, f.o.Name, owns)
	if err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	f.mu.Lock()
	now, is := time.Now(), [3]int{1 + len(others), all, owns}
	if f.shares.calm.IsZero() || f.shares.before != is {
		f.shares.calm, f.shares.before = now, is
	}
	f.shares.others = others
	share, less := fair(all, 1+len(others)), false
	for _, n := range others {
		less = less || n < share
	}
	hand := owns > share && less && now.Sub(f.shares.calm) >= calmFor
	f.mu.Unlock()
	if hand {
		return f.handOver()
	}
	return nil
}

// handOver lets go of a namespace that nobody is connected to, so that another server
// takes it: this one has its share, and waits.
func (f *Fleet) handOver() error {
	select {
	case f.turn <- struct{}{}:
		defer func() { <-f.turn }()
	case <-f.ctx.Done():
		return context.Cause(f.ctx)
	}
	for _, m := range f.others() {
		if m.spec.Temporary || m.open() == nil || f.o.Busy != nil && f.o.Busy(m.spec.Name) {
			continue
		}
		f.log.Info("a namespace is left to another server, which has fewer", "namespace", m.spec.Name)
		_, err := f.anew(m, m.spec, "Another server is about to own it.")
		return err
	}
	return nil
}

// part tells the other servers that this one is gone.
func (f *Fleet) part() {
	if f.o.Roll == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := f.o.Roll.Part(ctx, f.o.Name); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		f.log.Debug("other servers were not told that this one is gone", "err", err)
	}
}
