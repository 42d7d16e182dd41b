package sample_test

import (
	"os"
	"strings"
	"testing"

	"mayfly/views/sample"
)

// What the pages show is what the README has, which is run.
func TestScriptsAreTheREADMEs(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sample.Scripts() {
		if !strings.Contains(string(readme), "\n"+s.Code+"\n```\n") {
			t.Errorf("the README has another script for %s", s.Language)
		}
	}
}

func TestAllNameTheQueueAndTheConnection(t *testing.T) {
	for _, s := range sample.All("Endpoint=sb://here:5", "re/plies") {
		if !strings.Contains(s.Code, `"Endpoint=sb://here:5"`) || strings.Count(s.Code, `"re/plies"`) != 2 || strings.Contains(s.Code, "orders") || strings.Contains(s.Code, "SERVICEBUS") {
			t.Errorf("%s: %s", s.Language, s.Code)
		}
	}
}
