package cli

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// dataDir returns the user's folder for data of programs: XDG_DATA_HOME, else the
// platform's default. It is empty if the user has no home folder.
func dataDir(system string, variable func(string) string) string {
	if dir := variable("XDG_DATA_HOME"); filepath.IsAbs(dir) { // the specification says to ignore a relative path
		return dir
	}
	home := variable("HOME")
	switch {
	case system == "windows":
		return variable("LocalAppData")
	case home == "":
		return ""
	case system == "darwin" || system == "ios":
		return filepath.Join(home, "Library", "Application Support")
	default:
		return filepath.Join(home, ".local", "share")
	}
}

// DefaultDataFile returns the default file of --store, or "" if the user has no data folder.
func DefaultDataFile() string {
	dir := dataDir(runtime.GOOS, os.Getenv)
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "mayfly", "mayfly.db")
}

// DefaultTLSDir returns the default folder of --tls-dir, or "" if the user has no data folder.
func DefaultTLSDir() string {
	data := DefaultDataFile()
	if data == "" {
		return ""
	}
	return filepath.Join(filepath.Dir(data), "tls")
}

// AbbreviateHome shortens a path in the home folder for display.
func AbbreviateHome(path string) string {
	if home := os.Getenv("HOME"); home != "" && strings.HasPrefix(path, home+string(filepath.Separator)) {
		return "~" + path[len(home):]
	}
	return path
}

// DescribeStore describes where messages are stored.
func DescribeStore(store string) string {
	if where := StoreLocation(store); where != "" {
		return where
	}
	return "in memory; it ends with the server"
}

// StoreLocation returns where messages are stored, without any password, or "" for a store in
// memory.
func StoreLocation(store string) string {
	scheme, rest, _ := strings.Cut(store, ":")
	switch strings.ToLower(scheme) {
	case "memory":
		return ""
	case "mongodb", "mongodb+srv":
		return mongoLocation(rest)
	}
	if full, err := filepath.Abs(rest); err == nil {
		return full
	}
	return rest
}

// StoreBytes returns the size of a store on this machine's disk; ok is false if the store is
// in memory or on another machine.
func StoreBytes(store string) (n int64, ok bool) {
	if scheme, _, _ := strings.Cut(store, ":"); !strings.EqualFold(scheme, "sqlite") {
		return 0, false
	}
	for _, of := range []string{"", "-wal"} {
		if info, err := os.Stat(StoreLocation(store) + of); err == nil {
			n, ok = n+info.Size(), true
		}
	}
	return n, ok
}

// mongoLocation returns the hosts and the database of a MongoDB connection string without its
// scheme. net/url does not parse several hosts, and a password may contain any character, so
// everything up to the last @ is dropped.
func mongoLocation(rest string) string {
	rest = rest[strings.LastIndex(rest, "@")+1:]
	rest, _, _ = strings.Cut(strings.TrimPrefix(rest, "//"), "?")
	hosts, name, _ := strings.Cut(rest, "/")
	return fmt.Sprintf("MongoDB at %s, database %s", hosts, cmp.Or(name, defaultDatabase))
}

// defaultDatabase is the database for a URL that names none.
const defaultDatabase = "mayfly"
