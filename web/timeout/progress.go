package timeout

import "time"

const (
	// StallTimeout is how long a client may keep the server waiting for MinProgress bytes of a
	// request's body or of an answer.
	StallTimeout = 30 * time.Second
	// MinProgress is how many bytes have to move within StallTimeout.
	MinProgress = 1 << 10

	// A body may keep the server waiting for bodyGrace plus the time that its bytes take at minRate
	// bytes a second. A client that trickles single bytes holds a connection for at most two
	// minutes, and a megabyte may take six minutes.
	bodyGrace = 2 * time.Minute
	minRate   = 4 << 10
)

// A progress records how many bytes a client has moved while the server waited for it.
type progress struct {
	bytes  int64         // moved since the last time that waited was reset
	waited time.Duration // since the client last moved MinProgress

	allBytes  int64
	allWaited time.Duration
	bounded   bool // bodyGrace and minRate apply
}

// left returns how much longer the server waits for the next bytes. It is 0 or less when
// the client's time is up.
func (p *progress) left() time.Duration {
	left := StallTimeout - p.waited
	if p.bounded {
		limit := bodyGrace + time.Duration(p.allBytes/minRate)*time.Second
		left = min(left, limit-p.allWaited)
	}
	return left
}

// moved records that n bytes have moved, and how long the server has waited for the client meanwhile.
func (p *progress) moved(n int, waited time.Duration) {
	p.allBytes += int64(n)
	p.allWaited += waited
	p.bytes += int64(n)
	p.waited += waited
	if p.bytes >= MinProgress {
		p.bytes, p.waited = 0, 0
	}
}
