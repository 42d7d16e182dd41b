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

	"mayfly/engine/shorten"
	"mayfly/web/auth"
)

// Limits of a file.
const (
	maxFile  = 1 << 20 // bytes
	maxUsers = 5000
	maxName  = 64 // bytes
)

// watchInterval is how often Watch checks.
const watchInterval = time.Second

// maxHashing is how many passwords are compared at a time: each comparison takes memory.
const maxHashing = 2

// A User is a person who may sign in.
type User struct {
	Name string
	Role auth.Role
	// Stamp changes with the user's line. Sessions that began with another stamp end.
	Stamp [sha256.Size]byte

	hash hash
}

// A File holds the users of a file, as of the last successful read. It is safe for concurrent use.
type File struct {
	path    string
	log     *slog.Logger
	hashing chan struct{} // has a token for each password that is being checked

	seed maphash.Seed // to choose decoys

	mu        sync.RWMutex
	users     map[string]User // by name in lower case; replaced as a whole, under mu
	names     []string        // of users, sorted; replaced as users is
	sum       [sha256.Size]byte
	seen      fileStamp
	lastError string // why it could not be read; empty if it could
}

// fileStamp is a file's time and size, which change with its content.
type fileStamp struct {
	at   time.Time
	size int64
}

// Open reads a file, which must be valid and have at least one user.
func Open(path string, log *slog.Logger) (*File, error) {
	f := &File{path: path, log: log, hashing: make(chan struct{}, maxHashing), seed: maphash.MakeSeed()}
	if _, err := f.read(); err != nil {
		return nil, err
	}
	if len(f.users) == 0 {
		return nil, fmt.Errorf("%s: the file has no users: add one with `mayfly users add`", path)
	}
	return f, nil
}

// Watch checks once a second whether the file has changed, until ctx ends, and calls changed
// after each change. An invalid file is ignored, and the reason is logged once. An empty file
// is valid: no user can sign in with a password then.
func (f *File) Watch(ctx context.Context, changed func()) {
	look := time.NewTicker(watchInterval)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
		if f.Reload() {
			changed()
		}
	}
}

// Reload reads the file again if it has changed, and reports whether its users have.
func (f *File) Reload() bool {
	is, err := os.Stat(f.path)
	if err == nil {
		f.mu.RLock()
		same := f.seen == fileStamp{is.ModTime(), is.Size()}
		f.mu.RUnlock()
		if same {
			return false
		}
	}
	changed, err := f.read()
	f.mu.Lock()
	was := f.lastError
	f.lastError = ""
	if err != nil {
		f.lastError = err.Error()
	}
	f.mu.Unlock()
	switch {
	case err != nil && err.Error() != was:
		f.log.Error("the users file cannot be used; the previous users can still sign in", "file", f.path, "err", err)
	case changed && f.empty():
		f.log.Warn("the users file is empty; no user can sign in with a password", "file", f.path)
	case changed:
		f.log.Info("the users file was reloaded", "file", f.path)
	}
	return changed
}

// read replaces the users with those in the file, if all of it is valid.
func (f *File) read() (changed bool, err error) {
	file, err := os.Open(f.path)
	if err != nil {
		return false, fmt.Errorf("the users file cannot be read: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	is, err := file.Stat()
	if err != nil {
		return false, fmt.Errorf("the users file cannot be read: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return false, fmt.Errorf("the users file cannot be read: %w", err)
	}
	all, err := parse(text)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen = fileStamp{is.ModTime(), is.Size()} // also of an invalid file, so that it is not read over and over
	if err != nil {
		return false, fmt.Errorf("%s: %w", f.path, err)
	}
	sum := sha256.Sum256(text)
	changed = sum != f.sum
	f.users, f.names, f.sum = all, slices.Sorted(maps.Keys(all)), sum
	return changed, nil
}

// parse reads the content of a file.
func parse(text []byte) (map[string]User, error) {
	if len(text) > maxFile {
		return nil, fmt.Errorf("a users file may have at most %d bytes", maxFile)
	}
	all, n := map[string]User{}, 0
	for line := range bytes.Lines(text) {
		n++
		entry := strings.TrimSpace(string(line))
		if entry == "" || entry[0] == '#' {
			continue
		}
		u, err := parseLine(entry)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		key := strings.ToLower(u.Name)
		if _, twice := all[key]; twice {
			return nil, fmt.Errorf("line %d: the user %s already exists", n, u.Name)
		}
		if len(all) == maxUsers {
			return nil, fmt.Errorf("line %d: more than %d users", n, maxUsers)
		}
		all[key] = u
	}
	return all, nil
}

func parseLine(line string) (User, error) {
	parts := strings.SplitN(line, ":", 3)
	if len(parts) != 3 {
		return User{}, errors.New("a line must be name:role:hash")
	}
	if err := CheckName(parts[0]); err != nil {
		return User{}, err
	}
	role, err := auth.ParseRole(parts[1])
	if err != nil {
		return User{}, err
	}
	h, err := parseHash(parts[2])
	if err != nil {
		return User{}, err
	}
	return User{Name: parts[0], Role: role, Stamp: sha256.Sum256([]byte(line)), hash: h}, nil
}

// CheckName returns an error if a user cannot have that name.
func CheckName(name string) error {
	ok := name != "" && len(name) <= maxName && utf8.ValidString(name)
	for _, r := range name {
		ok = ok && r > ' ' && r != ':' && r != '#' && r != 0x7f && (r < 0x80 || r > 0xa0)
	}
	if !ok {
		return fmt.Errorf("the user name %q is not valid: a name has 1 to %d bytes, without spaces, colons and #", shorten.Quote(name), maxName)
	}
	return nil
}

// FormatLine returns a line of the file, with a hash from Hash.
func FormatLine(name string, role auth.Role, hash string) string {
	return name + ":" + role.String() + ":" + hash
}

// Find returns the user of a name, in any case.
func (f *File) Find(name string) (User, bool) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	u, ok := f.users[strings.ToLower(name)]
	return u, ok
}

// Check returns the user of a name, and whether the password is the user's. An unknown name takes as
// long as a known one. Check waits while maxHashing other passwords are checked; the error is the
// cause for which ctx ended.
func (f *File) Check(ctx context.Context, name, password string) (User, bool, error) {
	select {
	case f.hashing <- struct{}{}:
	case <-ctx.Done():
		return User{}, false, context.Cause(ctx)
	}
	defer func() { <-f.hashing }()
	u, known := f.Find(name)
	against := u.hash
	if !known {
		against = f.decoy(name)
	}
	if len(password) > MaxPassword {
		password = ""
	}
	if !against.matches(password) || !known {
		return User{}, false, nil
	}
	return u, true, nil
}

// decoy returns a user's hash, always the same one for a name: hashes differ in what they
// cost, and a constant cost would reveal unknown names. If the file has no users, it costs
// what Hash does.
func (f *File) decoy(name string) hash {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if len(f.names) == 0 {
		return hash{memory: argonMemory, passes: argonPasses, lanes: argonLanes, salt: make([]byte, saltSize), key: make([]byte, keySize)}
	}
	i := maphash.String(f.seed, strings.ToLower(name)) % uint64(len(f.names))
	return f.users[f.names[i]].hash
}

func (f *File) empty() bool {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return len(f.users) == 0
}
