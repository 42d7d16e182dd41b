package origin

import (
	"errors"
	"net/http"
)

// ErrCrossSite is returned for a request that changes something and comes from
// a page of another site.
var ErrCrossSite = errors.New("This request comes from a page of another site, which may not change anything here.") //nolint:revive,staticcheck // shown to people as it is

// CrossSite refuses a request that may change something and that a browser marks as coming
// from another origin: by Sec-Fetch-Site, or by Origin if an older browser sends only that. A
// request with neither, such as curl's, does not come from a page. GET, HEAD and OPTIONS pass:
// they change nothing on this server.
func CrossSite(r *http.Request) error {
	if http.NewCrossOriginProtection().Check(r) != nil {
		return ErrCrossSite
	}
	return nil
}
