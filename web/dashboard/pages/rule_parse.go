package pages

import (
	"mayfly/engine"
)

// SetRuleErrors puts the engine's errors about a rule at their fields. Filter and action are checked
// separately, so that one mistake does not hide another.
func (t *FormState) SetRuleErrors(r engine.Rule, l engine.Limits) {
	parts := [2]engine.Rule{{Filter: r.Filter}, {Filter: engine.Filter{Parameters: r.Filter.Parameters}, Action: r.Action}}
	for _, part := range parts {
		part.Name = engine.DefaultRule // the name of r was checked already, or is in use
		if err := engine.CheckRule(part, l); err != nil {
			t.setRuleError(r, err)
		}
	}
}
