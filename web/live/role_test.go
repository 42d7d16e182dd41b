package live

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mayfly/views/view"
	"mayfly/web/identity"
)

func as(role identity.Role) http.Header { return http.Header{roleHeader: {role.String()}} }

// commandRoles are what each command takes, once more: who changes Commands has to say so
// here too.
var commandRoles = map[string]identity.Role{
	"follow":   identity.Viewer,
	"pause":    identity.Viewer,
	"present":  identity.Operator, // others are led by it
	"resume":   identity.Viewer,
	"sub":      identity.Viewer,
	"unfollow": identity.Viewer,
	"unsub":    identity.Viewer,
}

// TestCommandsTakeRoles: every command that there is, by everybody there can be.
func TestCommandsTakeRoles(t *testing.T) {
	if diff := cmp.Diff(commandRoles, Commands()); diff != "" {
		t.Errorf("the table of commands is another (-want +got):\n%s", diff)
	}
	w := newWorld()
	_, server := serveHub(t, w, nil)
	for op, needs := range commandRoles {
		for _, role := range identity.Roles() {
			t.Run(op+" by "+role.String(), func(t *testing.T) {
				b := dial(t, server, as(role))
				b.send(op, "/a", 0)
				b.send("sub", "not an address", 0)
				refused := false
				for {
					f := b.next()
					if f.control.T == "error" && strings.Contains(f.control.Text, "This is for the role") {
						refused = true
					}
					if f.control.T == "error" && f.control.Topic == "not an address" {
						break
					}
				}
				if refused == role.May(needs) {
					t.Errorf("refused is %t", refused)
				}
			})
		}
	}
	b := dial(t, server, as(identity.Admin))
	b.send("shout", "/a", 0)
	if code := b.closed(); code != closePolicy {
		t.Errorf("a command that nobody has said anything of ends the socket with %d", code)
	}
}

// TestPagesOfOtherRoles: what may not be opened cannot be watched either, and who may
// less shares no rendering with who may more.
func TestPagesOfOtherRoles(t *testing.T) {
	w := newWorld()
	w.set("/a", func(*sheet) {})
	h, server := serveHub(t, w, func(o *Options) {
		o.May = func(role identity.Role) func(method, href string) bool {
			return func(_, href string) bool { return href != "/b" || role.May(identity.Admin) }
		}
	})
	viewer, admin := dial(t, server, as(identity.Viewer)), dial(t, server, as(identity.Admin))
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
	if n := len(h.topics); n != 2 {
		t.Errorf("two roles share %d renderings", n)
	}
}

// TestPagesOfOneNamespace: who may see one namespace shares no rendering with who may see
// all, and the page knows for whom it is made.
func TestPagesOfOneNamespace(t *testing.T) {
	w := newWorld()
	w.set("/n/one", func(*sheet) {})
	_, server := serveHub(t, w, func(o *Options) {
		o.Open = func(ctx context.Context, url string) (view.Page, uint64, error) {
			_, n, err := w.open(ctx, url)
			return &sheet{sum: "for " + identity.Of(ctx).Within}, n, err
		}
	})
	for _, within := range []string{"", "one", ""} {
		b := dial(t, server, http.Header{withinHeader: {within}})
		b.send("sub", "/n/one", 0)
		if f := b.next(); f.parts.Slots["sum"] != "for "+within {
			t.Errorf("who sees %q is sent %+v", within, f)
		}
	}
}

// TestASocketEndsWithItsSession, and with nobody else's.
func TestASocketEndsWithItsSession(t *testing.T) {
	w := newWorld()
	w.set("/a", func(*sheet) {})
	h, other := serveHub(t, w, nil)
	over := make(ended)
	server := httptest.NewServer(knownUntil(h.Handler(), over))
	t.Cleanup(server.Close)
	b, stays := dial(t, server, as(identity.Viewer)), dial(t, other, nil)
	close(over)
	if code := b.closed(); code != closePolicy {
		t.Errorf("it ends with %d", code)
	}
	stays.send("sub", "/a", 0)
	if f := stays.next(); f.parts.Topic != "/a" {
		t.Errorf("got %+v", f)
	}
}
