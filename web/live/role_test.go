package live

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mayfly/views/view"
	"mayfly/web/auth"
)

func as(role auth.Role) http.Header { return http.Header{roleHeader: {role.String()}} }

// commandRoles are the roles of the commands, written again so that a change of those is
// deliberate.
var commandRoles = map[string]auth.Role{
	"follow":   auth.Viewer,
	"pause":    auth.Viewer,
	"present":  auth.Operator, // it navigates the pages of others
	"resume":   auth.Viewer,
	"sub":      auth.Viewer,
	"unfollow": auth.Viewer,
	"unsub":    auth.Viewer,
}

// TestCommandsTakeRoles checks that each command is refused to exactly the roles below the one in
// commandRoles, and that an unknown command ends the socket.
func TestCommandsTakeRoles(t *testing.T) {
	if diff := cmp.Diff(commandRoles, commands); diff != "" {
		t.Errorf("the table of commands differs (-want +got):\n%s", diff)
	}
	w := newWorld()
	_, server := serveHub(t, w, nil)
	for op, needs := range commandRoles {
		for _, role := range auth.Roles() {
			t.Run(op+" by "+role.String(), func(t *testing.T) {
				b := dial(t, server, as(role))
				b.send(op, "/a", 0)
				b.send("sub", "not an address", 0)
				refused := false
				for {
					f := b.next()
					if f.control.T == "error" && strings.Contains(f.control.Text, "This requires the role") {
						refused = true
					}
					if f.control.T == "error" && f.control.Topic == "not an address" {
						break
					}
				}
				if refused == role.Includes(needs) {
					t.Errorf("refused is %t", refused)
				}
			})
		}
	}
	b := dial(t, server, as(auth.Admin))
	b.send("shout", "/a", 0)
	if code := b.closed(); code != closePolicy {
		t.Errorf("an unknown command ends the socket with %d", code)
	}
}

// TestPagesOfOtherRoles: a page that a client may not open cannot be watched either, and
// clients of different roles do not share renderings.
func TestPagesOfOtherRoles(t *testing.T) {
	w := newWorld()
	w.set("/a", func(*sheet) {})
	h, server := serveHub(t, w, func(o *Options) {
		o.Allowed = func(role auth.Role) func(method, href string) bool {
			return func(_, href string) bool { return href != "/b" || role.Includes(auth.Admin) }
		}
	})
	viewer, admin := dial(t, server, as(auth.Viewer)), dial(t, server, as(auth.Admin))
	viewer.send("sub", "/b", 0)
	if f := viewer.next(); f.control.T != "error" || f.control.Topic != "/b" {
		t.Fatalf("got %+v", f)
	}
	for _, b := range []*tab{viewer, admin} {
		b.send("sub", "/a", 0)
		if f := b.next(); f.parts.Topic != "/a" {
			t.Fatalf("got %+v", f)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if n := len(h.pages); n != 2 {
		t.Errorf("two roles share %d renderings", n)
	}
}

// TestPagesOfOneNamespace: a client that may see one namespace does not share renderings with one
// that may see all, and the page is rendered for its viewer.
func TestPagesOfOneNamespace(t *testing.T) {
	w := newWorld()
	w.set("/n/one", func(*sheet) {})
	_, server := serveHub(t, w, func(o *Options) {
		o.Open = func(ctx context.Context, url string) (view.Page, uint64, error) {
			_, n, err := w.open(ctx, url)
			return &sheet{sum: "for " + auth.FromContext(ctx).Namespace}, n, err
		}
	})
	for _, within := range []string{"", "one", ""} {
		b := dial(t, server, http.Header{withinHeader: {within}})
		b.send("sub", "/n/one", 0)
		if f := b.next(); f.parts.Slots["sum"] != "for "+within {
			t.Errorf("a client of the namespace %q got %+v", within, f)
		}
	}
}

// TestASocketEndsWithItsSession: a socket ends with its session, and with no other session.
func TestASocketEndsWithItsSession(t *testing.T) {
	w := newWorld()
	w.set("/a", func(*sheet) {})
	h, other := serveHub(t, w, nil)
	over := make(ended)
	server := httptest.NewServer(knownUntil(h.Handler(), over))
	t.Cleanup(server.Close)
	b, stays := dial(t, server, as(auth.Viewer)), dial(t, other, nil)
	close(over)
	if code := b.closed(); code != closePolicy {
		t.Errorf("the socket ended with %d", code)
	}
	stays.send("sub", "/a", 0)
	if f := stays.next(); f.parts.Topic != "/a" {
		t.Errorf("got %+v", f)
	}
}
