package password

import (
	"net/http"
	"time"

	"mayfly/web/auth/users"
)

// signInLimiter limits how often clients may try to sign in. A try passes these throttles in
// this order, and a throttle that refuses it ends the sequence:
//
//   - browsers: a browser that has signed in as the name before has tries of its own,
//     whatever other clients do at its address or to its name. If it has some, no other throttle applies.
//   - addresses: an address, for all names. If the address has signed in as the name before,
//     no further throttle applies.
//   - pairs: an address, for one name. It has fewer tries than the name, so one address
//     cannot use up those of a name.
//   - names: a name, for all addresses together.
//
// So neither one address nor two can keep a user out who signs in from another address.
// Many addresses can, but only where the user has never signed in.
type signInLimiter struct {
	browsers       throttle // by mark
	addresses      throttle // by address
	pairs          throttle // by name and address
	names          throttle // by name
	oidcAddresses  throttle // by address, for sign-ins with an OpenID provider
	knownAddresses knownAddresses
}

func newSignInLimiter() *signInLimiter {
	return &signInLimiter{
		browsers:      throttle{burst: 10, interval: 20 * time.Second},
		addresses:     throttle{burst: 20, interval: 5 * time.Second},
		pairs:         throttle{burst: 8, interval: 45 * time.Second},
		names:         throttle{burst: 10, interval: 20 * time.Second},
		oidcAddresses: throttle{burst: 20, interval: 5 * time.Second},
	}
}

// An attempt is one attempt to sign in with a password.
type attempt struct {
	limiter *signInLimiter
	address userAddress
	browser string   // id of the browser's mark; empty if it has not signed in before
	charged []charge // what the try was charged to
}

type charge struct {
	throttle *throttle
	key      string
}

// newAttempt returns the attempt of request r to sign in as `name`. u is the user of that name, or
// the zero User if there is none.
func (t *signInLimiter) newAttempt(r *http.Request, name string, u users.User) *attempt {
	is := &attempt{limiter: t, address: userAddress{name: nameKey(name), network: addressKey(ClientAddress(r)), stamp: u.Stamp}}
	by, known := userMarkKey(u)
	if line := browserID(r, by, name); known {
		is.browser = line
	}
	return is
}

// admit charges the try and returns how long the client must wait. Zero allows the try.
func (y *attempt) admit(now time.Time) (wait time.Duration) {
	t := y.limiter
	if y.browser != "" {
		if wait = y.charge(&t.browsers, y.browser, now); wait == 0 {
			return 0
		}
	}
	if other := y.admitOIDC(now); wait == 0 || other < wait {
		return other
	}
	return wait
}

func (y *attempt) admitOIDC(now time.Time) time.Duration {
	t := y.limiter
	if wait := y.charge(&t.addresses, y.address.network, now); wait > 0 {
		return wait
	}
	if t.knownAddresses.has(y.address) {
		return 0
	}
	if wait := y.charge(&t.pairs, y.address.name+"\x00"+y.address.network, now); wait > 0 {
		return wait
	}
	return y.charge(&t.names, y.address.name, now)
}

func (y *attempt) charge(b *throttle, key string, now time.Time) (wait time.Duration) {
	if wait = b.try(key, now); wait == 0 {
		y.charged = append(y.charged, charge{b, key})
	}
	return wait
}

// succeeded refunds the throttles that the attempt was charged to, and remembers the address for
// the user. Call it when the password is correct.
func (y *attempt) succeeded(now time.Time) {
	for _, c := range y.charged {
		c.throttle.giveBack(c.key)
	}
	y.limiter.knownAddresses.add(y.address, now)
}
