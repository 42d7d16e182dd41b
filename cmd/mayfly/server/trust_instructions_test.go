package server

import (
	"strings"
	"testing"
)

// TestTrustQuotes checks that the steps of mayfly trust quote unusual paths as bash and PowerShell
// require.
func TestTrustQuotes(t *testing.T) {
	c := trustCommand{Language: "python", Program: "/my venv/o'hara/python"}
	out := c.steps("/my [home]/O’Hara/ca.pem", "")
	for _, want := range []string{
		`cat '/my [home]/O’Hara/ca.pem' >> "$('/my venv/o'\''hara/python' -m certifi)"` + "\n",
		`Get-Content -LiteralPath '/my [home]/O’’Hara/ca.pem' | Add-Content -LiteralPath (& '/my venv/o''hara/python' -m certifi)` + "\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("printed\n%s, want\n%s", out, want)
		}
	}
}
