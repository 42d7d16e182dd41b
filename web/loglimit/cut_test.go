package loglimit

import (
	"log/slog"
	"strings"
	"testing"
)

type (
	fault struct{ text string }
	named struct{ text string }
	loud  struct{ text string }
)

func (f *fault) Error() string  { return f.text } // panics on nil
func (n *named) String() string { return n.text } // panics on nil
func (l loud) String() string   { panic(l.text) }

// TestValuesThatPanic: a value whose own method panics is logged as package fmt writes it.
func TestValuesThatPanic(t *testing.T) {
	for name, tc := range map[string]struct {
		value any
		want  string
	}{
		"no error":      {(*fault)(nil), "<nil>"},
		"no stringer":   {(*named)(nil), "<nil>"},
		"a panic":       {loud{"no"}, `"%!v(PANIC=String method: no)"`},
		"an error":      {&fault{"broken"}, "broken"},
		"a stringer":    {&named{"orders"}, "orders"},
		"a long panic":  {loud{strings.Repeat("x", 2_000)}, strings.Repeat("x", 900)},
		"a struct":      {struct{ A int }{1}, "{A:1}"},
		"nothing":       {nil, "<nil>"},
		"a long error":  {&fault{strings.Repeat("x", 2_000)}, "… (1000 more)"},
		"a long struct": {struct{ A string }{strings.Repeat("x", 2_000)}, "… (1004 more)"},
	} {
		limited(t, func(log *slog.Logger, _ *Handler, out *lines) {
			log.Info("said", "value", tc.value)
			log.With("value", tc.value).Debug("said")
			for _, line := range out.take() {
				if !strings.Contains(line, "value="+tc.want) && (!strings.HasPrefix(name, "a long") || !strings.Contains(line, tc.want) || len(line) > 1_200) {
					t.Errorf("%s: %s", name, line)
				}
			}
		})
	}
}
