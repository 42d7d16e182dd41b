package access

import (
	"errors"
	"net/http"
)

// ErrCrossSite is returned for a request that changes something and comes from
// a page of another site.
var ErrCrossSite = errors.New("This request comes from a page of another site, and nothing may be changed from there.") //nolint:revive,staticcheck // shown to people as it is

// CrossSite refuses a request that may change something and that a browser
// says is not from this very origin: by Sec-Fetch-Site, or by Origin where an
// older browser sends no more than that. A request with neither does not come
// from a page; curl's are such. GET, HEAD and OPTIONS pass: they change
// nothing at any of our doors.
func CrossSite(r *http.Request) error {
	if http.NewCrossOriginProtection().Check(r) != nil {
		return ErrCrossSite
	}
	return nil
}
