// Package origin checks requests before they reach a handler: the host they name, the site
// they come from, and for a form the token of its page. It also carries a notice from one page
// to the next in a cookie.
//
// Since no sign-in is required by default, it blocks three attacks by web pages that a user of
// this machine visits:
//
//   - DNS rebinding: a page whose own name suddenly resolves to loopback may
//     send whatever it likes, but must name its own host. Hosts has the allowed ones.
//   - A cross-site request: a browser names its origin in
//     Sec-Fetch-Site or Origin. CrossSite refuses those that change something.
//   - A forged form, if the browser sends neither: Forms signs a token into
//     every form.
//
// It also bounds, with a BodyBudget, the memory that large requests take together.
package origin
