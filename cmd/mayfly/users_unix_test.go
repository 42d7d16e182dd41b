//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// TestUsersStayWhoseTheyAre: a file that root changes for a server is still the server's
// to read, in whatever way it is named.
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
	if uid == 0 { // nobody else can give a file away
		uid, gid = 12345, 23456
	}
	if err := os.Chown(file, uid, gid); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"add", link, "ben"}, {"remove", file, "ana"}} {
		if out, complaint, code := typed(t, "password of ben\n", append([]string{"users"}, args...)...); code != 0 {
			t.Fatal(out, complaint, code)
		}
		is, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		owner, ok := is.Sys().(*syscall.Stat_t)
		if !ok || int(owner.Uid) != uid || int(owner.Gid) != gid || is.Mode().Perm() != 0o640 {
			t.Errorf("after %q it has the mode %s and is of %d:%d, not %d:%d", args, is.Mode(), owner.Uid, owner.Gid, uid, gid)
		}
	}
}

// TestUsersAtOnce: of several who write the file none is lost.
func TestUsersAtOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "users.txt")
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			if _, err := rewriteUsers(file, fmt.Sprint("user", i), func(string) string { return fmt.Sprintf("user%d:viewer:x", i) }); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), "\n"); n != 20 {
		t.Errorf("%d of 20 are in it", n)
	}
}

// TestUsersKeepTheirRole: another password leaves somebody the role that they have, and who
// takes somebody out of a file that is not there makes none.
func TestUsersKeepTheirRole(t *testing.T) {
	file := filepath.Join(t.TempDir(), "users.txt")
	for _, step := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"remove", file, "ana"}, exitFailed, "no such file"},
		{[]string{"add", file, "ana", "--role", "admin"}, exitOK, "ana, admin, was added."},
		{[]string{"add", file, "ANA"}, exitOK, "ANA, admin, was changed."},
		{[]string{"add", file, "ben"}, exitOK, "ben, viewer, was added."},
		{[]string{"add", file, "ANA", "--role", "operator"}, exitOK, "ANA, operator, was changed."},
		{[]string{"remove", file, "cleo"}, exitFailed, "no user cleo"},
	} {
		out, complaint, code := typed(t, "a long password\n", append([]string{"users"}, step.args...)...)
		if code != step.code || !strings.Contains(out+complaint, step.says) {
			t.Errorf("%q: %d %q %q", step.args, code, out, complaint)
		}
		if _, err := os.Stat(file); step.says == "no such file" && !os.IsNotExist(err) {
			t.Errorf("there is a file: %v", err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Split(string(text), "\n"); len(lines) != 3 || !strings.HasPrefix(lines[0], "ANA:operator:$argon2") || !strings.HasPrefix(lines[1], "ben:viewer:$argon2") {
		t.Errorf("in it is\n%s", text)
	}
}
