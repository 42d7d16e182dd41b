// Package access decides which requests a door listens to at all, before it
// knows what they want: the host they name, the site they come from, and for a
// form the token of the page it stood in. It also carries a word from one page
// to the next in a cookie.
//
// Three attacks of web pages that a user of this machine happens to visit are
// kept out, although nobody logs in:
//
//   - DNS rebinding: a page whose own name suddenly resolves to loopback may
//     send whatever it likes, but must name its own host. Hosts knows ours.
//   - A cross-site request: a browser says where it comes from, in
//     Sec-Fetch-Site or Origin. CrossSite refuses those that change something.
//   - A forged form, where a browser says neither: Forms signs a token into
//     every form.
//
// And it bounds, with a Room, the memory that large requests take together.
package access
