package filter_test

import (
	"slices"
	"testing"

	"mayfly/engine/filter"
	"mayfly/engine/value"
)

// A JMS selector can use BETWEEN, which a rule cannot, and ParseSelector returns the headers
// that it uses.
func TestSelector(t *testing.T) {
	m := &filter.Message{Properties: value.Properties{{Name: "n", Value: value.OfInt(5)}, {Name: "jmstype", Value: value.OfString("a")}}}
	for text, want := range map[string]bool{
		"n BETWEEN 5 AND 6":                   true,
		"n BETWEEN 1 AND 5 AND JMSType = 'a'": true,
		"n between 6 and 7 or JMSType='a'":    true,
		"n BETWEEN 6 AND 7":                   false,
		"n NOT BETWEEN 6 AND 7":               true,
		"n NOT BETWEEN 4 + 1 AND 7":           false,
		"NOT n BETWEEN 4 AND 7":               false,
		"missing NOT BETWEEN 4 AND 7":         false, // the result is unknown
		"BETWEEN = 1 OR n = 5":                true,  // BETWEEN is a name where the keyword cannot be
		"n = 5 AND x BETWEEN 1 AND 2":         false,
	} {
		f, _, err := filter.ParseSelector(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, err := f.Matches(m); got != want || err != nil {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"n BETWEEN 1", "n BETWEEN 1 OR 2", "n BETWEEN 1 AND", "(n BETWEEN 1 AND 2", "n BETWEEN n = 1 AND 2"} {
		if _, _, err := filter.ParseSelector(text); err == nil {
			t.Errorf("%s was read", text)
		}
	}
	if _, err := filter.ParseSQL("n BETWEEN 1 AND 2", nil); err == nil {
		t.Error("a rule took BETWEEN")
	}
	if _, names, err := filter.ParseSelector("JMSType = 'JMSPriority' AND jmstype <> '' AND [JMSX] = 1"); err != nil || !slices.Equal(names, []string{"jmstype", "jmsx"}) {
		t.Errorf("it reads %q, %v", names, err)
	}
}
