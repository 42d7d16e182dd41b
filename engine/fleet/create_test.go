package fleet_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"mayfly/engine"
	"mayfly/engine/fleet"
)

// A namespace is made with all that a Config.json says, or there is none.
func TestFleetCreateDefined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := launch(t, newCatalogue(), nil)
		config := func(queue string) []byte {
			return []byte(`{"UserConfig":{"Namespaces":[{"Name":"whatever","Queues":[` + queue + `]}]}}`)
		}
		n, err := h.f.CreateDefined(t.Context(), fleet.Spec{Name: "Shop"}, config(`{"Name":"orders"},{"Name":"late"}`), "tester")
		if err != nil || n.Name != "shop" || n.State != fleet.Serving {
			t.Errorf("made is %+v, %v", n, err)
		}
		if got := fmt.Sprint(queues(t, h.f, "shop")); got != "[late orders]" {
			t.Errorf("it has %s", got)
		}
		for name, tc := range map[string]struct {
			s      fleet.Spec
			config []byte
			want   error
		}{
			"no JSON":               {fleet.Spec{Name: "bad"}, []byte(`{"x`), engine.ErrArgument},
			"no such property":      {fleet.Spec{Name: "bad"}, config(`{"Name":"q","Properties":{"Color":1}}`), engine.ErrArgument},
			"nothing to forward to": {fleet.Spec{Name: "bad"}, config(`{"Name":"q","Properties":{"ForwardTo":"nowhere"}}`), engine.ErrArgument},
			"more than its limits":  {fleet.Spec{Name: "bad", Profile: "basic"}, []byte(`{"UserConfig":{"Namespaces":[{"Name":"x","Topics":[{"Name":"t"}]}]}}`), engine.ErrArgument},
			"a name that is none":   {fleet.Spec{Name: "a.b"}, config(`{"Name":"q"}`), engine.ErrArgument},
			"there is one":          {fleet.Spec{Name: "shop"}, config(`{"Name":"q"}`), fleet.ErrTaken},
		} {
			if n, err := h.f.CreateDefined(t.Context(), tc.s, tc.config, "tester"); !errors.Is(err, tc.want) {
				t.Errorf("%s: %+v, %v", name, n, err)
			}
		}
		h.c.fault("down", errDisk)
		if n, err := h.f.CreateDefined(t.Context(), fleet.Spec{Name: "down"}, config(`{"Name":"q"}`), "tester"); err == nil {
			t.Errorf("made is %+v", n)
		}
		h.is("default serving", "shop serving")
		if len(h.c.specs) != 1 {
			t.Errorf("the catalogue has %v", h.c.specs)
		}
		if err := h.end(); err != nil {
			t.Error(err)
		}
	})
}
