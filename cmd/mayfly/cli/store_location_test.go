package cli

import (
	"path/filepath"
	"testing"
)

func TestDataFolder(t *testing.T) {
	home := t.TempDir() // absolute on every system
	for name, tc := range map[string]struct {
		system    string
		variables map[string]string
		want      string
	}{
		"as XDG says":            {"linux", map[string]string{"XDG_DATA_HOME": home, "HOME": "h"}, home},
		"XDG on a Mac":           {"darwin", map[string]string{"XDG_DATA_HOME": home, "HOME": "h"}, home},
		"a relative XDG is none": {"linux", map[string]string{"XDG_DATA_HOME": "x", "HOME": "h"}, filepath.Join("h", ".local", "share")},
		"Linux":                  {"linux", map[string]string{"HOME": "h"}, filepath.Join("h", ".local", "share")},
		"a Mac":                  {"darwin", map[string]string{"HOME": "h"}, filepath.Join("h", "Library", "Application Support")},
		"Windows":                {"windows", map[string]string{"LocalAppData": `C:\x`, "HOME": "h"}, `C:\x`},
		"homeless":               {"linux", nil, ""},
	} {
		if got := dataDir(tc.system, func(v string) string { return tc.variables[v] }); got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}
