package users_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mayfly/web/auth"
	"mayfly/web/auth/users"
)

// ofBcrypt is the hash of "password-of-ben", at the least cost.
const ofBcrypt = "$2a$04$flfEe9T099q5LXQXctxZeePt9GRu6CmrvJkRSqc2wY/7GJ6v.QCgi"

func line(t *testing.T, name string, role auth.Role, password string) string {
	t.Helper()
	hash, err := users.Hash(password)
	if err != nil {
		t.Fatal(err)
	}
	return users.FormatLine(name, role, hash)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, text string) (*users.File, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "users.txt")
	write(t, path, text)
	f, err := users.Open(path, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return f, path
}

func TestCheck(t *testing.T) {
	f, _ := open(t, "# people\n\n"+line(t, "Ana", auth.Admin, "password of ana")+"\r\n"+"ben:viewer:"+ofBcrypt+"\n")
	for name, tc := range map[string]struct {
		user, password string
		role           auth.Role // None if the file is refused
	}{
		"argon2id":                 {"Ana", "password of ana", auth.Admin},
		"in another case":          {"aNA", "password of ana", auth.Admin},
		"bcrypt":                   {"ben", "password-of-ben", auth.Viewer},
		"wrong, argon2id":          {"Ana", "password of anb", auth.None},
		"wrong, bcrypt":            {"ben", "password-of-bem", auth.None},
		"somebody else's":          {"ben", "password of ana", auth.None},
		"nobody's name":            {"eve", "password of ana", auth.None},
		"nothing":                  {"", "", auth.None},
		"no password":              {"Ana", "", auth.None},
		"too long to be looked at": {"Ana", strings.Repeat("a", 5000), auth.None},
	} {
		t.Run(name, func(t *testing.T) {
			u, ok, err := f.Check(t.Context(), tc.user, tc.password)
			if err != nil || ok != (tc.role != auth.None) || u.Role != tc.role {
				t.Errorf("got %v, %t, %v", u.Role, ok, err)
			}
		})
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for range 20 { // in one of the calls the context has ended
		if _, _, err := f.Check(gone, "ben", "x"); err != nil {
			return
		}
	}
	t.Error("a password is checked though the context has ended")
}

// TestRefusedFiles: a file is accepted as a whole or not at all, and costly hashes are refused
// before they are computed.
func TestRefusedFiles(t *testing.T) {
	good := line(t, "ana", auth.Admin, "password of ana")
	argon := func(cost string) string {
		return "eve:viewer:$argon2id$v=19$" + cost + "$c2FsdHNhbHRzYWx0$" + strings.Repeat("A", 43) + "\n"
	}
	for name, text := range map[string]string{
		"nobody in it":           "# only words\n",
		"no role":                "ana:$2a$04$x\n",
		"another role":           strings.Replace(good, ":admin:", ":root:", 1),
		"a name with a space":    strings.Replace(good, "ana", "an a", 1),
		"no name":                strings.TrimPrefix(good, "ana"),
		"twice, in another case": good + "\nANA:viewer:" + ofBcrypt,
		"a password as it is":    "ana:admin:secret",
		"much memory":            argon("m=4194304,t=1,p=1"),
		"many passes":            argon("m=64,t=4000000,p=1"),
		"many lanes":             argon("m=4096,t=1,p=255"),
		"no lanes":               argon("m=4096,t=1,p=0"),
		"no passes":              argon("m=4096,t=0,p=1"),
		"less memory than lanes": argon("m=8,t=1,p=4"),
		"more than the cost":     argon("m=4096,t=1,p=1,x=2"),
		"a slow bcrypt":          "eve:viewer:" + strings.Replace(ofBcrypt, "$04$", "$31$", 1),
		"half a bcrypt":          "eve:viewer:" + ofBcrypt[:40],
		"too large":              good + "\n" + strings.Repeat("#", 1<<20),
		"more users than can be": good + "\n" + many(5001),
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "users.txt")
			write(t, path, text)
			if _, err := users.Open(path, slog.New(slog.DiscardHandler)); err == nil {
				t.Error("the file was accepted")
			} else if strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "AAAAAAAA") {
				t.Errorf("the error contains a secret: %v", err)
			}
		})
	}
	if _, err := users.Open(filepath.Join(t.TempDir(), "none"), slog.New(slog.DiscardHandler)); err == nil {
		t.Error("a missing file was accepted")
	}
}

func many(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("u" + strings.Repeat("x", i%7) + string(rune('a'+i%26)) + time.Duration(i).String() + ":viewer:" + ofBcrypt + "\n")
	}
	return b.String()
}

