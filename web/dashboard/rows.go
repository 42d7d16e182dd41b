package dashboard

import (
	"net/url"
	"strconv"

	"mayfly/views/page/lab"
	"mayfly/views/page/send"
	"mayfly/web/dashboard/pages"
)

// addedRows is how many empty rows a form's table gets when more are requested.
const addedRows = 4

// addRows reports whether a form requests more rows, and adds them to its values.
func addRows(typed url.Values) bool {
	asked := false
	for button, prefix := range map[string]string{
		send.SendAddProperty: send.SendPropertyPrefix, lab.RuleAddParameter: lab.RuleParameterPrefix,
		lab.RuleAddCondition: lab.RuleConditionPrefix,
	} {
		if !typed.Has(button) {
			continue
		}
		asked = true
		rows := len(pages.SubmittedRows(pages.FormState{Values: typed}, prefix))
		for i := rows; i < min(rows+addedRows, pages.MaxRows); i++ {
			typed.Set(prefix+strconv.Itoa(i)+send.SendPropertyName, "")
		}
	}
	return asked
}
