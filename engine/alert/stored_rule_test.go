package alert

import "testing"

// TestFormerConditionsAreRead reads rules that an earlier version stored: a condition with a
// former name gets its present name.
func TestFormerConditionsAreRead(t *testing.T) {
	for text, want := range map[string]Condition{
		`{"v":1,"rule":{"id":1,"name":"a","when":"running-out","within":60000000000,"then":"extend","by":1000000000,"times":2}}`: ExpiringSoon,
		`{"v":1,"rule":{"id":1,"name":"a","when":"dead-over","over":5,"then":"notify"}}`:                                         DeadLettersAbove,
		`{"v":1,"rule":{"id":1,"name":"a","when":"deleting","within":60000000000,"then":"notify"}}`:                              DeletingSoon,
		`{"v":1,"rule":{"id":1,"name":"a","when":"deleted","then":"notify"}}`:                                                    Deleted,
		`{"v":1,"rule":{"id":1,"name":"a","when":"expired","then":"notify"}}`:                                                    Expired,
	} {
		if r, err := decode(text); err != nil || r.Condition != want {
			t.Errorf("%s: %q, %v; want %q", text, r.Condition, err, want)
		}
	}
}
