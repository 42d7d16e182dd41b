package namespaces

import (
	"context"
	"errors"
	"time"
)

// A Membership is where servers on one store tell each other how many namespaces each owns. Calls of
// its methods do not overlap.
type Membership interface {
	// Heartbeat reports that the named server is alive and how many it owns, and returns how many
	// each of the other live servers owns.
	Heartbeat(ctx context.Context, name string, owns int) (others map[string]int, err error)
	// Deregister reports that the server is gone.
	Deregister(ctx context.Context, name string) error
}

// Namespaces are spread over the servers by two rules, which need no agreement: the server
// that inserts a document first wins.
//
//  1. A server that owns its fair share leaves a free namespace to others for headStart;
//     after that any server takes it, whatever the shares.
//  2. A server that owns more than its fair share for stableFor, while another has less than
//     that, lets go of one without connected clients, and so on.
//
// A fair share is the number of namespaces divided by that of servers, rounded up. When
// rule 2 has reached it, the rule does nothing more, so no namespace goes back and forth.
const (
	headStart = 5 * time.Second // longer than it takes the others to notice
	// creatorGrace is how long a namespace that another server has just created is left to that
	// server, which may be about to fill it.
	creatorGrace = 1500 * time.Millisecond
	stableFor    = 10 * time.Second // time without a change of who owns how many
)

// shares is the state of the rules above. Guarded by Manager.mu.
type shares struct {
	others      map[string]int // how many other servers own, at the last meeting
	stableSince time.Time      // since when no number has changed
	before      [3]int         // servers, namespaces and the number this one owns, then
}

// Claim reports whether the server may take the namespace of that name, which has had no owner
// for the time free: see shares. gone is the server that had it and is no longer alive, if
// that is why. The namespace counts as this server's from then on, until the protocols stand by
// for it.
func (f *Manager) Claim(name string, free time.Duration, gone string) bool {
	m := f.find(name)
	if m == nil {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !m.owned && time.Now().Before(m.spec.notBefore) {
		return false
	}
	delete(f.shares.others, gone) // it may take a while until Heartbeat misses it
	owns, all := f.owned()
	if !m.owned && len(f.shares.others) > 0 && owns >= fairShare(all, 1+len(f.shares.others)) && free < headStart {
		return false
	}
	m.owned = true
	return true
}

// fairShare returns the fair share of one server.
func fairShare(namespaces, servers int) int { return (namespaces + servers - 1) / servers }

// owned returns how many namespaces the server owns or is about to, and how many there are
// that any server may. Called with mu held.
func (f *Manager) owned() (owns, all int) {
	all = 1
	if f.main.owned {
		owns++
	}
	for _, m := range f.byName {
		if m.spec.Temporary {
			continue
		}
		all++
		if m.owned {
			owns++
		}
	}
	return owns, all
}

// heartbeat exchanges numbers with other servers, and lets go of a namespace if that is fair.
func (f *Manager) heartbeat() error {
	if f.o.Membership == nil {
		return nil
	}
	f.mu.Lock()
	owns, all := f.owned()
	f.mu.Unlock()
	others, err := f.o.Membership.Heartbeat(f.ctx, f.o.Name, owns)
	if err != nil {
		return err
	}
	f.mu.Lock()
	now, is := time.Now(), [3]int{1 + len(others), all, owns}
	if f.shares.stableSince.IsZero() || f.shares.before != is {
		f.shares.stableSince, f.shares.before = now, is
	}
	f.shares.others = others
	share, less := fairShare(all, 1+len(others)), false
	for _, n := range others {
		less = less || n < share
	}
	hand := owns > share && less && now.Sub(f.shares.stableSince) >= stableFor
	f.mu.Unlock()
	if hand {
		return f.handOver()
	}
	return nil
}

// handOver lets go of a namespace without connected clients, so that another server takes it:
// this one has its share, and waits.
func (f *Manager) handOver() error {
	select {
	case f.changing <- struct{}{}:
		defer func() { <-f.changing }()
	case <-f.ctx.Done():
		return context.Cause(f.ctx)
	}
	for _, m := range f.others() {
		if m.spec.Temporary || m.openBroker() == nil || f.o.Busy != nil && f.o.Busy(m.spec.Name) {
			continue
		}
		f.log.Info("a namespace was released to a server that owns fewer namespaces", "namespace", m.spec.Name)
		_, err := f.reopen(m, m.spec, "Another server is taking over the namespace.")
		return err
	}
	return nil
}

// leaveServers tells the other servers that this one is gone.
func (f *Manager) leaveServers() {
	if f.o.Membership == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := f.o.Membership.Deregister(ctx, f.o.Name); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		f.log.Debug("other servers were not notified that this server has stopped", "err", err)
	}
}
