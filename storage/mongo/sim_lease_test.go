package mongo

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mayfly/engine"
)

// A pair is a world with two processes in good weather, except for what a test does to the
// first owner.
type pair struct {
	*world
	*testing.T
}

const pairLease = 5 * time.Second

// inPair runs a test of two processes for each of many moments between two heartbeats.
func inPair(t *testing.T, test func(p pair, phase time.Duration)) {
	t.Helper()
	for phase := time.Duration(0); phase < pairLease/5; phase += pairLease / 40 {
		synctest.Test(t, func(t *testing.T) {
			w := &world{seed: uint64(phase), db: new(toy), lease: pairLease, began: time.Now(), judge: &judge{}}
			test(pair{w, t}, phase)
			w.settle()
		})
	}
}

func (p pair) open(c *client) *Store {
	s, err := openOn(p.Context(), c, nil, Options{Lease: p.lease, clock: c.clock, Standby: func(engine.Owner) {}})
	if err != nil {
		p.Fatal(err)
	}
	return s
}

// rival waits as a standby server for the next epoch.
func (p pair) rival() <-chan *Store {
	opened := make(chan *Store, 1)
	c := p.connect("rival", weather{})
	go func() {
		s, err := openOn(p.Context(), c, nil, Options{Lease: p.lease, clock: c.clock, Standby: func(engine.Owner) {}})
		if err != nil {
			p.Errorf("the rival: %v", err)
		}
		opened <- s
	}()
	return opened
}

// succeeded waits until the rival owns the namespace, and requires that the former owner, as
// soon as it runs, does not believe that it still owns the namespace.
func (p pair) succeeded(rival <-chan *Store, c *client, former *Store, circumstances ...any) {
	next := <-rival
	if next == nil || c.hold() != nil {
		return
	}
	time.Sleep(time.Millisecond) // the former owner does what it was about to do
	if former.Owned() {
		p.Errorf("epoch %d owns beside epoch %d: %v", former.Epoch(), next.Epoch(), circumstances)
	}
	c.kill()
	_ = former.Close()
	if err := next.Close(); err != nil {
		p.Error(err)
	}
}

// An owner that receives nothing for a while repeats its heartbeat. For other servers the
// repetitions look like the first heartbeat that arrived, so they must not extend the lease.
// After that one answer may arrive, namely to a request that the owner sends at that moment, and
// then the owner is cut off.
func TestARepeatedBeatIsNoNewOne(t *testing.T) {
	for deaf := pairLease / 10; deaf < 3*pairLease/4; deaf += pairLease / 10 {
		inPair(t, func(p pair, phase time.Duration) {
			c := p.connect("former", weather{})
			former := p.open(c)
			rival := p.rival()
			time.Sleep(2*p.lease + phase)
			c.deafen(deaf)
			time.AfterFunc(deaf+p.lease/20, func() { c.part(10 * p.lease) })
			p.succeeded(rival, c, former, "deaf for", deaf, "from", phase, "after a beat")
		})
	}
}

// If the answers to heartbeats are late, the lease runs from before each request, not from its
// answer.
func TestAnAnswerIsLate(t *testing.T) {
	for lag := pairLease / 20; lag < pairLease/2; lag += pairLease / 20 {
		inPair(t, func(p pair, phase time.Duration) {
			c := p.connect("former", weather{})
			former := p.open(c)
			rival := p.rival()
			time.Sleep(2*p.lease + phase)
			c.lags(lag)
			time.AfterFunc(p.lease/5+lag+p.lease/50, func() { c.part(10 * p.lease) })
			p.succeeded(rival, c, former, "late by", lag, "from", phase, "after a beat")
		})
	}
}

// A deafClaim receives nothing for a while after it claims an epoch.
type deafClaim struct {
	*client
	for_ time.Duration
}

func (d *deafClaim) Insert(ctx context.Context, in collection, doc bson.Raw) error {
	if in == owners && d.for_ > 0 {
		d.deafen(d.for_)
		d.for_ = 0
	}
	return d.client.Insert(ctx, in, doc)
}

// If the answer to the claim of an epoch is late, the lease also runs from before the request.
func TestAClaimIsAnsweredLate(t *testing.T) {
	for deaf := pairLease / 10; deaf < pairLease; deaf += pairLease / 20 {
		inPair(t, func(p pair, phase time.Duration) {
			c := p.connect("former", weather{})
			c.seed += uint64(phase)
			var former *Store
			var err error
			var wg sync.WaitGroup
			wg.Go(func() {
				former, err = openOn(p.Context(), &deafClaim{c, deaf}, nil, Options{Lease: p.lease, clock: c.clock})
				c.part(10 * p.lease)
			})
			time.Sleep(p.lease/20 + phase/10)
			rival := p.rival()
			wg.Wait()
			if err != nil { // the claim was too late
				c.kill()
				_ = (<-rival).Close()
				return
			}
			p.succeeded(rival, c, former, "deaf for", deaf, "when it claimed")
		})
	}
}

