package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/term"

	"mayfly/web/identity"
	"mayfly/web/users"
)

func describeUsers() description {
	return description{
		name: "users", summary: "Write the file of people who may use the dashboard.", command: &usersCommand{},
		detail: "serve --auth FILE reads it, and reads it again when it has changed. A line is name:role:hash; the roles are viewer (looks), operator (acts on messages) and admin. The password is asked for, or is the first line of standard input; it is no argument, which others could see.",
		examples: []example{
			{"mayfly users add users.txt ana --role admin", "Adds somebody, or gives somebody another password or role."},
			{"mayfly users remove users.txt ana", "Takes somebody out, whose sessions end at once."},
			{"mayfly users hash", "Prints the hash of a password, to be put into a line by other means."},
		},
	}
}

// usersCommand is what can be done with a file of users.
type usersCommand struct {
	Add    usersAddCommand    `cmd:"" help:"Add somebody, or give somebody another password or role. The file is made if there is none."`
	Remove usersRemoveCommand `cmd:"" help:"Take somebody out."`
	Hash   usersHashCommand   `cmd:"" help:"Print the hash of a password."`
}

// usersAddCommand adds a user.
type usersAddCommand struct {
	File string `arg:"" type:"path" help:"The file of users."`
	Name string `arg:"" help:"What the user is called."`
	Role string `enum:",viewer,operator,admin" default:"" help:"What the user may do: viewer, operator or admin. Default: what they may do already, for somebody new viewer."`
}

// Run adds.
func (c *usersAddCommand) Run(ctx context.Context, s streams) error {
	if err := users.CheckName(c.Name); err != nil {
		return &misuse{err}
	}
	password, err := s.password(ctx)
	if err != nil {
		return err
	}
	hash, err := users.Hash(password)
	if err != nil {
		return err //nolint:wrapcheck // a sentence
	}
	var role identity.Role
	there, err := rewriteUsers(c.File, c.Name, func(former string) string {
		var err error
		if role, err = identity.ParseRole(cmp.Or(c.Role, former)); err != nil {
			role = identity.Viewer // somebody new, or the file cannot be used as it is
		}
		return users.Line(c.Name, role, hash)
	})
	if err != nil {
		return err
	}
	done := "was added"
	if there {
		done = "was changed"
	}
	_, err = fmt.Fprintf(s.out, "%s, %s, %s.\n", c.Name, role, done)
	return err
}

// usersRemoveCommand takes a user out.
type usersRemoveCommand struct {
	File string `arg:"" help:"The file of users."`
	Name string `arg:"" help:"What the user is called."`
}

// Run removes.
func (c *usersRemoveCommand) Run(_ context.Context, s streams) error {
	there, err := rewriteUsers(c.File, c.Name, nil)
	if err != nil {
		return err
	}
	if !there {
		return fmt.Errorf("there is no user %s in %s", printable(c.Name, 64), c.File)
	}
	_, err = fmt.Fprintf(s.out, "%s was removed.\n", c.Name)
	return err
}

// usersHashCommand prints a hash.
type usersHashCommand struct{}

// Run prints.
func (c *usersHashCommand) Run(ctx context.Context, s streams) error {
	password, err := s.password(ctx)
	if err != nil {
		return err
	}
	hash, err := users.Hash(password)
	if err != nil {
		return err //nolint:wrapcheck // a sentence
	}
	_, err = fmt.Fprintln(s.out, hash)
	return err
}

// rewriteUsers puts a line in the place of the one of a name, or at the end; put is told
// the role of the former one if there is one, and nil takes the line out, from a file that
// is there. All else stays as it is, also whom the file belongs to. A server sees the file
// as it was or as it is, and who else writes it so waits.
func rewriteUsers(path, name string, put func(role string) (line string)) (there bool, err error) {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	turn, err := lockFolder(filepath.Dir(path))
	if err != nil {
		return false, fmt.Errorf("the file of users cannot be written: %w", err)
	}
	defer func() { err = errors.Join(err, turn.Close()) }()
	text, err := os.ReadFile(path)
	if err != nil && (put == nil || !errors.Is(err, os.ErrNotExist)) {
		return false, fmt.Errorf("the file of users cannot be read: %w", err)
	}
	former, err := os.Stat(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, fmt.Errorf("the file of users cannot be read: %w", err)
	}
	var out strings.Builder
	for l := range strings.Lines(string(text)) {
		whose, rest, ok := strings.Cut(strings.TrimSpace(l), ":")
		if !ok || strings.HasPrefix(whose, "#") || !strings.EqualFold(whose, name) {
			out.WriteString(strings.TrimRight(l, "\r\n") + "\n")
			continue
		}
		if put != nil && !there {
			role, _, _ := strings.Cut(rest, ":")
			out.WriteString(put(role) + "\n")
		}
		there = true
	}
	switch {
	case put == nil && !there:
		return false, nil
	case !there:
		out.WriteString(put("") + "\n")
	}
	return there, replaceFile(path, out.String(), former)
}

// replaceFile writes a file beside and puts it in the place of the former one; nil: there
// is none.
func replaceFile(path, text string, former os.FileInfo) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".users-*")
	if err != nil {
		return fmt.Errorf("the file of users cannot be written: %w", err)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("the file of users cannot be written: %w", errors.Join(err, os.Remove(f.Name())))
		}
	}()
	mode := os.FileMode(0o600)
	if former != nil {
		mode, err = former.Mode().Perm(), giveTo(f, former)
	}
	if err == nil {
		_, err = f.WriteString(text)
	}
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// password asks for one, twice where somebody types it, else reads the first line. It
// waits no longer than ctx.
func (s streams) password(ctx context.Context) (string, error) {
	in, ok := s.in.(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) {
		line, err := awaited(ctx, func() (string, error) {
			return bufio.NewReader(io.LimitReader(s.in, users.MostPassword+2)).ReadString('\n')
		})
		if err != nil && !errors.Is(err, io.EOF) {
			return "", fmt.Errorf("the password cannot be read: %w", err)
		}
		password := strings.TrimRight(line, "\r\n")
		return password, users.CheckPassword(password) //nolint:wrapcheck // a sentence
	}
	shown, err := term.GetState(int(in.Fd()))
	if err != nil {
		return "", fmt.Errorf("the password cannot be read: %w", err)
	}
	ask := func(what string) (string, error) {
		fmt.Fprint(s.err, what) //nolint:errcheck // it is no result
		typed, err := awaited(ctx, func() (string, error) {
			typed, err := term.ReadPassword(int(in.Fd()))
			return string(typed), err //nolint:wrapcheck // below
		})
		fmt.Fprintln(s.err) //nolint:errcheck // likewise
		if err != nil {
			return "", errors.Join(fmt.Errorf("the password cannot be read: %w", err), term.Restore(int(in.Fd()), shown)) // what is typed is to be seen again
		}
		return typed, nil
	}
	password, err := ask("Password: ")
	if err != nil {
		return "", err
	}
	if err := users.CheckPassword(password); err != nil {
		return "", err //nolint:wrapcheck // a sentence
	}
	again, err := ask("Once more: ")
	if err != nil {
		return "", err
	}
	if again != password {
		return "", errors.New("these are two passwords: nothing was done")
	}
	return password, nil
}
