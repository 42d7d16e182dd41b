package dashboard_test

import (
	"testing"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/value"
)

// TestFilterExceptionsSwitch: the switch in a subscription's form decides about messages for
// which a filter fails: they become dead letters unless it is off, set at the creation or
// later. The sender gets no error in either case (FILT-31).
func TestFilterExceptionsSwitch(t *testing.T) {
	within(t, func(w *world) {
		const field = "DeadLetteringOnFilterEvaluationExceptions"
		w.b.CreateEntity(engine.Topic, "prices", engine.Config{})
		rule := []string{"rule-kind", "sql", "rule-sql", "price / stock > 2", "EnableBatchedOperations", "true"}
		w.done("/n/default/t/prices/new", append(rule, "name", "strict", field, "true")...)
		w.done("/n/default/t/prices/new", append(rule, "name", "lax")...) // a browser does not send a box that is not ticked
		is := func(sub, on, setting string, dead int64) {
			w.Helper()
			at, path := "/n/default/t/prices/s/"+sub, engine.Path("prices/Subscriptions/"+sub)
			if got, ticked := w.b.State(path).Config.IgnoreFilterExceptions, on == "on"; got == ticked {
				w.Errorf("%s: IgnoreFilterExceptions is %v", sub, got)
			}
			box := w.see(at + "/edit").Find("input[name=" + field + "]")
			if _, ticked := box.Attr("checked"); box.Length() != 1 || ticked != (on == "on") {
				w.Errorf("%s: the form has %d boxes, ticked: %v", sub, box.Length(), ticked)
			}
			if says := w.see(at + "?tab=settings").Find(".settings > div:contains(" + field + ") dd span").Text(); says != setting {
				w.Errorf("%s: the settings show %q", sub, says)
			}
			if _, err := w.b.Send(w.Context(), "prices", []broker.Outgoing{{Content: engine.Content{
				Properties: value.Properties{{Name: "price", Value: value.OfInt(12)}, {Name: "stock", Value: value.OfInt(0)}},
			}}}, "test"); err != nil {
				w.Error(err)
			}
			if c := w.b.State(path).Counts; c.DeadLetter != dead || c.Active != 0 {
				w.Errorf("%s: %+v, want %d dead letters", sub, c, dead)
			}
		}
		is("strict", "on", "on", 1)
		is("lax", "off", "off", 0)
		w.done("/n/default/t/prices/s/strict/edit", "EnableBatchedOperations", "true")
		w.done("/n/default/t/prices/s/lax/edit", "EnableBatchedOperations", "true", field, "true")
		before := w.b.State("prices/Subscriptions/strict").Counts.DeadLetter
		is("strict", "off", "off", before)
		is("lax", "on", "on", 2) // the one before, and this one
	})
}
