package password

import (
	"fmt"
	"testing"
	"time"
)

// TestSpotsAreBounded: knownAddresses keeps the latest maxAddressesPerUser addresses of a user, and
// maxKeys addresses of all users together; beyond that it forgets the oldest.
func TestSpotsAreBounded(t *testing.T) {
	var s knownAddresses
	at := func(name, where int) userAddress {
		return userAddress{name: fmt.Sprint(name), network: fmt.Sprint(where)}
	}
	began := time.Unix(0, 0)
	s.add(at(1, 0), began)
	for i := range 200 {
		s.add(at(2, i), began.Add(time.Duration(i)))
	}
	if !s.has(at(1, 0)) || s.has(at(2, 135)) || !s.has(at(2, 136)) || !s.has(at(2, 199)) || len(s.seen) != 1+maxAddressesPerUser {
		t.Errorf("got %d addresses", len(s.seen))
	}
	for i := range 5000 {
		s.add(at(3+i, 0), began.Add(time.Hour+time.Duration(i)))
	}
	if len(s.seen) != maxKeys || s.has(at(1, 0)) || !s.has(at(5002, 0)) {
		t.Errorf("got %d addresses in all", len(s.seen))
	}
}

// TestPairsAreApart: a name and an address that concatenate to the same text as another pair
// are counted separately.
func TestPairsAreApart(t *testing.T) {
	limits, now := newSignInLimiter(), time.Now()
	counted := func(name, address string) time.Duration {
		y := &attempt{limiter: limits, address: userAddress{name: name, network: address}}
		return y.admitOIDC(now)
	}
	for range limits.pairs.burst {
		if wait := counted("owner1", "1.2.3.4"); wait > 0 {
			t.Fatalf("a try has to wait for %s", wait)
		}
	}
	if wait := counted("owner1", "1.2.3.4"); wait == 0 {
		t.Error("the address has more tries than its burst")
	}
	if wait := counted("owner", "11.2.3.4"); wait > 0 {
		t.Errorf("another user at another address has to wait for %s", wait)
	}
}
