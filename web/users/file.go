package users

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"mayfly/web/identity"
)

// What a file has at most.
const (
	mostFile  = 1 << 20 // bytes
	mostUsers = 5000
	mostName  = 64 // bytes
)

// every is how often Watch looks.
const every = time.Second

// hashing is how many passwords are compared at a time: each takes memory.
const hashing = 2

// A User may sign in.
type User struct {
	Name string
	Role identity.Role
	// Stamp changes with the line: who has signed in under another is to do so again.
	Stamp [sha256.Size]byte

	hash hash
}

// A File is the users in it, as they were when it could be read last. It is safe for
// concurrent use.
type File struct {
	path string
	log  *slog.Logger
	busy chan struct{} // has a token for each password that is being looked at

	seed maphash.Seed // of decoys

	mu     sync.RWMutex
	users  map[string]User // by name in lower case; replaced whole, under mu
	names  []string        // of users, in order; likewise
	sum    [sha256.Size]byte
	seen   stamp
	failed string // why it could not be read; empty: it could
}

// stamp is what a file's content cannot change without.
type stamp struct {
	at   time.Time
	size int64
}

// Open reads a file that must be there and well, with somebody in it.
func Open(path string, log *slog.Logger) (*File, error) {
	f := &File{path: path, log: log, busy: make(chan struct{}, hashing), seed: maphash.MakeSeed()}
	if _, err := f.read(); err != nil {
		return nil, err
	}
	if len(f.users) == 0 {
		return nil, fmt.Errorf("%s: there is nobody in it: `mayfly users add` adds somebody", path)
	}
	return f, nil
}

// Watch looks whether the file has changed, once a second, until ctx ends, and calls
// changed after each time that it had. One that is not well is as if it had not
// changed, and the log says why, once. One without anybody is well: nobody has a
// password then.
func (f *File) Watch(ctx context.Context, changed func()) {
	look := time.NewTicker(every)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
		if f.Look() {
			changed()
		}
	}
}

// Look reads the file again if it has changed, and tells whether its users have.
func (f *File) Look() bool {
	is, err := os.Stat(f.path)
	if err == nil {
		f.mu.RLock()
		same := f.seen == stamp{is.ModTime(), is.Size()}
		f.mu.RUnlock()
		if same {
			return false
		}
	}
	changed, err := f.read()
	f.mu.Lock()
	was := f.failed
	f.failed = ""
	if err != nil {
		f.failed = err.Error()
	}
	f.mu.Unlock()
	switch {
	case err != nil && err.Error() != was:
		f.log.Error("the file of users cannot be used; those that it had before still may sign in", "file", f.path, "err", err)
	case changed && f.empty():
		f.log.Warn("nobody is in the file of users any more", "file", f.path)
	case changed:
		f.log.Info("the file of users was read again", "file", f.path)
	}
	return changed
}

// read takes the file's users, if all of it is well.
func (f *File) read() (changed bool, err error) {
	file, err := os.Open(f.path)
	if err != nil {
		return false, fmt.Errorf("the file of users cannot be read: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	is, err := file.Stat()
	if err != nil {
		return false, fmt.Errorf("the file of users cannot be read: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(file, mostFile+1))
	if err != nil {
		return false, fmt.Errorf("the file of users cannot be read: %w", err)
	}
	all, err := parse(text)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen = stamp{is.ModTime(), is.Size()} // also of one that is not well: it is not read over and over
	if err != nil {
		return false, fmt.Errorf("%s: %w", f.path, err)
	}
	sum := sha256.Sum256(text)
	changed = sum != f.sum
	f.users, f.names, f.sum = all, slices.Sorted(maps.Keys(all)), sum
	return changed, nil
}

// parse reads the whole of a file.
func parse(text []byte) (map[string]User, error) {
	if len(text) > mostFile {
		return nil, fmt.Errorf("a file of users has at most %d bytes", mostFile)
	}
	all, n := map[string]User{}, 0
	for line := range bytes.Lines(text) {
		n++
		said := strings.TrimSpace(string(line))
		if said == "" || said[0] == '#' {
			continue
		}
		u, err := parseLine(said)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		key := strings.ToLower(u.Name)
		if _, twice := all[key]; twice {
			return nil, fmt.Errorf("line %d: there is a user %s already", n, u.Name)
		}
		if len(all) == mostUsers {
			return nil, fmt.Errorf("line %d: there are at most %d users", n, mostUsers)
		}
		all[key] = u
	}
	return all, nil
}

func parseLine(line string) (User, error) {
	parts := strings.SplitN(line, ":", 3)
	if len(parts) != 3 {
		return User{}, errors.New("a line is name:role:hash")
	}
	if err := CheckName(parts[0]); err != nil {
		return User{}, err
	}
	role, err := identity.ParseRole(parts[1])
	if err != nil {
		return User{}, err //nolint:wrapcheck // the line is said
	}
	h, err := parseHash(parts[2])
	if err != nil {
		return User{}, err
	}
	return User{Name: parts[0], Role: role, Stamp: sha256.Sum256([]byte(line)), hash: h}, nil
}

// CheckName says why nobody can be called so.
func CheckName(name string) error {
	ok := name != "" && len(name) <= mostName && utf8.ValidString(name)
	for _, r := range name {
		ok = ok && r > ' ' && r != ':' && r != '#' && r != 0x7f && (r < 0x80 || r > 0xa0)
	}
	if !ok {
		return fmt.Errorf("a user's name has 1 to %d bytes without spaces, colons and #, not %q", mostName, cut(name))
	}
	return nil
}

// Line is one for a file, with what Hash made of a password.
func Line(name string, role identity.Role, hash string) string {
	return name + ":" + role.String() + ":" + hash
}

// Find is the user of a name, in whatever case.
func (f *File) Find(name string) (User, bool) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	u, ok := f.users[strings.ToLower(name)]
	return u, ok
}

// Check is the user of a name if the password is that one's. For a name that there is
// not it takes as long. It waits while others are checked; the error is ctx's.
func (f *File) Check(ctx context.Context, name, password string) (User, bool, error) {
	select {
	case f.busy <- struct{}{}:
	case <-ctx.Done():
		return User{}, false, context.Cause(ctx)
	}
	defer func() { <-f.busy }()
	u, known := f.Find(name)
	against := u.hash
	if !known {
		against = f.decoy(name)
	}
	if len(password) > MostPassword {
		password = ""
	}
	if !against.fits(password) || !known {
		return User{}, false, nil
	}
	return u, true, nil
}

// decoy is somebody's hash, the same one for a name each time: hashes differ in what
// they cost, and so would the tries. Where there is nobody, it costs what Hash does.
func (f *File) decoy(name string) hash {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if len(f.names) == 0 {
		return hash{memory: ownMemory, passes: ownPasses, lanes: ownLanes, salt: make([]byte, saltSize), key: make([]byte, keySize)}
	}
	i := maphash.String(f.seed, strings.ToLower(name)) % uint64(len(f.names))
	return f.users[f.names[i]].hash
}

func (f *File) empty() bool {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return len(f.users) == 0
}
