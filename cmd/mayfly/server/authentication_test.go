package server

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"mayfly/web/auth"
	"mayfly/web/auth/users"
)

// TestWhoIsGone checks that a user counts as removed only if the users file applies to the user and
// lacks the name.
func TestWhoIsGone(t *testing.T) {
	file, err := users.Open(fileOfAna(t), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		people authentication
		name   string
		way    auth.Method
		gone   bool
	}{
		"in the file":         {authentication{users: file}, "ANA", auth.Password, false},
		"not in the file":     {authentication{users: file}, "ben", auth.Password, true},
		"without a file":      {authentication{hasProvider: true}, "ben", auth.Password, false},
		"a provider's":        {authentication{users: file, hasProvider: true}, "ben", auth.OIDC, false},
		"of an open server's": {authentication{}, "", auth.Open, false},
	} {
		if got := tc.people.isRemoved(tc.name, tc.way); got != tc.gone {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestWhatAProviderCallsPeople checks that a name that a user chooses at a provider cannot be
// mistaken for another user's.
func TestWhatAProviderCallsPeople(t *testing.T) {
	file, err := users.Open(fileOfAna(t), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	alone, beside := authentication{hasProvider: true}, authentication{users: file, hasProvider: true}
	for name, want := range map[string][2]string{
		"ana":             {"ana", "ana (the company)"},
		"ana@example.com": {"ana@example.com", "ana@example.com (the company)"},
		"token ci of ana": {"token ci of ana (the company)", "token ci of ana (the company)"},
		"users file":      {"users file (the company)", "users file (the company)"},
	} {
		if got := [2]string{alone.displayName(name, "the company"), beside.displayName(name, "the company")}; got != want {
			t.Errorf("%s is called %q, want %q", name, got, want)
		}
	}
}

// fileOfAna returns the path of a users file with one user, ana, an admin.
func fileOfAna(t *testing.T) string {
	t.Helper()
	hash, err := users.Hash("password of ana")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "users.txt")
	if err := os.WriteFile(path, []byte(users.FormatLine("ana", auth.Admin, hash)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