// A heartbeat that took so long that no server saw it in time does not return the namespace to
// its owner, not even if the owner was frozen meanwhile and reads the answer before it reads
// the clock.
func TestABeatThatCameTooLate(t *testing.T) {
	for delay := pairLease / 2; delay < 2*pairLease; delay += pairLease / 20 {
		inPair(t, func(p pair, phase time.Duration) {
			c := p.connect("former", weather{})
			c.seed += uint64(delay)
			former := p.open(c)
			rival := p.rival()
			time.Sleep(2*p.lease + phase)
			c.part(p.lease / 2)
			time.Sleep(p.lease / 2)
			c.delays(delay)
			time.Sleep(3 * p.lease / 20)
			c.freeze(delay)
			p.succeeded(rival, c, former, "on its way for", delay)
		})
	}
}

// After a proper Close the next owner need not wait for the lease to end.
func TestReleased(t *testing.T) {
	inPair(t, func(p pair, phase time.Duration) {
		for range 3 {
			began := time.Now()
			s := p.open(p.connect("somebody", weather{}))
			if took := time.Since(began); took > p.lease/2 {
				p.Errorf("it took %v to open a released namespace", took)
			}
			time.Sleep(phase)
			if err := s.Close(); err != nil {
				p.Error(err)
			}
		}
	})
}

// A lease that is longer than usual gets the usual length after some quick heartbeats. However
// the owner is cut off around then, it does not own the namespace together with the next owner,
// which waits for as long as the lease that the owner published last.
func TestALongerLeaseBecomesTheUsual(t *testing.T) {
	for _, lost := range []int{1, 2, 9} {
		usual := quickHeartbeats * min(lost, maxLeaseShift) // number of heartbeats until the lease has the usual length
		for from := -2; from <= 2; from++ {
			inPair(t, func(p pair, phase time.Duration) {
				c := p.connect("former", weather{})
				c.seed += uint64(phase)
				former, err := openOn(p.Context(), c, nil, Options{Lease: p.lease, LostOpens: lost, clock: c.clock, Standby: func(engine.Owner) {}})
				if err != nil {
					p.Fatal(err)
				}
				if now, longest := former.lease.current(), p.lease<<min(lost, maxLeaseShift); now != longest {
					p.Errorf("after %d lost opens the lease is %v, not %v", lost, now, longest)
				}
				rival := p.rival()
				time.Sleep(time.Duration(usual+from)*p.lease/5 + phase)
				if from == 2 && former.lease.current() != p.lease {
					p.Errorf("after %d quick heartbeats the lease is still %v", usual+1, former.lease.current())
				}
				if from == -2 && former.lease.current() == p.lease {
					p.Errorf("after less than %d heartbeats the lease is %v", usual, former.lease.current())
				}
				if !former.Owned() {
					p.Error("the owner lost the namespace in good weather")
				}
				cut := time.Now()
				if deaf := p.lease / 4; from%2 == 0 {
					c.part(20 * p.lease)
				} else { // one more heartbeat arrives, but not its answer
					c.deafen(deaf)
					time.AfterFunc(deaf+p.lease/50, func() { c.part(20 * p.lease) })
				}
				p.succeeded(rival, c, former, "after", lost, "cut off", phase, "after beat", usual+from)
				if took := time.Since(cut); from == 2 && took > 2*p.lease {
					p.Errorf("it took %v until the next server owned the namespace", took)
				}
				time.Sleep(20 * p.lease)
			})
		}
	}
}

// If heartbeats are slow, a longer lease keeps its length.
func TestALongerLeaseStaysWhereBeatsAreSlow(t *testing.T) {
	inPair(t, func(p pair, _ time.Duration) {
		c := p.connect("former", weather{})
		former, err := openOn(p.Context(), c, nil, Options{Lease: p.lease, LostOpens: 1, clock: c.clock})
		if err != nil {
			p.Fatal(err)
		}
		for range 3 * quickHeartbeats {
			c.lags(p.lease / 3)
			time.Sleep(p.lease)
		}
		if now := former.lease.current(); now != 2*p.lease {
			p.Errorf("the lease is %v", now)
		}
		c.lags(0)
		if err := former.Close(); err != nil {
			p.Error(err)
		}
	})
}
