package server

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

	"mayfly/cmd/mayfly/cli"
	"mayfly/web/auth"
	"mayfly/web/auth/users"
)

func describeUsers() cli.Command {
	return cli.Command{
		Name: "users", Summary: "Manage the file of users who may sign in.", Flags: &usersCommand{},
		Detail: "serve --auth FILE reads the file, and reloads it when it changes. Each line is name:role:hash. The roles are viewer (read-only), operator (acts on messages) and admin. The commands prompt for the password or read it from the first line of standard input. A password is never an argument, because other users of the machine could see it.",
		Examples: []cli.Example{
			{Line: "mayfly users add users.txt ana --role admin", Text: "Add an admin, or change an existing user's password and role."},
			{Line: "mayfly users delete users.txt ana", Text: "Delete a user, which also ends the user's sessions."},
			{Line: "mayfly users hash", Text: "Print the hash of a password, to add to the file yourself."},
		},
	}
}

// usersCommand groups the subcommands for a file of users.
type usersCommand struct {
	Add    usersAddCommand    `cmd:"" help:"Add a user, or change a user's password or role. Creates the file if it does not exist."`
	Delete usersDeleteCommand `cmd:"" help:"Delete a user."`
	Hash   usersHashCommand   `cmd:"" help:"Print the hash of a password."`
}

// usersAddCommand adds a user.
type usersAddCommand struct {
	File string `arg:"" type:"path" help:"File of users."`
	Name string `arg:"" help:"Name of the user."`
	Role string `enum:",viewer,operator,admin" default:"" help:"Role: viewer, operator or admin. Default: the current role; viewer for a new user."`
}

// Run adds the user.
func (c *usersAddCommand) Run(ctx context.Context, s cli.Streams) error {
	if err := users.CheckName(c.Name); err != nil {
		return &cli.UsageError{Err: err}
	}
	password, err := readPassword(ctx, s)
	if err != nil {
		return err
	}
	hash, err := users.Hash(password)
	if err != nil {
		return err
	}
	var role auth.Role
	there, err := rewriteUsers(c.File, c.Name, func(former string) string {
		var err error
		if role, err = auth.ParseRole(cmp.Or(c.Role, former)); err != nil {
			role = auth.Viewer // a new user, or the file is invalid
		}
		return users.FormatLine(c.Name, role, hash)
	})
	if err != nil {
		return err
	}
	done := "was added"
	if there {
		done = "was changed"
	}
	_, err = fmt.Fprintf(s.Out, "%s, %s, %s.\n", c.Name, role, done)
	return err
}

// usersDeleteCommand deletes a user.
type usersDeleteCommand struct {
	File string `arg:"" help:"File of users."`
	Name string `arg:"" help:"Name of the user."`
}

// Run removes the user.
func (c *usersDeleteCommand) Run(_ context.Context, s cli.Streams) error {
	there, err := rewriteUsers(c.File, c.Name, nil)
	if err != nil {
		return err
	}
	if !there {
		return fmt.Errorf("there is no user %s in %s", cli.Printable(c.Name, 64), c.File)
	}
	_, err = fmt.Fprintf(s.Out, "Deleted %s.\n", c.Name)
	return err
}

// usersHashCommand prints the hash of a password.
type usersHashCommand struct{}

// Run prints the hash.
func (c *usersHashCommand) Run(ctx context.Context, s cli.Streams) error {
	password, err := readPassword(ctx, s)
	if err != nil {
		return err
	}
	hash, err := users.Hash(password)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(s.Out, hash)
	return err
}

// rewriteUsers replaces the line of a user with the one that put returns, or appends it. put gets
// the role in the former line, or "" if there is none. If put is nil, rewriteUsers removes the
// line. It reports whether the user had a line. Everything else stays, including the owner of the
// file. A server reads either the old or the new file, and other commands that write it wait.
func rewriteUsers(path, name string, put func(role string) (line string)) (there bool, err error) {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	turn, err := lockFolder(filepath.Dir(path))
	if err != nil {
		return false, fmt.Errorf("the users file cannot be written: %w", err)
	}
	defer func() { err = errors.Join(err, turn.Close()) }()
	text, err := os.ReadFile(path)
	if err != nil && (put == nil || !errors.Is(err, os.ErrNotExist)) {
		return false, fmt.Errorf("the users file cannot be read: %w", err)
	}
	former, err := os.Stat(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, fmt.Errorf("the users file cannot be read: %w", err)
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

// replaceFile writes a temporary file and renames it to path. former is nil if there was no
// file.
func replaceFile(path, text string, former os.FileInfo) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".users-*")
	if err != nil {
		return fmt.Errorf("the users file cannot be written: %w", err)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("the users file cannot be written: %w", errors.Join(err, os.Remove(f.Name())))
		}
	}()
	mode := os.FileMode(0o600)
	if former != nil {
		mode, err = former.Mode().Perm(), copyOwner(f, former)
	}
	if err == nil {
		_, err = f.WriteString(text)
	}
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// readPassword asks for a password twice if standard input is a terminal, and otherwise reads its
// first line. It returns an error for an invalid password, or when ctx ends.
func readPassword(ctx context.Context, s cli.Streams) (string, error) {
	in, ok := s.In.(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) {
		line, err := cli.ReadOrCancel(ctx, func() (string, error) {
			return bufio.NewReader(io.LimitReader(s.In, users.MaxPassword+2)).ReadString('\n')
		})
		if err != nil && !errors.Is(err, io.EOF) {
			return "", fmt.Errorf("the password cannot be read: %w", err)
		}
		password := strings.TrimRight(line, "\r\n")
		return password, users.CheckPassword(password)
	}
	shown, err := term.GetState(int(in.Fd()))
	if err != nil {
		return "", fmt.Errorf("the password cannot be read: %w", err)
	}
	ask := func(what string) (string, error) {
		fmt.Fprint(s.Err, what) //nolint:errcheck // a prompt is not a result
		typed, err := cli.ReadOrCancel(ctx, func() (string, error) {
			typed, err := term.ReadPassword(int(in.Fd()))
			return string(typed), err
		})
		fmt.Fprintln(s.Err) //nolint:errcheck // not a result
		if err != nil {
			return "", errors.Join(fmt.Errorf("the password cannot be read: %w", err), term.Restore(int(in.Fd()), shown)) // so that typed text is visible again
		}
		return typed, nil
	}
	password, err := ask("Password: ")
	if err != nil {
		return "", err
	}
	if err := users.CheckPassword(password); err != nil {
		return "", err
	}
	again, err := ask("Once more: ")
	if err != nil {
		return "", err
	}
	if again != password {
		return "", errors.New("the passwords do not match; nothing was changed")
	}
	return password, nil
}
