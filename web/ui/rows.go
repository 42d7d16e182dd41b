package ui

import (
	"net/url"
	"strconv"

	"mayfly/views/page"
	"mayfly/web/show"
)

// moreRows is how many empty rows are added to a table of a form when more are
// asked for.
const moreRows = 4

// addRows tells whether a form asks for more rows to fill in, and adds them to
// what was typed.
func addRows(typed url.Values) bool {
	asked := false
	for button, prefix := range map[string]string{
		page.SendAddProperty: page.SendPropertyPrefix, page.RuleAddParameter: page.RuleParameterPrefix,
		page.RuleAddCondition: page.RuleConditionPrefix,
	} {
		if !typed.Has(button) {
			continue
		}
		asked = true
		rows := len(show.SentEntries(show.Typed{Values: typed}, prefix))
		for i := rows; i < min(rows+moreRows, show.MostRows); i++ {
			typed.Set(prefix+strconv.Itoa(i)+page.SendPropertyName, "")
		}
	}
	return asked
}
