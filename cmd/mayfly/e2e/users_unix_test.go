//go:build unix

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"mayfly/cmd/mayfly/cli"
)

// TestUsersStayWhoseTheyAre checks that a file that root changes keeps its owner, so that the
// server can read it, also through a link.
func TestUsersStayWhoseTheyAre(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "users.txt"), filepath.Join(dir, "link.txt")
	if err := os.WriteFile(file, []byte("ana:admin:x\n"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	uid, gid := os.Geteuid(), os.Getegid()
	if uid == 0 { // only root can give a file away
		uid, gid = 12345, 23456
	}
	if err := os.Chown(file, uid, gid); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"add", link, "ben"}, {"delete", file, "ana"}} {
		if out, complaint, code := RunCommand(t, "password of ben\n", append([]string{"users"}, args...)...); code != 0 {
			t.Fatal(out, complaint, code)
		}
		is, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		owner, ok := is.Sys().(*syscall.Stat_t)
		if !ok || int(owner.Uid) != uid || int(owner.Gid) != gid || is.Mode().Perm() != 0o640 {
			t.Errorf("after %q the file has the mode %s and the owner %d:%d, want %d:%d", args, is.Mode(), owner.Uid, owner.Gid, uid, gid)
		}
	}
}

// TestUsersKeepTheirRole checks that a new password keeps the user's role, and that removing a user
// does not create a missing file.
func TestUsersKeepTheirRole(t *testing.T) {
	file := filepath.Join(t.TempDir(), "users.txt")
	for _, step := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"delete", file, "ana"}, cli.ExitFailed, "no such file"},
		{[]string{"add", file, "ana", "--role", "admin"}, cli.ExitOK, "ana, admin, was added."},
		{[]string{"add", file, "ANA"}, cli.ExitOK, "ANA, admin, was changed."},
		{[]string{"add", file, "ben"}, cli.ExitOK, "ben, viewer, was added."},
		{[]string{"add", file, "ANA", "--role", "operator"}, cli.ExitOK, "ANA, operator, was changed."},
		{[]string{"delete", file, "cleo"}, cli.ExitFailed, "no user cleo"},
	} {
		out, complaint, code := RunCommand(t, "a long password\n", append([]string{"users"}, step.args...)...)
		if code != step.code || !strings.Contains(out+complaint, step.says) {
			t.Errorf("%q: %d %q %q", step.args, code, out, complaint)
		}
		if _, err := os.Stat(file); step.says == "no such file" && !os.IsNotExist(err) {
			t.Errorf("a file was created: %v", err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Split(string(text), "\n"); len(lines) != 3 || !strings.HasPrefix(lines[0], "ANA:operator:$argon2") || !strings.HasPrefix(lines[1], "ben:viewer:$argon2") {
		t.Errorf("the file has\n%s", text)
	}
}