// TestABadFileKeepsTheLastGood: while the file is invalid, users of the last valid file can sign
// in. A valid file takes effect again.
func TestABadFileKeepsTheLastGood(t *testing.T) {
	good := "ben:viewer:" + ofBcrypt + "\n"
	f, path := open(t, good)
	before, _ := f.Find("ben")
	again := func(text string) bool {
		t.Helper()
		write(t, path, text)
		later := time.Now().Add(time.Duration(len(text)) * time.Second) // more than the resolution of the file system's clock
		if err := os.Chtimes(path, later, later); err != nil {
			t.Fatal(err)
		}
		return f.Reload()
	}
	if f.Reload() || again("ben:viewer") {
		t.Error("the file was reported as changed")
	}
	if now, ok := f.Find("ben"); !ok || now.Stamp != before.Stamp {
		t.Error("an invalid file replaced the last valid one")
	}
	if err := os.Remove(path); err != nil || f.Reload() {
		t.Errorf("a removed file counts as a change: %v", err)
	}
	if _, ok := f.Find("ben"); !ok {
		t.Error("a removed file replaced the last valid one")
	}
	if !again("ben:operator:" + ofBcrypt + "\n") {
		t.Error("a valid file was not accepted")
	}
	if now, _ := f.Find("ben"); now.Stamp == before.Stamp || now.Role != auth.Operator {
		t.Errorf("got %v, with the same stamp: %t", now.Role, now.Stamp == before.Stamp)
	}
}

// TestFileWithoutUsers: when the last user is removed they can no longer sign in, and the file takes
// effect again when it has users.
func TestFileWithoutUsers(t *testing.T) {
	f, path := open(t, "ben:viewer:"+ofBcrypt+"\n")
	for _, text := range []string{"", "# nobody\n\n"} {
		for i, is := range []string{text, "ben:viewer:" + ofBcrypt + "\n"} {
			write(t, path, is)
			later := time.Now().Add(time.Duration(len(text)+i) * time.Hour) // more than the resolution of the file system's clock
			if err := os.Chtimes(path, later, later); err != nil {
				t.Fatal(err)
			}
			if !f.Reload() {
				t.Errorf("%q is not reported as a change", is)
			}
			if _, ok, err := f.Check(t.Context(), "ben", "password-of-ben"); ok != (i == 1) || err != nil {
				t.Errorf("with %q ben may sign in: %t, %v", is, ok, err)
			}
		}
	}
}

// TestANameThatIsNot: the password for an unknown name is compared with a hash that costs as much
// as that of some user in the file. The cost is the same at each try, whatever the case of the
// name; other unknown names, and other processes, have other costs. So the time of a try does not
// reveal which names exist.
func TestANameThatIsNot(t *testing.T) {
	var text strings.Builder
	for i := range 20 {
		fmt.Fprintf(&text, "user%d:viewer:$argon2id$v=19$m=%d,t=1,p=1$c2FsdHNhbHRzYWx0$%s\n", i, 64+i, strings.Repeat("A", 43))
	}
	f, path := open(t, text.String())
	costs := map[uint32]bool{}
	for i := range 200 {
		name := fmt.Sprintf("Nobody%d", i)
		cost := f.Decoy(name)
		costs[cost] = true
		for range 5 {
			if again := f.Decoy(strings.ToLower(name)); again != cost {
				t.Fatalf("%s costs %d, then %d", name, cost, again)
			}
		}
	}
	if len(costs) < 10 {
		t.Errorf("200 unknown names cost as much as %d of 20 users", len(costs))
	}
	again, err := users.Open(path, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	same := 0
	for i := range 200 {
		if name := fmt.Sprintf("Nobody%d", i); f.Decoy(name) == again.Decoy(name) {
			same++
		}
	}
	if same > 100 {
		t.Errorf("the costs of %d of 200 other names can be derived from those in the file", same)
	}
}

func TestPasswords(t *testing.T) {
	for text, ok := range map[string]bool{"": false, "1234567": false, "12345678": true, strings.Repeat("x", 1024): true, strings.Repeat("x", 1025): false} {
		if _, err := users.Hash(text); (err == nil) != ok {
			t.Errorf("%d bytes: %v", len(text), err)
		}
	}
	one, two := line(t, "ana", auth.Viewer, "the same one"), line(t, "ana", auth.Viewer, "the same one")
	if one == two {
		t.Error("two hashes of one password are equal")
	}
}
