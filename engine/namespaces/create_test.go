package namespaces_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"mayfly/engine"
	"mayfly/engine/namespaces"
)

// A namespace is created with everything in a Config.json, or not at all.
func TestManagerCreateDefined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := launch(t, newCatalogue(), nil)
		config := func(queue string) []byte {
			return []byte(`{"UserConfig":{"Namespaces":[{"Name":"whatever","Queues":[` + queue + `]}]}}`)
		}
		n, warned, err := h.f.CreateDefined(t.Context(), namespaces.Spec{Name: "Shop"}, config(`{"Name":"orders"},{"Name":"late","Colour":"red"}`), "tester")
		if err != nil || len(warned.First) != 1 || n.Name != "shop" || n.State != namespaces.Serving {
			t.Errorf("created %+v, %v, with warnings %v", n, err, warned.First)
		}
		if got := fmt.Sprint(queues(t, h.f, "shop")); got != "[late orders]" {
			t.Errorf("the namespace has %s", got)
		}
		for name, tc := range map[string]struct {
			s      namespaces.Spec
			config []byte
			want   error
		}{
			"no JSON":               {namespaces.Spec{Name: "bad"}, []byte(`{"x`), engine.ErrArgument},
			"no such value":         {namespaces.Spec{Name: "bad"}, config(`{"Name":"q","Properties":{"LockDuration":1}}`), engine.ErrArgument},
			"nothing to forward to": {namespaces.Spec{Name: "bad"}, config(`{"Name":"q","Properties":{"ForwardTo":"nowhere"}}`), engine.ErrArgument},
			"more than its limits":  {namespaces.Spec{Name: "bad", Profile: "basic"}, []byte(`{"UserConfig":{"Namespaces":[{"Name":"x","Topics":[{"Name":"t"}]}]}}`), engine.ErrArgument},
			"a name that is none":   {namespaces.Spec{Name: "a.b"}, config(`{"Name":"q"}`), engine.ErrArgument},
			"there is one":          {namespaces.Spec{Name: "shop"}, config(`{"Name":"q"}`), namespaces.ErrNamespaceExists},
		} {
			if n, warned, err := h.f.CreateDefined(t.Context(), tc.s, tc.config, "tester"); !errors.Is(err, tc.want) || len(warned.First) > 0 {
				t.Errorf("%s: %+v, %v", name, n, err)
			}
		}
		h.c.fault("down", errDisk)
		if n, warned, err := h.f.CreateDefined(t.Context(), namespaces.Spec{Name: "down"}, config(`{"Name":"q"}`), "tester"); err == nil || len(warned.First) > 0 {
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
