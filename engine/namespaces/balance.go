package namespaces

import (
	"context"
	"errors"
	"time"
)

// A Membership lets servers on one store exchange how many namespaces each owns. Calls of its
// methods do not overlap.
type Membership interface {
	// Heartbeat records that the named server is alive and how many namespaces it owns, and
	// returns how many each of the other live servers owns.
	Heartbeat(ctx context.Context, name string, owns int) (others map[string]int, err error)
	// Deregister records that the server has stopped.
	Deregister(ctx context.Context, name string) error
}

// Namespaces are spread over the servers by two rules. They need no agreement between servers: the
// server that inserts the lease's document first owns the namespace.
//
//  1. A server that owns its fair share leaves a free namespace to others for headStart;
//     after that any server takes it, whatever the shares.
//  2. A server that has owned more than its fair share for stableFor, while another owns less
//     than its fair share, releases one namespace without connected clients, and so on.
//
// A fair share is the number of namespaces divided by the number of servers, rounded up. Once a
// server owns no more than that, rule 2 no longer applies, so namespaces do not move back and
// forth.
const (
	headStart = 5 * time.Second // longer than it takes other servers to notice a free namespace
	// creatorGrace is how long a namespace that another server has just created is left to that
	// server, which may be about to fill it.
	creatorGrace = 1500 * time.Millisecond
	stableFor    = 10 * time.Second // time without a change of any server's number of namespaces
)

// shares is the state of the rules above. Guarded by Manager.mu.
type shares struct {
	others      map[string]int // how many namespaces other servers owned at the last heartbeat
	stableSince time.Time      // when the numbers last changed
	before      [3]int         // the numbers of servers, of namespaces, and of namespaces that this server owns, as of stableSince
}

// Claim reports whether the two rules above let this server take a namespace that has no owner.
// `free` is how long the namespace has had none; `gone` is the name of its former owner if that
// server is dead, else empty. If the result is true, the namespace counts as owned until the
// protocols stand by for it.
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
	delete(f.shares.others, gone) // it may take a while until Heartbeat no longer returns it
	owns, all := f.owned()
	if !m.owned && len(f.shares.others) > 0 && owns >= fairShare(all, 1+len(f.shares.others)) && free < headStart {
		return false
	}
	m.owned = true
	return true
}

// fairShare returns the fair share of one server.
func fairShare(namespaces, servers int) int { return (namespaces + servers - 1) / servers }

// owned returns how many namespaces this server owns or is about to own, and how many there are
// that any server may own. Called with mu held.
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

// heartbeat exchanges the numbers of namespaces with other servers, and releases a namespace if this
// server owns too many.
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

// handOver releases a namespace without connected clients. Another server will take it, because this
// one owns its share and waits for headStart.
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

// leaveServers removes this server from the Membership, since it has stopped. It waits for two
// seconds at most.
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
