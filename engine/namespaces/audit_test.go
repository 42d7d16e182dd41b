package namespaces_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine"
	"mayfly/engine/namespaces/namespacestest"
)

// audited returns the operators' actions that a server's own namespace contains as audit
// events.
func (s *serverGroup) audited(server string) (all []string) {
	s.t.Helper()
	b, _, err := s.managers[server].Broker("default")
	if err != nil || b == nil {
		s.t.Fatalf("%s does not own its namespace: %v", server, err)
	}
	for _, e := range b.Events().Recent(2000) {
		if e.Kind == engine.EventSent {
			s.t.Errorf("%s remembers %+v", server, e)
		}
		if e.Kind.OfServer() {
			all = append(all, fmt.Sprintf("%s %s by %s", e.Kind, e.Reason, e.Actor))
		}
	}
	return all
}

// left returns the number of notes in the note store.
func (s *serverGroup) left() int {
	s.t.Helper()
	all, err := s.notes.Notes(s.t.Context(), "deed")
	if err != nil {
		s.t.Fatal(err)
	}
	return len(all)
}

// The owner of the server's own namespace audits the actions at all servers, in each server's
// order, once. Actions while no server owns it are audited by its next owner.
func TestActionsAtAnyServerAreAudited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServerGroup(t, 0)
		s.notes = new(namespacestest.NoteStore)
		s.start("a")
		s.expect(3*time.Second, "map[a:1]")
		s.start("b")
		s.expect(3*time.Second, "map[a:1 b:0]")
		s.managers["a"].Audit(t.Context(), engine.EventSignedIn, "here", "ana")
		for i := range 20 {
			s.managers["b"].Audit(t.Context(), engine.EventTokenCreated, fmt.Sprint("there ", i), "bob")
		}
		if n := s.left(); n != 20 {
			t.Errorf("there are %d notes, want 20", n)
		}
		s.after(2 * time.Second)
		want := []string{"signed-in here by ana"}
		for i := range 20 {
			want = append(want, fmt.Sprintf("token-created there %d by bob", i))
		}
		if got := s.audited("a"); !slices.Equal(got, want) {
			t.Errorf("it remembers %q", got)
		}
		if n := s.left(); n != 0 {
			t.Errorf("%d notes are left after the owner audited them", n)
		}
		s.kill("a")
		s.managers["b"].Audit(t.Context(), engine.EventSignedOut, "", "bob")
		s.notes.Fail(true)
		s.after(20 * time.Second)
		if got := s.audited("b"); len(got) != 0 {
			t.Errorf("it audited %q, though it cannot read the notes", got)
		}
		s.notes.Fail(false)
		s.after(2 * time.Second)
		if got := s.audited("b"); !slices.Equal(got, []string{"signed-out  by bob"}) {
			t.Errorf("it remembers %q", got)
		}
		s.end()
	})
}

// Actions that no server can audit delay nothing, and their number is bounded.
func TestActionsThatAreNotTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServerGroup(t, 0)
		s.notes = new(namespacestest.NoteStore)
		for i, text := range []string{`{"kind":"made-by-a-later-version"}`, `{"kind":"sent"}`, `{"kind":""}`, `nonsense`, `{"kind":"link-made","about":"x","actor":"y"}`} {
			if err := s.notes.AddNote(t.Context(), "deed", fmt.Sprint(i), text); err != nil {
				t.Fatal(err)
			}
		}
		s.start("a")
		s.after(5 * time.Second)
		if got := s.audited("a"); !slices.Equal(got, []string{"link-created x by y"}) || s.left() != 0 {
			t.Errorf("it audited %q, and %d notes are left", got, s.left())
		}
		s.start("b")
		s.after(5 * time.Second)
		s.kill("a")
		for range 1100 {
			s.managers["b"].Audit(t.Context(), engine.EventSignInFailed, "ana", "somebody")
		}
		if n := s.left(); n != 1000 {
			t.Errorf("%d wait", n)
		}
		s.end()
	})
}
