package broker_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/anishathalye/porcupine"
)

// reach is an operation with the answer it got.
type reach struct {
	verb   verb
	answer answer
}

func (d *operation) reach() reach { return reach{d.verb, d.answer} }

// reported logs how often each operation got each answer.
func reported(t *testing.T, reached map[reach]int) {
	all := slices.SortedFunc(maps.Keys(reached), func(a, b reach) int {
		return cmp.Or(cmp.Compare(a.verb, b.verb), cmp.Compare(a.answer, b.answer))
	})
	var s strings.Builder
	for _, r := range all {
		fmt.Fprintf(&s, "\n%8d %s %s", reached[r], r.verb, r.answer)
	}
	t.Log(s.String())
}

// missed fails the test for each operation and answer that never occurred, because it was not
// checked.
func missed(t *testing.T, reached map[reach]int) {
	want := []reach{{"", nothing}, {sending, unsaid}, {receiving, unsaid}, {settling, unsaid}}
	for v, answers := range operations {
		for a := range answers {
			want = append(want, reach{v, a})
		}
	}
	for _, r := range want {
		if reached[r] == 0 {
			t.Errorf("this operation never had this answer: %s %s", r.verb, r.answer)
		}
	}
}

func (d *operation) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%d…%d client %d: %s", d.call, d.ret, d.client, d.verb)
	put := func(name string, x, zero any) {
		if x != zero {
			fmt.Fprintf(&s, " %s %v", name, x)
		}
	}
	put("dead letters", d.spot == inDead, false)
	put("mode", d.mode, d.mode*0)
	put("token", d.token, 0)
	if d.verb == settling {
		put("to", d.how, nil)
	}
	put("session", d.session, "")
	put("holder", d.handle, 0)
	put("text", d.text, "")
	put("since", d.since, int64(0))
	for _, list := range []any{d.ids, d.sessions, d.seqs, d.sights, d.seen} {
		if text := fmt.Sprintf("%+v", list); text != "[]" {
			put("", text, "")
		}
	}
	fmt.Fprintf(&s, " → %s", d.answer)
	for _, g := range d.got {
		fmt.Fprintf(&s, " %+v", g)
	}
	return s.String()
}

// explain shows how far the checker came with each queue, the state of the queue there, and the
// operations that it could not explain.
func explain(t *testing.T, all []porcupine.Operation) {
	m := model()
	for _, part := range m.Partition(all) {
		whole := model()
		whole.Partition = nil
		if r, info := porcupine.CheckOperationsVerbose(whole, part, judging); r != porcupine.Ok {
			ways := info.PartialLinearizationsOperations()[0]
			way := slices.MaxFunc(ways, func(a, b []porcupine.Operation) int { return cmp.Compare(len(a), len(b)) })
			t.Log(stuck(m, part, way))
		}
	}
}

func stuck(m porcupine.Model, part, way []porcupine.Operation) string {
	var s strings.Builder
	fmt.Fprintf(&s, "queue %s: %d of %d operations can be put in order, the last of them\n", part[0].Input.(*operation).queue, len(way), len(part))
	state := m.Init()
	in := map[any]bool{}
	for i, o := range way {
		in[o.Input] = true
		if _, state = m.Step(state, o.Input, nil); i >= len(way)-30 {
			fmt.Fprintf(&s, "  %v\n", o.Input)
		}
	}
	for _, v := range state.(*book).versions {
		fmt.Fprintf(&s, "and then next is %d, sessions are %+v, and there are\n", v.next, v.sessions)
		for _, l := range v.letters {
			fmt.Fprintf(&s, "  %+v\n", l)
		}
	}
	rest := slices.DeleteFunc(slices.Clone(part), func(o porcupine.Operation) bool { return in[o.Input] })
	slices.SortFunc(rest, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	fmt.Fprintf(&s, "but none of\n")
	for _, o := range rest[:min(8, len(rest))] {
		fmt.Fprintf(&s, "  %v\n", o.Input)
	}
	return s.String()
}
